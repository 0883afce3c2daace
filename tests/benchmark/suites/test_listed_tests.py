"""Suites of packages with a generators.yaml: all listed tests are present, or the release is blocked."""

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from benchmark.models import ListedTest, PackageProgram, Problem, Suite, blobs
from tests.benchmark.datasets.test_icpc import package

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]

SUM = {
    "problem_statement/problem.de.tex": None,
    "submissions/accepted/ann.py": "print(sum(map(int, input().split())))\n",
    "submissions/accepted/slow.py": "print(sum(map(int, input().split())))  # the second solution\n",
    "submissions/wrong_answer/bob.py": "n = input()\nprint(-1 if n == '40 2' else sum(map(int, n.split())))\n",
    "data/sample/1.in": "1 2\n",
    "data/sample/1.ans": "3\n",
    "data/secret/a.in": "2 2\n",
    "data/secret/a.ans": "4\n",
    "data/secret/hand.in": "40 2\n",
    "data/secret/hand.ans": "42\n",
    "generators/draw.py": "import random, sys\nr = random.Random(sys.argv[1])\n"
    "print(r.randint(3, 10**9), *sys.argv[2:])\n",
    "generators/copied.in": "5 6\n",
    "generators/copied.ans": "11\n",
}
BUILD = ("build_suite", "packages/sum", "--random", "0", "--corner", "0", "--stress", "0")


@pytest.fixture
def built(tmp_path: Path, manage: Callable[..., Any]) -> Callable[..., Any]:
    """Import the package with this generators.yaml and build its suite; return the command's document."""

    def build(listing: str, changes: dict[str, str | None] | None = None) -> Any:
        files = {**SUM, "generators/generators.yaml": listing, **(changes or {})}
        folder = package(tmp_path / "sum", files)
        manage("import_problems", "icpc", str(folder), "--dataset", "packages")
        return manage(*BUILD)

    return build


LISTED = """
data:
  secret:
    data:
      - inline: { in: "7 8", ans: "15" }
      - unanswered: { in: "8 8" }
      - copied: { copy: copied }
      - old: copied.in
      - counted: { generate: "draw.py {seed} {count}", count: 3 }
      - group: { data: { deep: "draw.py {seed:7} 1" } }
      - hand:
"""


def contents() -> dict[str, tuple[str, str]]:
    tests = Suite.objects.get().tests.all()
    return {
        one.name: (blobs.read(one.input_hash).decode(), blobs.read(one.answer_hash).decode()) for one in tests
    }


def seed(command: str) -> int:
    """Return the seed of a command as BAPCtools documents it."""
    return int(hashlib.sha512(command.encode()).hexdigest(), 16) % 2**31


def test_every_listed_test_is_in_the_suite_and_kills_what_only_it_kills(built: Callable[..., Any]) -> None:
    """Regression: the suite contained only tests of `draw.py`, and bob.py, wrong on a written test, passed."""
    hand = {"data/secret/8-hand.in": "40 2\n", "data/secret/8-hand.ans": "42\n"}
    [suite] = built(LISTED, {**hand, "data/secret/hand.in": None, "data/secret/hand.ans": None})["suites"]
    assert (suite["released"], suite["complaints"], suite["missing"]) == (True, [], [])
    assert suite["tests"] == [
        "sample/1", "secret/1-inline", "secret/2-unanswered", "secret/3-copied", "secret/5-counted-1",
        "secret/6-counted-2", "secret/7-counted-3", "secret/1-group/deep", "secret/8-hand", "secret/a",
    ]  # fmt: skip
    assert suite["dropped"] == {"equal to another input": 1}, "secret/4-old is the copied test once more"
    made = contents()
    assert made["secret/1-inline"] == ("7 8\n", "15\n")
    assert made["secret/2-unanswered"] == ("8 8\n", "16\n")
    assert made["secret/3-copied"] == ("5 6\n", "11\n")
    for name, command in (
        ("secret/5-counted-1", "draw.py {seed} 1"),
        ("secret/6-counted-2", ":1draw.py {seed} 2"),
        ("secret/1-group/deep", "draw.py {seed:7} 1"),
    ):
        first, second = made[name][0].split()
        assert int(first) == random.Random(str(seed(command))).randint(3, 10**9)
        assert second == command[-1]
    [bob] = [one for one in suite["programs"] if not one["right"]]
    assert (bob["verdict"], bob["killed_by"]) == ("WA", 1)


