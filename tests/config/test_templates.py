"""The check of names in templates, which every test applies to the pages that it renders."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django.template import engines

from tests.stack import REPOSITORY
from tests.templates import missing_names


@pytest.fixture(autouse=True)
def complete_templates() -> None:
    """Replace the check that applies to every other test, because these templates have gaps."""


def missing_of(source: str, **context: object) -> list[str]:
    """Render the template and return the missing names without the template's own."""
    with missing_names() as missing:
        engines["django"].from_string(source).render(context)
    return [name.split(": ", 1)[1] for name in sorted(missing)]


def test_missing_attributes_and_variables_are_found_also_in_conditions() -> None:
    run = SimpleNamespace(state="open", parameters={})
    assert missing_of("{{ run.stat }}", run=run) == ["run.stat: stat of SimpleNamespace"]
    assert missing_of("{% if run.stat == 'open' %}open{% endif %}", run=run) == [
        "run.stat: stat of SimpleNamespace"
    ]
    assert missing_of("{{ rum|default:'none' }}", run=run) == ["rum: rum of Context"]


def test_optional_data_may_be_missing() -> None:
    run = SimpleNamespace(state="open", parameters={}, judgement=None, steps=[])
    source = "{{ run.state }}{{ run.parameters.p }}{{ run.judgement.verdict }}{{ run.steps.0 }}{{ own }}"
    assert missing_of(source, run=run) == []


def test_tokens_calls_and_lengths_of_lists_have_grouped_digits() -> None:
    shown = re.compile(
        r"(?<!=\")\{\{ [\w.]*\b(?:\w*tokens|calls|paginator\.count)(?! *\|[^}]*floatformat)(?: \}|\|default)"
    )
    ungrouped = [
        f"{path.relative_to(REPOSITORY)}: {match[0]}"
        for path in sorted((REPOSITORY / "templates").rglob("*.html"))
        for match in shown.finditer(path.read_text())
    ]
    assert ungrouped == []
