"""The textbook of Hintbench: its programs do in the sandbox what its text says, and commands find and load it."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

import judge
from benchmark.corpora import TEXTBOOK
from benchmark.models import Corpus
from benchmark.models.corpora import SHIPPED

CHAPTERS = sorted(TEXTBOOK.glob("*.md"))
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```input\n(.*?)```\n\n```output\n(.*?)```", re.DOTALL)


CHOOSE = """
import io, sys
number, _, given = sys.stdin.buffer.read().partition(b"\\n")
sys.stdin = io.TextIOWrapper(io.BytesIO(given))
exec(PROGRAMS[int(number)], {"__name__": "__main__"})
"""
"""All programs as one submission, which starts once: the first line of a test selects the program."""


@pytest.mark.usefixtures("sandbox")
def test_every_program_prints_what_stands_below_it(tmp_path: Path) -> None:
    programs: list[str] = []
    tests = []
    for chapter in CHAPTERS:
        text = chapter.read_text()
        examples = EXAMPLE.findall(text)
        assert len(examples) == text.count("```python") > 0, chapter.name
        for number, (source, given, expected) in enumerate(examples, 1):
            name = f"{chapter.stem}-{number}"
            test = judge.Test(name, tmp_path / f"{name}.in", tmp_path / f"{name}.ans")
            test.input.write_text(f"{len(programs)}\n{given}")
            test.answer.write_text(expected)
            programs.append(source)
            tests.append(test)
    judgement = judge.grade(
        judge.Submission(f"PROGRAMS = {programs!r}\n{CHOOSE}", "python"),
        judge.Problem(tests, judge.Limits(time=2, memory=256 * 2**20), judge.Checker()),
        judge.GradingOptions(policy=judge.Policy.COMPAT, stop_at_first_failure=False),
    )
    wrong = [result for result in judgement.tests if result.verdict is not judge.Verdict.AC]
    assert not wrong
    assert len(judgement.tests) == len(programs) > 20


def test_every_chapter_is_of_a_length_that_fits_a_prompt() -> None:
    assert len(CHAPTERS) == 16
    for chapter in CHAPTERS:
        lines = chapter.read_text().splitlines()
        assert lines[0].startswith("# "), chapter.name
        assert 80 <= len(lines) <= 170, chapter.name


def test_without_arguments_the_textbook_is_loaded(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_corpus", "--json")
    assert json.loads(capsys.readouterr().out)["imported"] == len(CHAPTERS)
    assert Corpus.objects.get().name == SHIPPED
    with pytest.raises(CommandError, match="PATH is missing"):
        call_command("import_corpus", "markdown")
