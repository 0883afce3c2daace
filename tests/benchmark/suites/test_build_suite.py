"""Building of suites from packages with the real judge; the release requires known programs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

import judge
from benchmark import judging
from benchmark.models import Judgement, PackageProgram, Problem, Suite, SuiteTest
from tests.benchmark.datasets.test_icpc import package

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]

MAXIMUM = {
    "problem_statement/problem.de.tex": None,
    "submissions/accepted/ann.py": "n = int(input())\nprint(max(map(int, input().split())))\n",
    "submissions/accepted/bea.py": "input()\nprint(sorted(map(int, input().split()))[-1])\n",
    "submissions/wrong_answer/bob.py": "input()\nprint(input().split()[-1])\n",
    "submissions/wrong_answer/eve.py": "input()\nprint(max(0, *map(int, input().split()), 0))\n",
    "data/sample/1.in": "2\n1 2\n",
    "data/sample/1.ans": "2\n",
    "data/secret/a.in": "2\n2 1\n",
    "data/secret/a.ans": "2\n",
    "input_validators/check.py": "import sys\nn = int(input())\nw = input().split()\n"
    "sys.exit(42 if len(w) == n and -9 <= min(map(int, w)) else 43)\n",
    "generators/own.py": "def line(kind, source):\n    top = {'random': 9, 'corner': -1, 'stress': -99}[kind]\n"
    "    return [source.randint(top - 8, top) for _ in range(4)]\n",
    "generators/draw.py": "import random, sys, own\nkind, seed = sys.argv[1:]\n"
    "w = own.line(kind, random.Random(seed))\n"
    "print(len(w))\nprint(*w)\n",
    "generators/generators.yaml": "data:\n  sample: {data: [{'1': {in: '1 1', ans: '1'}}]}\n  secret:\n    data:\n"
    "      few: {data: [random: 'draw.py random {seed}']}\n      edge: {generate: 'draw.py corner {seed:1}'}\n"
    "      large: draw.py stress 7\n      old: manual.in\n",
    "generators/manual.in": "3\n1 1 1\n",
}


@pytest.fixture
def maximum(tmp_path: Path, manage: Callable[..., Any]) -> Callable[[dict[str, str | None]], Problem]:
    def stored(changes: dict[str, str | None]) -> Problem:
        folder = package(tmp_path / "maximum", {**MAXIMUM, **changes})
        manage("import_problems", "icpc", str(folder), "--dataset", "packages")
        return Problem.objects.get()

    return stored


BUILD = ("build_suite", "packages/maximum", "--random", "4", "--corner", "2", "--stress", "1")


def test_a_sound_suite_is_released_measured_and_never_changed(
    maximum: Callable[[dict[str, str | None]], Problem],
    manage: Callable[..., Any],
    client: Client,
    tmp_path: Path,
):
    problem = maximum({})
    generator = problem.package_programs.get(role=PackageProgram.Role.GENERATOR)
    assert generator.commands == [
        ["random", "random {seed}"],
        ["corner", "corner {seed:1}"],
        ["stress", "stress 7"],
    ]
    imported = manage("suite_quality", "packages/maximum", "--imported")["suites"][0]
    assert [one["name"] for one in imported["programs"] if one["verdict"] == "AC"] == [
        "ann.py", "bea.py", "wrong_answer/eve.py",
    ]  # fmt: skip

    [built] = manage(*BUILD)["suites"]
    assert (built["released"], built["complaints"], built["dropped"]) == (
        True,
        [],
        {"check.py refuses it": 1},
    )
    assert built["tests"] == [
        "sample/1", "secret/few/2-random", "secret/edge", "secret/old", "secret/a",
        "random-001", "random-002", "random-003", "corner-001",
    ], "the sample, the listed tests, the other files of data/secret, and draws; no invalid stress test"  # fmt: skip
    assert built["missing"] == [
        {
            "test": "secret/large",
            "command": "draw.py stress 7",
            "reason": "check.py refuses its input (exit status 43.)",
            "withholds": False,
        }
    ]
    assert (built["tpr"]["value"], built["tnr"]["value"], built["tnr"]["total"]) == (1.0, 1.0, 2)
    assert built["kill_curve"] == sorted(built["kill_curve"])
    assert [probe["accepted"] for probe in built["checker_probes"]] == [0, 0, 9]

    suite = Suite.objects.get()
    assert suite.true_negative_rate is not None
    origins = set(suite.tests.values_list("origin", flat=True))
    assert origins == {SuiteTest.Origin.RANDOM, SuiteTest.Origin.CORNER, SuiteTest.Origin.HANDWRITTEN}
    with pytest.raises(TypeError, match="never changed"):
        suite.save()
    with pytest.raises(TypeError, match="never changed"):
        SuiteTest(suite=suite, order=99, name="late").save()
    with pytest.raises(TypeError, match="never deleted"):
        suite.delete()

    judged = Judgement.objects.count()
    again = manage(*BUILD)["suites"][0]
    assert (again["suite"], again["content_hash"]) == (1, built["content_hash"])
    assert manage("suite_quality", "packages/maximum")["suites"][0]["programs"] == built["programs"]
    assert Judgement.objects.count() == judged, "nothing is judged a second time"

    person = User.objects.create_user("rosa")
    client.force_login(person)
    assert client.get(suite.get_absolute_url()).status_code == client.get("/runs/suites/").status_code == 403
    person.groups.add(Group.objects.get_or_create(name="researcher")[0])
    assert "2 of 2 wrong" in client.get("/runs/suites/").content.decode()
    page = client.get(suite.get_absolute_url()).content.decode()
    assert 'class="cell failed" title="corner-001">WA' in page
    assert "1: check.py refuses it" in page
    assert page.count("<svg") >= 1

    other = manage(*BUILD, "--seed", "2")["suites"][0]
    assert (other["suite"], other["content_hash"] != built["content_hash"]) == (2, True)

    survivor = judging.store_submission(problem, MAXIMUM["submissions/wrong_answer/eve.py"] or "", "python")
    judgement = judging.request_judgement(survivor, test_suite=suite)
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    assert (judgement.verdict, judgement.test_suite, judgement.total) == ("WA", suite, 9)
    program = tmp_path / "eve.py"
    program.write_text(survivor.source)
    verdicts = [
        manage("judge", str(program), "--problem", "packages/maximum", *which)["verdict"]
        for which in ((), ("--suite", "1"))
    ]
    assert verdicts == ["AC", "WA"]
    assert (
        "there is: 2, 1" in manage("suite_quality", "packages/maximum", "--suite", "9")["failed"][0]["reason"]
    )


def test_a_suite_that_lets_a_wrong_program_pass_or_fails_a_right_one_is_not_released(
    maximum: Callable[[dict[str, str | None]], Problem], manage: Callable[..., Any]
):
    maximum(
        {
            "submissions/accepted/zed.py": "print(7)\n",
            "submissions/wrong_answer/bob.py": "input()\nprint(max(map(int, input().split())))  # not wrong\n",
        }
    )
    result = manage(*BUILD)
    assert "0 of 1 suites are released" in result["error"]
    [suite] = result["suites"]
    assert suite["complaints"] == [
        "right programs fail: zed.py (WA)",
        "wrong programs pass: wrong_answer/bob.py (AC)",
    ]
    assert Suite.objects.get().released_at is None


def test_an_interrupted_validation_goes_on_with_the_programs_that_are_left(
    maximum: Callable[[dict[str, str | None]], Problem],
    manage: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
):
    maximum({})
    graded: list[Any] = []
    real = judge.grade

    def grade(submission: judge.Submission, *arguments: Any, **options: Any) -> judge.Judgement:
        graded.append(submission.source)
        if len(graded) == interrupted_at:
            raise KeyboardInterrupt
        return real(submission, *arguments, **options)

    monkeypatch.setattr(judge, "grade", grade)
    interrupted_at = 3
    with pytest.raises(KeyboardInterrupt):
        call_command(*BUILD, "--jobs", "1")
    done = Judgement.objects.count()
    assert 1 <= done <= 2
    graded.clear()
    interrupted_at = 0
    assert manage(*BUILD)["suites"][0]["released"]
    assert len(graded) == 4 - done


def test_a_checker_that_accepts_nothing_at_all_is_found_and_a_problem_without_generators_named(
    maximum: Callable[[dict[str, str | None]], Problem], manage: Callable[..., Any]
):
    problem = maximum({"generators/generators.yaml": None})
    assert "Generate some with a model" in manage(*BUILD)["failed"][0]["reason"]
    lax = judge.OutputValidator("python", {"spj.py": "pass"})
    problem.checker = judge.Checker("special", program=lax).to_json()
    problem.save()
    [quality] = manage("suite_quality", "packages/maximum", "--imported")["suites"]
    assert [probe["sound"] for probe in quality["checker_probes"]] == [False, True, True]
    assert any("accepts the empty output" in said for said in quality["complaints"])


def test_generators_and_validators_may_be_in_cpp_with_a_header_of_their_own(
    maximum: Callable[[dict[str, str | None]], Problem], manage: Callable[..., Any]
):
    draw = (
        '#include <cstdio>\n#include <cstdlib>\n#include "most.h"\nint main(int, char** v) {\n'
        "    std::srand(std::atoi(v[2])); int most = *v[1] == 's' ? -99 : MOST;\n"
        '    std::printf("2\\n%d %d\\n", most - std::rand() % 5, most - 5);\n}\n'
    )
    check = (
        "#include <cstdio>\nint main() {\n    int n, a, b;\n"
        '    return std::scanf("%d%d%d", &n, &a, &b) == 3 && n == 2 && a > -9 && b > -9 ? 42 : 43;\n}\n'
    )
    commands = str(MAXIMUM["generators/generators.yaml"]).replace("draw.py", "draw.cpp")
    maximum(
        {
            "generators/draw.py": None,
            "generators/own.py": None,
            "generators/draw.cpp": draw,
            "generators/most.h": "#define MOST 7\n",
            "generators/generators.yaml": commands,
            "generators/manual.in": "2\n1 1\n",
            "input_validators/check.py": None,
            "input_validators/check.cpp": check,
        }
    )
    [built] = manage(*BUILD)["suites"]
    assert built["dropped"]["check.cpp refuses it"] == 1
    assert "random-001" in built["tests"]
    assert "secret/large" not in built["tests"]


def test_a_looping_program_is_given_up_in_time_and_marked_as_not_tried(
    maximum: Callable[[dict[str, str | None]], Problem], manage: Callable[..., Any], admin_client: Client
):
    """The program loops on the sample only, so other tests would finish quickly."""
    looping = "n = int(input())\nwhile n == 2: pass\nprint(max(map(int, input().split())))\n"
    problem = maximum({"submissions/time_limit_exceeded/sue.py": looping, "data/secret/a.in": "3\n2 1 1\n"})
    problem.time_limit = 0.5  # scaled to 1 s for Python
    problem.save()
    [built] = manage(*BUILD, "--overtime", "1")["suites"]
    [given_up] = [one for one in built["programs"] if one["name"].endswith("sue.py")]
    assert (given_up["verdict"], given_up["killed_by"], given_up["not_tried"]) == ("TLE", 1, 8)
    assert given_up["verdicts"] == ["TLE", *[None] * 8]
    assert built["notes"][0] == (
        f"{given_up['name']} exceeded its time limit too often: not run on 8 of 9 tests"
    )
    assert (built["released"], built["tnr"]["count"]) == (True, 3)
    assert "sample/1" in built["minimal_suite"]
    suite = Suite.objects.get().get_absolute_url()
    page = admin_client.get(suite).content.decode()
    assert page.count(': not run">–') == 8
    assert "“–”: not run" in page

    judged = Judgement.objects.count()
    [same, more, after] = [
        manage("suite_quality", "packages/maximum", "--overtime", seconds)["suites"][0]
        for seconds in ("1", "2", "1")
    ]
    assert same["programs"] == built["programs"]
    assert Judgement.objects.count() == judged + 1, "only what had been given up is tried again"
    assert (more["notes"], more["kill_curve"]) == (built["notes"][1:], built["kill_curve"])
    assert after["programs"] == more["programs"]
    assert "not run" not in admin_client.get(suite).content.decode()