def test_an_import_before_listed_tests_were_stored_is_refused_and_a_second_import_mends_it(
    built: Callable[..., Any], manage: Callable[..., Any], tmp_path: Path
) -> None:
    built(LISTED, {"data/secret/8-hand.in": "40 2\n", "data/secret/8-hand.ans": "42\n"})
    problem = Problem.objects.get()
    ListedTest.objects.all().delete()
    assert "import its package again" in manage(*BUILD)["failed"][0]["reason"]
    again = ("import_problems", "icpc", str(tmp_path / "sum"), "--dataset", "packages")
    assert manage(*again)["updated"] == 1
    assert ListedTest.objects.count() == 9
    assert Problem.objects.get().content_hash == problem.content_hash, "stored runs hold to it"
    assert manage(*again)["unchanged"] == 1


BROKEN = """
mystery: 1
solution: /submissions/accepted/slow.py
data:
  secret:
    data:
      fails: fail.py 3
      silent: silent.py
      gone: { copy: missing }
      away: { copy: ../../../../etc/passwd }
      nowhere:
      unknown: nobody.py
      file: file.py
      odd: { generate: file.py, colour: 1 }
      unanswerable: { in: "x y" }
"""


def test_what_fails_or_is_not_understood_is_named_and_withholds_the_release(
    built: Callable[..., Any], capsys: pytest.CaptureFixture[str], admin_client: Client
) -> None:
    """Regression: such tests were only counted, and the suite was released."""
    document = built(
        BROKEN,
        {
            "generators/fail.py": "import sys\nprint('half')\nsys.exit('no graph\\nof that size')\n",
            "generators/silent.py": "pass\n",
            "generators/file.py": "open('testcase.in', 'w').write('9 1\\n')\n"
            "open('testcase.ans', 'w').write('10\\n')\nprint('not this')\n",
        },
    )
    [suite] = document["suites"]
    assert "0 of 1 suites are released" in document["error"]
    assert suite["tests"] == ["sample/1", "secret/file", "secret/a", "secret/hand"]
    assert contents()["secret/file"] == ("9 1\n", "10\n")
    reasons = {one["test"]: (one["command"], one["reason"]) for one in suite["missing"]}
    assert reasons == {
        "mystery": ("", "this key is not known"),
        "secret/fails": ("fail.py 3", "exit status 1. of that size; it printed: no graph / of that size"),
        "secret/silent": ("silent.py", "silent.py prints nothing."),
        "secret/gone": ("", "its copy missing.in is not a file of the package of at most 256 MiB"),
        "secret/away": (
            "",
            "its copy ../../../../etc/passwd.in is not a file of the package of at most 256 MiB",
        ),
        "secret/nowhere": (
            "",
            "it has no input, and data/secret/nowhere.in is not a file of the package of at most 256 MiB",
        ),
        "secret/unknown": (
            "",
            "its generator nobody.py cannot be run: there is no file nobody.py in generators/",
        ),
        "secret/odd": ("", "its key colour is not known"),
        "secret/unanswerable": ("", reasons["secret/unanswerable"][1]),
    }
    assert reasons["secret/unanswerable"][1].startswith("slow.py cannot answer it: exit status 1. ValueError")
    assert all(one["withholds"] for one in suite["missing"])
    assert "mystery is missing: this key is not known" in suite["complaints"]
    page = admin_client.get(Suite.objects.get().get_absolute_url()).content.decode()
    assert "secret/fails</span> (<code>fail.py 3</code>): exit status 1." in page
    with pytest.raises(CommandError):
        call_command(*BUILD)
    printed = capsys.readouterr().out
    assert "secret/fails (fail.py 3) is missing: exit status 1." in printed


def test_the_same_tests_without_what_was_missing_are_another_suite(built: Callable[..., Any]) -> None:
    """A suite that misses a test differs from a suite whose recipe does not contain it."""
    whole = "data: {secret: {data: {hand: {in: '40 2'}}}}\n"
    [sound] = built(whole)["suites"]
    [lacking] = built(whole.replace("}}}}", "}, gone: {copy: x}}}}"))["suites"]
    assert sound["content_hash"] == lacking["content_hash"]
    assert [(one["suite"], one["released"]) for one in (sound, lacking)] == [(1, True), (2, False)]


def test_hand_written_tests_need_no_generator(built: Callable[..., Any]) -> None:
    [suite] = built("data: {secret: {data: {x: {in: '40 2'}}}}\n", {"generators/draw.py": None})["suites"]
    assert suite["released"]
    assert not PackageProgram.objects.filter(role=PackageProgram.Role.GENERATOR).exists()
    assert [one["name"] for one in suite["programs"] if one["verdict"] == "WA"] == ["wrong_answer/bob.py"]
