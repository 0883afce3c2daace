"""Automatic sessions beside those of people: plans, yoked chains, sham hints, lists, reviews and figures."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.roles import Role
from benchmark.functional import Signature
from benchmark.judging import request_judgement, store_submission
from benchmark.methods import METHODS, SettingsError
from benchmark.models import Generation, Judgement, Problem, Run, WorkItem
from benchmark.prompts import VisibleProblem
from benchmark.providers import parse_model_spec
from benchmark.runner import CannotRunError, RunPlan, RunScope, plan_run
from tests.problems import HIDDEN_INPUT
from tests.tutoring.arms.chains import GivenReplies
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, TALK, WRONG, SessionUnderTest, start
from tutoring.actions import record_verdict
from tutoring.arms import control_policies as control
from tutoring.arms.policy import result_of
from tutoring.arms.projection import project
from tutoring.arms.sham_hints import HINTS
from tutoring.arms.transcript import hold_session
from tutoring.models import Event, Protocol, Review, ReviewOutcome, Session
from tutoring.models.payloads import MessageSent
from tutoring.protocols import freeze, rules_of
from tutoring.review.content import Content, MessageLabels
from tutoring.review.slots import waiting_for_review
from tutoring.review.solve_rates import solve_rates
from tutoring.rules import current_rule_set
from tutoring.sweeps import check_automatic_sessions

MODEL = "openai:m"


def plan(method: str, problem: Problem, attempts: int = 1, **settings: Any) -> RunPlan:
    chosen = METHODS[method]
    scope = RunScope(attempts=attempts, first_draw=None)
    return plan_run(problem.dataset, parse_model_spec(MODEL), chosen, chosen.settings(**settings), scope)


@pytest.fixture
def held(alice: User, doubling: Problem, protocol: Protocol) -> SessionUnderTest:
    """A closed session of Alice: talk, a wrong program, a hint, a right program, an execution."""
    session = SessionUnderTest(start(alice, doubling, protocol, MODEL), alice)
    session.say("Read the statement first.")
    session.reply(TALK)
    session.ask_and_get(WRONG)
    session.say("Multiply by another number.", mode="code")
    session.reply(RIGHT)
    session.execute()
    judgement = Judgement.objects.get()
    Judgement.objects.filter(pk=judgement.pk).update(
        state="done", verdict="AC", passed=3, total=3, result={"tests": []}, finished_at=timezone.now()
    )
    judgement.refresh_from_db()
    record_verdict(judgement)
    session.row.refresh_from_db()
    return session


def finished(method: str, problem: Problem, *texts: str) -> tuple[Run, WorkItem]:
    """Return a run with one finished item, whose replies have these texts and are judged."""
    run = Run.objects.create(
        dataset=problem.dataset,
        method=method,
        model_spec=MODEL,
        parameters={"language": "python", "protocol": "usaco-2024@1"},
        manifest={"prepared": dict(plan(method, problem).prepared)},
    )
    item = WorkItem.objects.create(run=run, problem=problem, chain=0)
    for step, text in enumerate(texts):
        code = text.partition("```python\n")[2].partition("\n```")[0]
        judgement = None
        if code:
            judgement = request_judgement(
                store_submission(problem, code, "python"), stop_at_first_failure=False
            )
            right = "2 *" in code
            judgement.state, judgement.verdict = "done", "AC" if right else "WA"
            judgement.passed, judgement.total = (3 if right else 0), 3
            judgement.result = {"tests": [], "compiler_output": ""}
            judgement.finished_at = timezone.now()
            judgement.save()
        Generation.objects.create(
            work_item=item,
            step=step,
            purpose="session",
            messages=[],
            prompt_hash="x",
            template_hash="x",
            parameters={},
            text=text,
            code=code,
            latency=1.5,
            hidden_judgement=judgement,
            finish_reason="stop",
        )
    item.state = WorkItem.State.DONE
    item.save()
    return run, item


def test_arm_leaves_functional_problems_out_under_a_protocol_for_another_language(
    doubling: Problem, protocol: Protocol
) -> None:
    freeze("cpp", rules_of(protocol).with_settings(language="cpp"))
    doubling.signature = Signature("double", ("int",), "int").to_json()
    doubling.save()
    with pytest.raises(CannotRunError, match="asks for a method in Python"):
        plan("session-neutral", doubling, protocol="cpp")
    assert not plan("session-neutral", doubling).skipped


def test_a_projection_is_made_once_and_reuses_the_judgements(doubling: Problem) -> None:
    run, item = finished("session-verdict", doubling, WRONG, RIGHT)
    [session] = project(run, [item])
    assert project(run, [item]) == []
    assert session.outcome == "solved"
    assert [score.judgement for score in session.program_scores.order_by("generation")] == [
        answer.hidden_judgement for answer in Generation.objects.order_by("step")
    ]
    assert (session.code_generations, session.executions, session.number) == (2, 1, 1)
    times = [at for at in session.events.order_by("seq").values_list("at", flat=True) if at is not None]
    assert len(times) == session.events.count()
    assert times == sorted(times)
    check_automatic_sessions()
    check_automatic_sessions()
    assert session.rule_checks.count() == 1


@pytest.mark.slow
def test_automatic_sessions_are_reviewed_blind_and_left_out_of_the_rates_of_people(
    doubling: Problem, held: SessionUnderTest, rita: User, rosa: User, alice: User, client: Client
) -> None:
    run, item = finished("session-verdict", doubling, WRONG, RIGHT)
    [session] = project(run, [item])
    waiting = waiting_for_review(rita, current_rule_set().version, timezone.now())
    assert {one.pk for one in waiting} == {session.pk, held.pk}
    assert [(row.attempt, row.all_sessions.sessions) for row in solve_rates(current_rule_set().version)] == [
        ("first", 1)
    ]
    by = set(session.events.exclude(by="").values_list("by", flat=True))
    assert len(by) == 1
    assert by.pop().startswith("person-")

    client.force_login(rita)
    for page in (reverse("trajectories"), reverse("trajectory", args=[session.pk])):
        text = client.get(page).content.decode()
        assert "automatic" not in text
        assert str(run.pk) not in text
    assert str(session.pk) in client.get(f"{reverse('trajectories')}?origin=tutored").content.decode()
    client.force_login(rosa)
    assert "automatic" in client.get(reverse("trajectory", args=[session.pk])).content.decode()
    client.force_login(alice)
    assert client.get(reverse("session", args=[session.pk])).status_code == 404
    assert str(session.pk) not in client.get(reverse("sessions")).content.decode()


def test_a_yoked_chain_begins_with_the_sessions_first_program_and_has_as_many_generations(
    doubling: Problem, held: SessionUnderTest
) -> None:
    planned = plan("session-neutral", doubling, from_first="all")
    assert planned.attempts == 1
    assert planned.chains == {"doubling": 1}
    [start_of_chain] = planned.prepared["from_first"]["doubling"]
    assert start_of_chain == {"session": str(held.pk), "generations": 2}
    chain = GivenReplies(VisibleProblem.of(doubling), planned.prepared, iter([WRONG]))
    transcript = result_of(hold_session(chain, control.NEUTRAL))
    texts = [one.text for one in transcript.payloads if isinstance(one, MessageSent)]
    assert texts == ["Read the statement first.", "Try it.", "Please try again."]
    assert [answer.purpose for answer in transcript.answers.values()] == ["recorded", "recorded", "session"]
    assert len(transcript.programs) == 2


def test_a_limit_of_yoked_chains_needs_sessions_to_begin_with(doubling: Problem) -> None:
    with pytest.raises(
        SettingsError, match="yoked_chains: without from_first no chain begins with a session"
    ):
        plan("session-neutral", doubling, yoked_chains=1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_spec": "openai:other"}, "its model is openai:other, not openai:m"),
        ({"invalidated": True}, "No session fits"),
    ],
)
def test_sessions_that_cannot_begin_a_chain_are_named(
    doubling: Problem, held: SessionUnderTest, change: dict[str, Any], reason: str
) -> None:
    Session.objects.filter(pk=held.pk).update(**change)
    with pytest.raises(SettingsError, match=reason):
        plan("session-neutral", doubling, from_first="all")


@pytest.mark.slow
def test_the_sham_arm_says_reviewed_hints_of_other_problems_each_once(
    person: PersonFactory, doubling: Problem, protocol: Protocol, alice: User
) -> None:
    for number in range(5):
        other = store_other(doubling, f"other-{number}")
        session = SessionUnderTest(start(alice, other, protocol, MODEL), alice)
        session.say(f"Hint number {number}, of some length.", mode="code")
        session.reply(RIGHT)
        review(session.row, person, level=1 + number % 2)
    planned = plan("session-sham", doubling)
    [drawn] = planned.prepared[HINTS]["doubling"]
    assert len(set(drawn)) == 4
    again = plan("session-sham", doubling)
    assert again.prepared[HINTS] == planned.prepared[HINTS]
    chain = GivenReplies(VisibleProblem.of(doubling), planned.prepared, iter([WRONG] * 5))
    transcript = result_of(hold_session(chain, control.SHAM))
    said = [one.text for one in transcript.payloads if isinstance(one, MessageSent)]
    assert said[0] == ""
    assert len(set(said[1:])) == 4
    assert all(text.startswith("Hint number") for text in said[1:])
    assert str(HIDDEN_INPUT) not in str(chain.prompts)


def store_other(like: Problem, name: str) -> Problem:
    problem = Problem.objects.get(pk=like.pk)
    tests = list(problem.tests.all())
    problem.pk = None
    problem.external_id = name
    problem.save()
    for test in tests:
        test.pk = None
        test.problem = problem
        test.save()
    return problem


def review(session: Session, person: PersonFactory, level: int) -> None:
    """Store two compliant reviews of the session, whose messages have this level."""
    seqs = [event.seq for event in session.events.filter(kind=Event.Kind.MESSAGE)]
    content = Content(tuple(MessageLabels(seq, ("A6",), level, "planning") for seq in seqs), "compliant")
    version = current_rule_set().version
    for slot in Review.INDEPENDENT:
        reviewer = person(f"reviewer-{uuid4().hex[:8]}", Role.REVIEWER)
        Review.objects.create(
            session=session,
            rule_set=version,
            reviewer=reviewer,
            slot=slot,
            state=Review.State.SUBMITTED,
            content=content.to_json(),
            opened_at=timezone.now(),
            submitted_at=timezone.now(),
        )
    ReviewOutcome.objects.create(session=session, rule_set=version, verdict="compliant", at=timezone.now())
