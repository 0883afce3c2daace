"""`open_checker` checks outputs without a program's run."""

from pathlib import Path

import pytest

import judge
from judge import Checker, Limits, OutputValidator

LIMITS = Limits(time=1.0, memory=256 * 2**20)
WANTS_A_LINE = "import sys\nsys.exit(42 if sys.stdin.read().strip() else 43)\n"


@pytest.fixture
def doubled(tmp_path: Path) -> judge.Test:
    (tmp_path / "1.in").write_text("2\n")
    (tmp_path / "1.ans").write_text("4 4\n")
    return judge.Test("1", tmp_path / "1.in", tmp_path / "1.ans")


@pytest.mark.usefixtures("sandbox")
def test_comparisons_and_programs_are_asked_the_same_way(doubled: judge.Test):
    validator = OutputValidator("python", {"validate.py": WANTS_A_LINE})
    for checker, half in ((Checker(), False), (Checker("validator", program=validator), True)):
        with judge.open_checker(checker, LIMITS) as ask:
            accepted = [ask(doubled, output).accepted for output in (b"4 4\n", b"4\n", b"")]
        assert accepted == [True, half, False]


def test_an_interactive_checker_cannot_be_asked():
    program = OutputValidator("python", {"validate.py": "pass"}, interactive=True)
    with (
        pytest.raises(ValueError, match="interactive"),
        judge.open_checker(Checker("validator", program=program), LIMITS),
    ):
        pass
