"""One entry adds a language everywhere: it is judged, highlighted, extracted and listed."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import judge
from benchmark.extraction import extract_program
from benchmark.rendering.highlighting import highlight
from benchmark.suites.recipes import fastest_reference
from config.doctor import examine
from judge import Family, Language, ProgramShape, Verdict
from judge.languages import CPP
from tests.judge.conftest import Grade


@pytest.fixture
def holy_c() -> Iterator[Language]:
    """Register a new language, compiled by g++, for one test."""
    tables: tuple[dict, ...] = (judge.LANGUAGES, judge.FAMILIES, judge.TAGS)
    before = [dict(table) for table in tables]
    shape = CPP.family.shape
    assert shape is not None
    family = Family("holyc", "HolyC", tags=("holyc", "hc"), lexer="c", shape=replace(shape))
    yield judge.register(
        replace(
            CPP,
            name="holyc",
            title="HolyC",
            family=family,
            extensions=(".hc",),
            source_name="main.hc",
            compile=("{tool}", "-x", "c++", "-o", "{program}", "{sources}"),
            precompiled=None,
            package_code="holyc",
            speed_rank=1,
        )
    )
    for table, content in zip(tables, before, strict=True):
        table.clear()
        table.update(content)


PROGRAM = """#include <cstdio>
int main() {
    int n, sum = 0, x;
    scanf("%d", &n);
    while (n--) { scanf("%d", &x); sum += x; }
    printf("%d", sum);
}
"""


def test_one_entry_is_all_that_a_language_needs(grade: Grade, holy_c: Language) -> None:
    assert grade(PROGRAM, "holyc").verdict is Verdict.AC
    assert judge.language_of("answer.hc") == "holyc"

    for tag in ("holyc", "hc", "HolyC"):
        shown = highlight(PROGRAM, tag)
        assert "<figcaption>HolyC</figcaption>" in shown
        assert "<span" in shown

    reply = f"```python\nprint(input())\n```\n\nor\n\n```hc\n{PROGRAM}```\n\n<holyc>\nnothing\n</holyc>\n"
    assert (extract_program(reply, "holyc").code or "").strip() == PROGRAM.strip()

    assert any("HolyC" in f"{part.name} {part.without}" for part in examine())


class _References:
    """References of a problem, as the database returns them."""

    def __init__(self, *languages: str) -> None:
        self.references = self
        self._rows = [type("Row", (), {"language": one, "order": at}) for at, one in enumerate(languages)]

    def all(self) -> list[object]:
        return list(self._rows)


def test_references_are_ranked_by_the_entries_speed(holy_c: Language) -> None:
    chosen = fastest_reference(_References("python", "cpp", "holyc", "cobol"))  # type: ignore[arg-type]
    assert chosen is not None
    assert chosen.language == "holyc"


def test_families_of_one_name_are_one() -> None:
    for language in judge.LANGUAGES.values():
        assert judge.FAMILIES[language.family.name] is language.family
        assert isinstance(language.family.shape, ProgramShape | None)
    assert len({language.speed_rank for language in judge.LANGUAGES.values()}) == len(judge.LANGUAGES)
    tags = [tag for family in judge.FAMILIES.values() for tag in family.tags]
    assert len(tags) == len(set(tags))
