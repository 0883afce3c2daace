"""The check that templates name only what exists. Django prints nothing for an unknown name, so no page shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from django.template.base import Variable, VariableDoesNotExist
from django.template.context import BaseContext

OPTIONAL = {
    # Given by some of the pages or tags that include a template; the template says so in its first line.
    "own", "parameter", "samples_only", "sees_policies", "shows_facts", "solved", "total", "verdict",
    "with_session", "without_attempts",
    # Set by some of the views that share a template.
    "comparison", "review_outcome",
    # Set by context processors, which the pages of errors do without.
    "messages", "user",
}  # fmt: skip
"""The variables that a context may lack."""


@contextmanager
def missing_names() -> Iterator[set[str]]:
    """Yield the set of variables and attributes that templates of this repository look up without success.

    Keys of mappings are excluded, because stored JSON may lack them, and so are attributes of None.
    """
    missing: set[str] = set()
    resolve = Variable._resolve_lookup  # type: ignore[attr-defined]  # the stubs leave it out

    def checked(variable: Variable, context: Any) -> Any:
        try:
            return resolve(variable, context)
        except VariableDoesNotExist as error:
            name, holder = error.params
            template = context.render_context.template
            origin = template.origin.name if template else "unknown"
            unknown = name not in OPTIONAL if isinstance(holder, BaseContext) else not_data(holder, str(name))
            if unknown and "site-packages" not in origin:
                missing.add(f"{origin}: {variable.var}: {name} of {type(holder).__name__}")
            raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Variable, "_resolve_lookup", checked)
        yield missing


def not_data(holder: object, name: str) -> bool:
    """Return whether `holder` is an object with attributes, and `name` is not an index of a sequence."""
    return holder is not None and not isinstance(holder, Mapping) and not name.isdigit()


@pytest.fixture(autouse=True)
def complete_templates() -> Iterator[None]:
    """Fail a test whose pages look up a variable or an attribute that does not exist."""
    with missing_names() as missing:
        yield
    assert not missing, (
        f"templates name what does not exist (optional variables: tests/templates.py): {sorted(missing)}"
    )
