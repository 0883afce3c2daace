"""Import of LiveCodeBench: both kinds of problems, packed private tests, malicious pickles."""

import base64
import json
import os
import pickle
import zlib
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from benchmark import judging
from benchmark.datasets import livecodebench
from benchmark.models import Problem, blobs

pytestmark = pytest.mark.django_db

PUBLIC = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]
PRIVATE = [{"input": "4 5\r\n", "output": "9", "testtype": "stdin"}]
FUNCTIONAL = [{"input": "[1, 2]\n3", "output": "[4,  5]", "testtype": "functional"}]


def compressed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def packed(value: object) -> str:
    return compressed(pickle.dumps(value))


def row(**changes: Any) -> dict[str, Any]:
    return {
        "question_title": "Sum",
        "question_content": "Add the numbers.",
        "platform": "atcoder",
        "question_id": "abc300_a",
        "contest_id": "abc300",
        "contest_date": "2023-05-06T00:00:00",
        "starter_code": "",
        "difficulty": "easy",
        "public_test_cases": json.dumps(PUBLIC),
        "private_test_cases": packed(json.dumps(PRIVATE)),
        "metadata": "{}",
    } | changes


def run(folder: Path, *rows: dict[str, Any]) -> dict[str, Any]:
    (folder / "test.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    output = StringIO()
    call_command("import_problems", "livecodebench", str(folder), "--dataset", "lcb", "--json", stdout=output)
    result: dict[str, Any] = json.loads(output.getvalue())
    return result


@pytest.mark.usefixtures("sandbox")
def test_both_kinds_of_problems_have_their_tests_and_functional_programs_are_judged(tmp_path: Path) -> None:
    shift = row(
        question_id="3000",
        public_test_cases=json.dumps(FUNCTIONAL),
        private_test_cases=json.dumps(FUNCTIONAL),
        starter_code="class Solution:\n    def shift(self, nums: List[int], k: int) -> List[int]:\n        ",
        metadata='{"func_name": "shift"}',
    )
    assert run(tmp_path, row(), shift)["imported"] == 2
    summing = Problem.objects.get(external_id="abc300_a")
    assert [(case.origin, blobs.read(case.input_hash)) for case in summing.tests.all()] == [
        ("sample", b"1 2\n"),
        ("hidden", b"4 5\n"),
    ]
    assert (summing.contest_date, summing.tags, summing.signature) == (date(2023, 5, 6), ["easy"], None)
    functional = Problem.objects.get(external_id="3000")
    assert functional.signature is not None
    assert functional.signature["method"] == "shift"
    assert blobs.read(functional.tests.all()[0].answer_hash) == b"[4,5]\n"
    verdicts = []
    for body in (
        "return [one + k for one in nums]",
        "return nums",
        "return [",
        "print('talk'); return nums[9]",
    ):
        source = f"class Solution:\n    def shift(self, nums: List[int], k: int):\n        {body}\n"
        judgement = judging.request_judgement(judging.store_submission(functional, source, "python"))
        judging.perform(judgement.pk)
        judgement.refresh_from_db()
        verdicts.append(judgement.verdict)
    assert verdicts == ["AC", "WA", "CE", "RTE"]


class Harmful:
    def __reduce__(self) -> Any:
        return os.system, ("touch harm-was-done",)


NESTED = "[" * 5_000


@pytest.mark.parametrize(
    ("private", "reason"),
    [
        (packed(Harmful()), "contain more than a string"),
        (compressed(b"cos\nsystem\n(S'touch harm-was-done'\ntR."), "the instruction GLOBAL"),
        (compressed(b"(S'touch harm-was-done'\nios\nsystem\n."), "the instruction MARK"),
        (packed([1]), "contain more than a string"),
        (
            compressed(b"]" * 100_000 + b"."),
            "the instruction EMPTY_LIST",
        ),  # loading would need 64 times the memory
        (compressed(b"Va\n" + b"q\0" * 100_000 + b"."), "cannot be unpacked"),
        (compressed(b"Va\nVb\n."), "contain 2 strings, not one"),
        (packed(NESTED), "cannot be unpacked: maximum recursion depth"),
        (NESTED, "cannot be read: maximum recursion depth"),
        (packed("no JSON"), "cannot be unpacked"),
        (base64.b64encode(zlib.compress(pickle.dumps(json.dumps(PRIVATE)))[:-9]).decode(), "incomplete"),
        (compressed(b"x" * 2**21), "unpack to more than 1 MiB (IMPORT_UNPACKED_MB)"),
        ("%%%", "cannot be unpacked"),
        (json.dumps(FUNCTIONAL), "kinds functional, stdin"),
    ],
    ids=lambda value: value[-40:],
)
def test_invalid_packed_tests_are_skipped_without_running_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(livecodebench, "MAXIMUM_UNPACKED", 2**20)
    result = run(tmp_path, row(private_test_cases=private), row(question_id="good"))
    assert [entry["id"] for entry in result["left_out"]] == ["abc300_a"]
    assert reason in result["left_out"][0]["reason"]
    assert not (tmp_path / "harm-was-done").exists()
