"""Stored runs of the arms of slow programs, without a model, a judge or a measurement."""

from dataclasses import replace
from typing import Any

from benchmark.growth.examples import QUADRATIC
from benchmark.growth.fitting import Fit, Point
from benchmark.growth.measuring import Growth
from benchmark.judging import store_submission
from benchmark.methods.slow import STARTS
from benchmark.models import Dataset, Generation, GrowthCurve, Judgement, Problem, Run, WorkItem

SLOW = "# slow\nprint(1)\n"


def growth(slope: float, factor: float) -> Growth:
    """Return a growth of this slope whose times are `factor` times those of the example."""
    [series] = QUADRATIC.series
    points = tuple(Point(one.size, tuple(factor * time for time in one.times)) for one in series.points)
    fit = Fit(slope, slope - 0.1, slope + 0.1, -18.4, 0.02, series.fit.sizes if series.fit else ())
    return replace(QUADRATIC, series=(replace(series, points=points, fit=fit),))


def store_curve(problem: Problem, source: str, found: Growth, **columns: Any) -> GrowthCurve:
    """Store a measured curve of a program."""
    values = {
        "recipe_hash": "1",
        "judge_version": "j",
        "state": GrowthCurve.State.DONE,
        "points": found.to_json(),
    }
    return GrowthCurve.objects.create(
        submission=store_submission(problem, source, "python"), **values | columns
    )


def store_slow_problems(number: int) -> list[Problem]:
    """Store problems of one dataset, each with a measured slow program."""
    dataset = Dataset.objects.create(name="slow", format="icpc")
    problems = [
        Problem.objects.create(
            dataset=dataset, external_id=f"p{place:02}", title=f"Problem {place}", statement="", time_limit=1,
            memory_limit=2**28, checker={}, content_hash="0" * 64,
        )
        for place in range(number)
    ]  # fmt: skip
    for problem in problems:
        store_curve(problem, SLOW, QUADRATIC)
    return problems


def store_slow_run(
    arm: str, chains: dict[Problem, list[str]], *, tokens: int | None = 10, right: bool = True, **columns: Any
) -> Run:
    """Store a run of `slow-<arm>`: a chain for each problem, with one repair for each verdict.

    Each repair uses `tokens` input tokens and as many output tokens. A chain without verdicts is pending.
    """
    starts = {
        problem.external_id: [{"submission": store_submission(problem, SLOW, "python").pk, "right": right}]
        for problem in chains
    }
    run = Run.objects.create(
        **{
            "dataset": next(iter(chains)).dataset,
            "method": f"slow-{arm}",
            "model_spec": "openai:m",
            "parameters": {"language": "python", "r": 3, "starts": 1},
            "manifest": {"prepared": {STARTS: starts}, "scripted_model": False},
            "state": "finished",
        }
        | columns
    )
    for problem, verdicts in chains.items():
        item = WorkItem.objects.create(run=run, problem=problem, chain=0)
        if verdicts:
            _add_replies(item, arm, verdicts, tokens)
    return run


def repaired(arm: str, verdict: str, step: int) -> str:
    """Return the program of a repair."""
    return f"# {arm} {step} {verdict}\n"


def _add_replies(item: WorkItem, arm: str, verdicts: list[str], tokens: int | None) -> None:
    common = {"work_item": item, "messages": [], "parameters": {}, "text": "", "latency": 0.0}
    Generation.objects.create(
        **common, step=0, purpose="recorded", code=SLOW, input_tokens=0, output_tokens=0
    )
    for step, verdict in enumerate(verdicts, 1):
        code = "" if verdict == "NO_CODE" else repaired(arm, verdict, step)
        judgement = None
        if code:
            judgement = Judgement.objects.create(
                submission=store_submission(item.problem, code, "python"), suite="all", policy="fair", state="done",
                verdict=verdict, problem_hash="0" * 64,
            )  # fmt: skip
        item.selected = Generation.objects.create(
            **common, step=step, purpose="repair", code=code, hidden_judgement=judgement, input_tokens=tokens,
            output_tokens=tokens,
        )  # fmt: skip
    item.state, item.judgement = WorkItem.State.DONE, judgement
    item.save()
