"""manage.py arms and the page, over stored rows: figures, what is left out, and what is refused."""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from benchmark.judging import store_submission
from benchmark.models import Judgement, Problem, Run
from tests.tutoring.arms.arm_rows import store_arm, store_problems, store_session
from tutoring.arms.figures.chains import store_chains
from tutoring.arms.figures.rows import _counted
from tutoring.models import ArmChains, Protocol, ReviewOutcome, Session
from tutoring.rules import current_rule_set


@pytest.fixture
def problems(db: None) -> list[Problem]:
    return store_problems(8)


@pytest.fixture
def other_protocol(db: None) -> Protocol:
    return Protocol.objects.get(name="icpc-2025")


def figures(capsys: pytest.CaptureFixture[str], *runs: Run, human: str = "all", rule: str = "perfect") -> Any:
    call_command("arms", "--json", "--human", human, "--rule", rule, *[str(run.pk) for run in runs])
    return json.loads(capsys.readouterr().out)


def refusal(*runs: Run, human: str = "all") -> str:
    with pytest.raises(CommandError) as refused:
        call_command("arms", "--human", human, *[str(run.pk) for run in runs])
    return str(refused.value)


def solve_rate(document: Any, arm: str, rule: str | None) -> float:
    [found] = [one["share"] for one in document["rates"] if (one["arm"], one["rule"]) == (arm, rule)]
    return float(found)


def test_stopping_rules_brackets_and_the_ladder(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User
) -> None:
    neutral = store_arm("neutral", {one: ["WAW", "WSA", "WWA", "WWW"] for one in problems}, protocol=protocol)
    again = store_arm("again", {one: ["WAW", "WWW"] for one in problems}, protocol=protocol)
    analysis = store_arm("analysis", {one: ["A"] for one in problems}, protocol=protocol)
    for one in problems:
        store_session(alice, one, protocol, solved=one != problems[0], generations=2)
    document = figures(capsys, analysis, neutral, again)
    rates = [solve_rate(document, "neutral", rule) for rule in ("last", "samples", "perfect")]
    assert rates == [0.5, 0.5, 0.75]
    assert solve_rate(document, "people", None) == 7 / 8
    guidance, verification = document["gains"]
    assert (guidance["difference"], verification["difference"]) == pytest.approx((1 / 8, 3 / 8))
    assert (guidance["problems"], guidance["first_sessions"], guidance["second_sessions"]) == (8, 8, 32)
    titles = [step["title"] for step in document["ladder"]]
    assert titles == ["again → neutral", "neutral → people", "people → analysis"]
    [attributable] = [one for one in document["ratios"] if "neutral/perfect" in one["title"]]
    assert attributable["ratio"] == pytest.approx(1 - 0.75 / (7 / 8))
    # One of six independent samples is right, so six samples solve every problem.
    assert document["equivalent_samples"]["most"] == 6
    assert document["equivalent_samples"]["least"] == 6
    assert document["equivalent_samples"]["set"][-1][1] is None
    [cut] = document["yoked"]
    assert cut["difference"] == pytest.approx(7 / 8 - 1 / 4)
    assert figures(capsys, neutral, rule="last")["ladder"][0]["difference"] == pytest.approx(7 / 8 - 1 / 2)


def test_single_pairs_have_newcombes_interval_and_few_problems_no_test(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User
) -> None:
    outcomes = {one: ["A" if place % 2 else "W"] for place, one in enumerate(problems)}
    neutral = store_arm("neutral", outcomes, protocol=protocol)
    for one in problems[:5]:
        store_session(alice, one, protocol, solved=True)
    gain = figures(capsys, neutral)["gains"][0]
    assert (gain["method"], gain["p"], gain["problems"]) == ("newcombe", None, 5)
    store_session(alice, problems[5], protocol, solved=True)
    gain = figures(capsys, neutral)["gains"][0]
    assert (gain["method"], gain["p"]) == ("newcombe", 0.25)
    assert 0.5 < gain["detectable"] <= 1


