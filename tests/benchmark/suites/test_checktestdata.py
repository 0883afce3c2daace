"""Input validators in the Checktestdata language, run in the sandbox on the inputs of a suite."""

from collections.abc import Callable
from typing import Any

import pytest

from benchmark.models import PackageProgram, Suite
from tests.benchmark.suites.test_listed_tests import built

__all__ = ["built"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]

LISTED = """
data:
  secret:
    data:
      good: draw.py 1 5
      large: draw.py 2 1001
      spaced: { in: "3  4" }
      long: { in: "3 4 5" }
      fine: { in: "999 1000" }
"""
GRAMMAR = """# Two numbers; the second is at most 1000.
SET(limit = 10 * 100)
INT(1, 1000000000, first) SPACE INT(1, limit, second) NEWLINE
IF(second > limit) STRING("never") END
EOF
"""


def test_a_grammar_refuses_inputs_and_names_them(built: Callable[..., Any]) -> None:
    """Regression: .ctd validators were ignored, and every input was accepted."""
    [suite] = built(LISTED, {"input_validators/grammar.ctd": GRAMMAR})["suites"]
    validator = PackageProgram.objects.get(role=PackageProgram.Role.INPUT_VALIDATOR)
    assert (validator.name, validator.language, list(validator.files)) == (
        "grammar.ctd", "checktestdata", ["grammar.ctd"],
    )  # fmt: skip
    assert suite["tests"] == ["sample/1", "secret/good", "secret/fine", "secret/a", "secret/hand"]
    missing = {one["test"]: (one["reason"], one["withholds"]) for one in suite["missing"]}
    assert [missing[f"secret/{name}"][1] for name in ("large", "spaced", "long")] == [False, True, True]
    assert "grammar.ctd refuses its input (exit status 43." in missing["secret/spaced"][0]
    assert suite["dropped"] == {"grammar.ctd refuses it": 3}
    assert Suite.objects.get().provenance["checktestdata"]


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ("INT(1, 10", "fails (exit status 2. validator.ctd: unexpected end of file"),
        ("INT(1, nothing) NEWLINE EOF", "fails (exit status"),
        ("REP(", "fails (exit status 2. validator.ctd: unexpected end of file"),
        ("%%", "fails (exit status 2. line 1, column 1"),
        ("", "refuses a sample"),
        ('STRING("no sample") EOF', "refuses a sample"),
    ],
)
def test_a_broken_grammar_is_reported_and_not_used(
    built: Callable[..., Any], grammar: str, said: str
) -> None:
    [suite] = built(
        "data: {secret: {data: {x: {in: '40 3'}}}}\n", {"input_validators/own/grammar.ctd": grammar}
    )["suites"]
    [reason] = suite["dropped"]
    assert reason.startswith(f"own {said}")
    assert reason.endswith("and is not used")
    assert suite["tests"] == ["sample/1", "secret/x", "secret/a", "secret/hand"]
