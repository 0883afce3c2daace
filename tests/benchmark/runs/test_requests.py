"""Every method and every control end to end: the exact requests, without any secret."""

import json
import shutil
from dataclasses import fields
from itertools import islice
from pathlib import Path

import pytest
from django.utils import timezone

from benchmark.methods import METHODS
from tests.benchmark.runs.bank import PROBLEMS, REPLY, canaries
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart, use_var
from tests.fake_providers import FakeProviders, Request, Script, pieces_of

GOLDENS = Path(__file__).parent / "requests"
PROBLEM = "berry_product"
"""The program of the replies adds where this problem multiplies, so that it fails on the sample."""
GOLDEN = [
    *(name for name, method in METHODS.items() if method.in_usaco_paper),
    "refine",
    "retry",
    "random",
    "oracle-assisted",
    *(name for name in METHODS if name.startswith("slow-")),
]
RUNS = {
    # The prompts of session arms and leaks are those of sessions (tests/tutoring/arms).
    **{name: ("--method", name) for name in METHODS if not name.startswith(("session-", "leak"))},
    "icpc-b": ("--method", "episodic+reflexion", "--profile", "icpc-b"),
    "neutral": ("--method", "reflexion", "--set", "feedback=none"),
}
SMALL = {"i": 1, "k": 2, "n": 1, "r": 2, "tags": 2, "resamples": 1, "retries": 1}
"""Settings that keep the runs short; what a growing list of attempts looks like is tested with Reflexion."""
SLOW_PROGRAM = """a, b = map(int, input().split())
total = 0
for _ in range(a):
    for _ in range(b):
        total += 1
print(total)
print(input())
"""
"""A slow program for the problem, which multiplies by counting."""


@pytest.fixture(scope="module")
def sent(
    filled_var: Path, fake_provider_server: FakeProviders, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Request]]:
    """Return the requests of every run, made one after another by one process."""
    fake_provider_server.reset()
    fake_provider_server.script(*[Script(pieces_of(REPLY))] * 200)
    var = tmp_path_factory.mktemp("requests") / "var"
    shutil.copytree(filled_var, var)
    runs = [_arguments(name) for name in RUNS]
    run_apart(_run_all, var, CommandSandbox(var, fake_provider_server).settings, runs)
    requests = iter(fake_provider_server.requests)
    counts = CommandSandbox(var, fake_provider_server).rows(
        "select count(*) from benchmark_generation g join benchmark_workitem i on i.id = g.work_item_id "
        "join benchmark_run r on r.id = i.run_id where g.purpose != 'recorded' group by r.id order by min(r.started_at)"
    )
    by_run = {name: list(islice(requests, count)) for name, (count,) in zip(RUNS, counts, strict=True)}
    assert list(requests) == []
    return by_run


def _arguments(name: str) -> list[str]:
    given = [*RUNS[name]]
    known = {field.name for field in fields(METHODS[given[1]].settings)}
    small = [f"{setting}={value}" for setting, value in SMALL.items() if setting in known]
    if small:
        given += small if "--set" in given else ["--set", *small]
    return [
        "run_baseline", "--json", "--dataset", "orchard", "--model", "openai:gpt-4o", "--problems", PROBLEM, *given,
    ]  # fmt: skip


def _run_all(var: Path, values: dict[str, str], runs: list[list[str]]) -> None:
    from django.conf import settings
    from django.core.management import call_command

    from benchmark.models import Generation

    use_var(var)
    for name, value in values.items():
        setattr(settings, name, value)
    _store_slow_program()
    for arguments in runs:
        Generation.objects.update(cache_key="")  # so that every run sends all of its requests
        call_command(*arguments)


def _store_slow_program() -> None:
    """Store a start program of the arms of slow programs with its growth, which no test measures."""
    from benchmark.growth import request_curve
    from benchmark.growth.examples import QUADRATIC
    from benchmark.judging import request_judgement, store_submission
    from benchmark.models import GrowthCurve, Judgement, Problem, SizedGenerator

    problem = Problem.objects.get(external_id=PROBLEM)
    SizedGenerator.objects.create(
        problem=problem,
        order=0,
        parameter="n",
        name="pair.py",
        language="python",
        files={"main.py": "import sys\nprint(sys.argv[1], sys.argv[1])\nprint('word')\n"},
        arguments="{size}",
        largest=100_000,
    )
    submission = store_submission(problem, SLOW_PROGRAM, "python")
    tests = [{"name": str(n), "verdict": v, "sample": not n} for n, v in enumerate(("AC", "TLE"))]
    Judgement.objects.filter(pk=request_judgement(submission, stop_at_first_failure=False).pk).update(
        state=Judgement.State.DONE, verdict="TLE", relaxed_verdict="AC", result={"tests": tests}
    )
    GrowthCurve.objects.filter(pk=request_curve(submission).pk).update(
        state=GrowthCurve.State.DONE, points=QUADRATIC.to_json(), finished_at=timezone.now()
    )


def readable(requests: list[Request]) -> str:
    """Return the requests as text: the parameters as JSON, then the message."""
    told = []
    for number, request in enumerate(requests, 1):
        body = dict(request.body)
        messages = body.pop("messages")
        told.append(f"=== Request {number}: {json.dumps(body, sort_keys=True)}\n")
        told += [f"=== {message['role']}\n{message['content']}\n" for message in messages]
    return "".join(told)


@pytest.mark.parametrize("name", [*GOLDEN, "icpc-b", "neutral"])
def test_exactly_this_is_sent(sent: dict[str, list[Request]], name: str) -> None:
    golden = GOLDENS / f"{name}.txt"
    told = readable(sent[name])
    if not golden.exists():
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(told)
        pytest.fail(f"{golden.name} was written: read it, then commit it")
    assert told == golden.read_text()


@pytest.mark.parametrize("name", RUNS)
def test_no_prompt_holds_a_secret_of_its_own_problem_or_a_hidden_test_of_any(
    sent: dict[str, list[Request]], name: str
) -> None:
    text = json.dumps([request.body for request in sent[name]])
    shown = {canary for problem in PROBLEMS for canary in canaries(problem) if canary in text}
    assert not {canary for canary in shown if "-input-" in canary or "-answer-" in canary}
    own = {canary for canary in shown if canary.endswith(PROBLEM)}
    assert own == ({f"canary-analysis-{PROBLEM}"} if "oracle-assisted" in name else set())
    if not any(part in name for part in ("episodic", "random", "icpc-b", "matched")):
        assert not {canary for canary in shown if "-reference-" in canary}


def test_the_controls_are_marked_and_the_methods_of_the_papers_are_not() -> None:
    marked = {name for name, method in METHODS.items() if method.warning}
    assert marked == {
        name
        for name in METHODS
        if any(c in name for c in ("retry", "random", "oracle-assisted", "session-", "slow-", "leak"))
    }