def test_compliant_sessions_have_figures_of_their_own(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User
) -> None:
    neutral = store_arm("neutral", {one: ["W"] for one in problems}, protocol=protocol)
    version = current_rule_set().version
    for place, one in enumerate(problems):
        pk = store_session(alice, one, protocol, solved=place < 4)
        verdict = "compliant" if place < 6 else "major"
        ReviewOutcome.objects.create(session_id=pk, rule_set=version, verdict=verdict, at=timezone.now())
    selections = {
        one["selection"]: one for one in figures(capsys, neutral)["gains"] if "perfect" in one["second"]
    }
    assert selections["all sessions"]["difference"] == 0.5
    compliant = selections["sessions that reviews found compliant"]
    assert (compliant["problems"], compliant["difference"]) == (6, pytest.approx(4 / 6))


def test_rows_that_cannot_be_paired_are_counted_with_reasons(
    capsys: pytest.CaptureFixture[str],
    problems: list[Problem],
    protocol: Protocol,
    other_protocol: Protocol,
    alice: User,
    bob: User,
) -> None:
    manifest = {"left_out": [{"id": "p09", "reason": "it has no analysis"}]}
    analysis = store_arm(
        "analysis", {one: ["A"] for one in problems[:6]}, protocol=protocol, manifest=manifest
    )
    analysis.items.create(problem=problems[6], chain=0, state="failed", fault="timeout")
    analysis.items.create(problem=problems[7], chain=0, state="failed", permanent=True)
    Session.objects.filter(work_item__run=analysis, problem=problems[5]).update(invalidated=True)
    store_session(alice, problems[0], protocol, solved=True)
    store_session(alice, problems[1], other_protocol, solved=True)
    store_session(alice, problems[2], protocol, solved=True, model_spec="openai:other")
    store_session(alice, problems[3], protocol, solved=True, problem_hash="f" * 64)
    store_session(alice, problems[4], protocol, solved=True, invalidated=True)
    store_session(alice, problems[6], protocol, solved=True)
    store_session(bob, problems[0], protocol, solved=False, number=2)
    document = figures(capsys, analysis)
    assert {(one["arm"], one["count"], one["reason"]) for one in document["left_out"]} == {
        ("analysis", 1, "a fault of the provider or the judge"),
        ("analysis", 1, "the provider rejects the request"),
        ("analysis", 1, "invalidated"),
        ("analysis", 1, "it has no analysis"),
        ("people", 1, "another protocol than usaco-2024 v1"),
        ("people", 1, "another model or other parameters than openai:m"),
        ("people", 1, "the problem has another version than in the runs"),
        ("people", 1, "invalidated"),
        ("people", 1, "no run has a session on the problem"),
        ("people", 1, "a later attempt of the same person (attempt=any counts it)"),
    }
    assert all(one["rows"] for one in document["left_out"])
    assert document["matrix"][0]["arms"]["people"]["sessions"] == 1
    both = figures(capsys, analysis, human="attempt=any")
    assert both["matrix"][0]["arms"]["people"] | {"rows": ""} == {"solved": 1, "sessions": 2, "rows": ""}


def test_filters_select_sessions(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User, bob: User
) -> None:
    neutral = store_arm("neutral", {one: ["W"] for one in problems}, protocol=protocol)
    first = store_session(alice, problems[0], protocol, solved=True)
    store_session(bob, problems[1], protocol, solved=True)
    by = Session.objects.get(pk=first).events.get().by
    for human, sessions in (
        ("all", 2),
        (f"tutor={by}", 1),
        ("protocol=usaco-2024@1,model=openai:m", 2),
        (f"session={first}", 1),
        ("since=2020-01-01", 2),
    ):
        [people] = [one for one in figures(capsys, neutral, human=human)["rates"] if one["arm"] == "people"]
        assert people["sessions"] == sessions, human
    for human in ("until=2020-01-01", "protocol=icpc-2025", "attempt=later"):
        assert refusal(neutral, human=human).endswith(f"No session of a person fits {human!r}.")


