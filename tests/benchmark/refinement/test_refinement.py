"""Curves of Refine@K and their comparison with resampling, in the command and on the page."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.html import strip_tags
from hypothesis import given
from hypothesis import strategies as st

from benchmark.judging import store_submission
from benchmark.models import Dataset, Generation, Judgement, Problem, Run, WorkItem
from benchmark.reports.refinement import Refinement, curve_of


@given(st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=1, max_size=30))
def test_the_curve_counts_problems_solved_so_far_and_never_falls(accepted: list[int | None]) -> None:
    curve = curve_of([Refinement(str(n), one or 5, one) for n, one in enumerate(accepted)], 5)
    for k, point in enumerate(curve.points, 1):
        assert point.value == pytest.approx(
            sum(one is not None and one <= k for one in accepted) / len(accepted)
        )
        assert point.interval.low <= point.value <= point.interval.high
    solved = [one for one in accepted if one]
    assert curve.mean_attempts_per_solved == (pytest.approx(sum(solved) / len(solved)) if solved else None)


@given(st.integers(1, 5), st.lists(st.one_of(st.none(), st.integers(1, 15)), min_size=1, max_size=20))
def test_attempts_after_a_restart_never_raise_the_curve(k: int, accepted: list[int | None]) -> None:
    chains = [Refinement(str(n), one or 15, one, None, k) for n, one in enumerate(accepted)]
    curve = curve_of(chains, k)
    first = [Refinement(str(n), k, one if one and one <= k else None) for n, one in enumerate(accepted)]
    assert [point.value for point in curve.points] == [point.value for point in curve_of(first, k).points]
    assert curve.with_restarts
    assert curve.with_restarts.value == pytest.approx(curve.solved / len(accepted))


def test_several_chains_of_a_problem_share_its_weight() -> None:
    chains = [Refinement("a", 1, 1), Refinement("a", 2, None), Refinement("b", 2, 2)]
    assert [point.value for point in curve_of(chains, 2).points] == [0.25, 0.75]


def test_the_number_of_chains_and_not_their_outcomes_determines_the_interval() -> None:
    single = [Refinement("a", 1, 1), Refinement("b", 1, None)]
    assert [curve_of(chains, 1).points[0].method for chains in (single, single * 2)] == ["wilson", "t"]


def make_run(
    dataset: Dataset, method: str, attempts: int, chains: Sequence[Sequence[str]], **parameters: Any
) -> Run:
    """Store a run with a problem for each entry: verdicts of a refine chain (100 tokens each) or attempts (50)."""
    refining = method == "refine"
    run = Run.objects.create(
        dataset=dataset,
        method=method,
        model_spec="openai:m",
        attempts=attempts,
        parameters=parameters,
        manifest={},
    )
    for number, verdicts in enumerate(chains):
        problem, _ = Problem.objects.get_or_create(
            dataset=dataset,
            external_id=f"p{number}",
            defaults={"title": f"Problem {number}", "time_limit": 1, "memory_limit": 1, "checker": {}},
        )
        item = None
        for step, verdict in enumerate(verdicts):
            judgement = Judgement.objects.create(
                submission=store_submission(problem, f"{method} {step}", "cpp23"),
                suite="all", policy="fair", state="done", verdict=verdict, result={"tests": []},
            )  # fmt: skip
            if item is None or not refining:
                item = WorkItem.objects.create(
                    run=run, problem=problem, chain=0 if refining else step, state="done"
                )
            item.judgement = judgement
            item.save()
            Generation.objects.create(
                work_item=item, step=step, purpose="repair" if refining and step else "solve", messages=[],
                parameters={}, text=f"answer {step}", code=f"program {step}", latency=1,
                input_tokens=60 if refining else 30, output_tokens=40 if refining else 20,
                hidden_judgement=judgement if refining else None,
            )  # fmt: skip
    return run


@pytest.mark.django_db
def test_a_run_beside_resampling_at_the_same_k_and_the_same_tokens(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = Dataset.objects.create(name="eval", format="icpc-eval")
    cpp = {"language": "cpp23", "policy": "compat"}
    refined = make_run(
        dataset, "refine", 1, [["WA", "AC"], ["WA", "TLE"], ["AC"]], k=2, g=1, history="last", **cpp
    )
    attempts = [["WA", "WA", "WA", "AC"], ["WA"] * 4, ["AC", "WA", "WA", "WA"]]
    resampled = make_run(dataset, "zero-shot", 4, attempts, language="python", policy="compat")
    call_command("refinement", str(refined.pk), "--against", str(resampled.pk), "--json")
    [document] = json.loads(capsys.readouterr().out)["refinements"]
    assert [point["value"] for point in document["refine"]] == pytest.approx([1 / 3, 2 / 3])
    assert (document["mean_attempts_per_solved"], document["tokens"]) == (1.5, 500)
    against = document["against"]
    assert against["pass_same_k"]["value"] == pytest.approx((0.5 + 0 + 0.5) / 3)
    # 200 tokens pay for four attempts of 50, 100 for two.
    assert against["pass_same_tokens"]["value"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert against["capped"] == 0
    assert against["differing_settings"] == ["language: cpp23 and python"]

    Generation.objects.filter(work_item__run=resampled, step=0).update(output_tokens=None)
    call_command("refinement", str(refined.pk), "--against", str(resampled.pk))
    out = capsys.readouterr().out
    assert "unknown: tokens were not reported" in out
    assert "differ in settings, not only in the method: language: cpp23 and python" in out
    with pytest.raises(CommandError, match="a curve needs a run of refine"):
        call_command("refinement", str(resampled.pk))

    person = User.objects.create_user("rosa")
    client.force_login(person)
    address = f"/runs/{refined.pk}/refinement/"
    assert client.get(address).status_code == 403
    person.groups.add(Group.objects.get_or_create(name="researcher")[0])
    page = client.get(address, {"against": str(resampled.pk)}).content.decode()
    assert "2 of 3 chains over 3 problems" in strip_tags(page)
    assert "unknown: the provider reported no tokens" in page
    assert "The runs differ in settings, not only in the method: language: cpp23 and python." in page
    leaderboard = f"?dataset={dataset.name}"
    Run.objects.update(state=Run.State.FINISHED)
    link = f"/runs/{refined.pk}/refinement/?against={resampled.pk}"
    Generation.objects.filter(work_item__run=resampled, step=0).update(output_tokens=20)
    assert link not in client.get(f"/runs/{leaderboard}").content.decode(), "it has another language"
    Run.objects.filter(pk=resampled.pk).update(parameters=cpp)
    assert link in client.get(f"/runs/{leaderboard}").content.decode()
    assert client.get(f"/runs/{resampled.pk}/refinement/").status_code == 404
    chain = client.get(f"/runs/chains/{refined.items.get(problem__external_id='p0').pk}/").content.decode()
    assert "Repair attempt" in chain
    assert chain.count("prompt of the next attempt contains this verdict only") == 1, (
        "nobody asks after the accepted attempt"
    )
    assert chain.count("not shown to the model") == 1