def test_a_changed_problem_is_compared_only_in_its_version(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User
) -> None:
    for one in problems:
        store_session(alice, one, protocol, solved=True)
    Problem.objects.filter(pk=problems[0].pk).update(content_hash="e" * 64)
    neutral = store_arm("neutral", {one: ["W"] for one in problems}, protocol=protocol)
    document = figures(capsys, neutral)
    assert document["gains"][0]["problems"] == 7
    assert [one["reason"] for one in document["left_out"]] == [
        "the problem has another version than in the runs"
    ]


@pytest.mark.parametrize("first", ["neutral", "analysis"])
def test_runs_before_and_after_a_change_are_compared_in_the_version_of_the_first(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User, first: str
) -> None:
    store_session(alice, problems[1], protocol, solved=True)
    runs = {}
    for arm, version in (("neutral", "d" * 64), ("analysis", "e" * 64)):
        Problem.objects.filter(pk=problems[0].pk).update(content_hash=version)
        runs[arm] = store_arm(arm, {one: ["W"] for one in problems}, protocol=protocol)
        judged = Judgement.objects.create(
            submission=store_submission(problems[0], arm, "python"), problem_hash=version, verdict="WA"
        )
        Session.objects.filter(work_item__run=runs[arm], problem=problems[0]).update(judgement=judged)
    other = "analysis" if first == "neutral" else "neutral"
    [left_out] = figures(capsys, runs[first], runs[other])["left_out"]
    assert (left_out["arm"], left_out["count"], left_out["reason"]) == (
        other,
        1,
        "the problem has another version than in the first run",
    )


def test_yoked_chains_are_paired_with_their_sessions(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User, bob: User
) -> None:
    sessions = {one: store_session(alice, one, protocol, solved=True) for one in problems}
    starts = {one.external_id: [{"session": str(pk), "generations": 5}] for one, pk in sessions.items()}
    starts["p00"].append({"session": str(uuid4()), "generations": 5})
    outcomes = {one: ["WA" if place < 2 else "WW"] for place, one in enumerate(problems)}
    outcomes[problems[0]].append("WW")
    yoked = store_arm("neutral", outcomes, protocol=protocol, prepared={"from_first": starts})
    store_session(bob, problems[0], protocol, solved=False)
    document = figures(capsys, yoked)
    [found] = document["yoked"]
    assert (found["problems"], found["first_sessions"], found["difference"]) == (8, 8, pytest.approx(6 / 8))
    assert (found["method"], document["gains"]) == ("newcombe", [])
    [left_out] = document["left_out"]
    assert (left_out["arm"], left_out["count"]) == ("neutral, yoked", 1)


def test_bad_input_is_refused_with_a_sentence(
    problems: list[Problem], protocol: Protocol, other_protocol: Protocol, alice: User
) -> None:
    neutral = store_arm("neutral", {one: ["W"] for one in problems}, protocol=protocol)
    assert refusal(neutral).startswith("There is nothing to compare: fewer than two of the arms")
    store_session(alice, problems[0], protocol, solved=True)
    with pytest.raises(CommandError, match="There is no run 'nothing'"):
        call_command("arms", "--human", "all", "nothing")
    assert "'mood=good' is not a condition" in refusal(neutral, human="mood=good")
    zero_shot = Run.objects.create(
        dataset=neutral.dataset, method="zero-shot", model_spec="openai:m", parameters={}, manifest={}
    )
    assert "is a run of zero-shot, which is not an arm. The arms are: session-again" in refusal(zero_shot)
    elsewhere = store_arm("again", {one: ["W"] for one in problems}, protocol=other_protocol)
    assert "The runs have different protocols" in refusal(neutral, elsewhere)
    assert "icpc-2025 v1. Compare runs of one protocol." in refusal(neutral, elsewhere)
    stranger = store_arm("again", {one: ["W"] for one in problems}, protocol=protocol, model_spec="openai:x")
    assert "The runs have different models or parameters" in refusal(neutral, stranger)
    second = store_arm("neutral", {one: ["W"] for one in problems}, protocol=protocol)
    assert "are both runs of session-neutral. Name one of them." in refusal(neutral, second)


def test_the_page_shows_figures_and_links(
    client: Client, problems: list[Problem], protocol: Protocol, alice: User, rosa: User
) -> None:
    client.force_login(rosa)
    assert "There is no run of an arm yet." in client.get("/runs/arms/").content.decode()
    neutral = store_arm("neutral", {one: ["WA", "WW"] for one in problems}, protocol=protocol, state="open")
    assert f'value="{neutral.pk}"' in client.get("/runs/arms/").content.decode()
    for place, one in enumerate(problems):
        store_session(alice, one, protocol, solved=place > 0)
    page = client.get(f"/runs/arms/?run={neutral.pk}").content.decode()
    assert "A control: the tutor only says that the model should try again." in page
    assert "neutral: the run is open, not finished." in page
    assert re.search(r'class="interval">[+−]\d+ to [+−]\d+<', page)
    assert 'class="interval">-' not in page
    assert f'<a href="/runs/{neutral.pk}/items/?problem=p03">1 of 2</a>' in page
    assert page.count('href="/trajectories/?people=session%3D') == 8
    cell = Session.objects.get(tutor=alice, problem=problems[3])
    rows = client.get(f"/trajectories/?people=session%3D{cell.pk}").content.decode()
    assert rows.count('class="row-link"') == 1
    assert client.get(f"/runs/arms/?run={neutral.pk}&rule=moody").status_code == 400
    refused = client.get(f"/runs/arms/?run={neutral.pk}&people=mood%3Dgood")
    assert refused.status_code == 400
    assert "&#x27;mood=good&#x27; is not a condition" in refused.content.decode()


def test_the_number_of_queries_does_not_depend_on_the_number_of_sessions(
    client: Client,
    problems: list[Problem],
    protocol: Protocol,
    alice: User,
    rosa: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client.force_login(rosa)
    runs = [
        store_arm(arm, {one: ["WAWWW", "WWWWS"] * 5 for one in problems}, protocol=protocol)
        for arm in ("again", "neutral", "verdict")
    ]
    for one in problems:
        store_session(alice, one, protocol, solved=True)
    address = "/runs/arms/?" + "&".join(f"run={run.pk}" for run in runs)
    with django_assert_max_num_queries(25):
        assert client.get(address).status_code == 200


def test_workers_store_the_chains_of_finished_runs_and_stale_counts_are_not_read(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], protocol: Protocol, alice: User
) -> None:
    outcomes = {one: ["WAW", "WWW"] for one in problems}
    neutral = store_arm("neutral", outcomes, protocol=protocol, finished_at=timezone.now())
    for one in problems:
        store_session(alice, one, protocol, solved=True)
    plain = figures(capsys, neutral)
    store_chains()
    row = ArmChains.objects.get()
    assert (row.chains, sum(row.outcomes[str(problems[0].pk)].values())) == (16, 2)
    _counted.cache_clear()
    assert figures(capsys, neutral) == plain
    # A page reads the stored counts,
    ArmChains.objects.update(counts={problems[0].pk: [2, 2, 2, 2]})
    _counted.cache_clear()
    assert figures(capsys, neutral)["gains"][0]["problems"] == 1
    # but not those of another state, which the next sweep replaces.
    Session.objects.filter(work_item__run=neutral, problem=problems[0], number=1).update(invalidated=True)
    assert solve_rate(figures(capsys, neutral), "neutral", "perfect") == pytest.approx(7 / 16)
    store_chains()
    assert ArmChains.objects.get().outcomes[str(problems[0].pk)] == {"WWW": 1}


def test_only_readers_of_figures_may_filter_by_origin(
    client: Client, problems: list[Problem], protocol: Protocol, alice: User, rita: User, rosa: User
) -> None:
    neutral = store_arm("neutral", {one: ["W"] for one in problems}, protocol=protocol)
    store_session(alice, problems[0], protocol, solved=True)
    for person, shown in ((rita, 9), (rosa, 1)):
        client.force_login(person)
        page = client.get("/trajectories/?people=all").content.decode()
        assert page.count('class="row-link"') == shown
    assert client.get("/trajectories/?people=mood").status_code == 400
    assert client.get("/trajectories/?run=nothing").status_code == 400
    assert client.get(f"/trajectories/?run={neutral.pk}").content.decode().count('class="row-link"') == 8
