"""Cards of sessions, states, shams and prompts."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection

import judge
from accounts.roles import Role
from benchmark.models import Judgement, Problem
from benchmark.providers import Message
from tests.tutoring.arms.arm_rows import store_problems
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest, start
from tests.tutoring.review.readings import claim, reading, recorded_session, submit
from tutoring.actions import CloseSession
from tutoring.arms.control_policies import NOT_CORRECT, TRY_AGAIN
from tutoring.arms.sham_hints import reviewed_hints
from tutoring.models import Event, Protocol, Review, Session
from tutoring.replay.cards import (
    CODE_NAMED,
    NO_HELP,
    NO_PROGRAM,
    NOT_COMPLIANT,
    NOT_REVIEWED,
    ONLY_CONTROLS,
    TOO_HIGH,
    UNKNOWN_PROBLEM,
    CardDraft,
    find_cards,
)
from tutoring.replay.planning import FIXED_TEXTS, PlannedState, arm_prompt, counted, shams_of
from tutoring.replay.programs import judge_program
from tutoring.review.content import MessageLabels
from tutoring.sessions.dialogue import model_messages, sent_text

pytestmark = pytest.mark.django_db


def test_the_machine_is_measured_before_the_transaction_of_a_judgement(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
):
    measure, outside, depths = judge.measure_speed, len(connection.savepoint_ids), []

    def measured() -> judge.MachineSpeed | None:
        depths.append(len(connection.savepoint_ids))
        return measure()

    monkeypatch.setattr("judge.measure_speed", measured)
    monkeypatch.setattr("benchmark.judging.perform", lambda _: None)
    judge_program(problem, WRONG, "python", purpose=Judgement.Purpose.VERDICT)
    assert depths == [outside], (
        "a transaction holds SQLite's write lock, and other processes give up after 20 s"
    )


def close(held: SessionUnderTest) -> None:
    CloseSession(session_id=held.pk, person=held.tutor, command=uuid4(), reason="stuck").execute()


def test_the_fixed_texts_are_those_of_the_control_arms():
    assert FIXED_TEXTS == {"neutral": TRY_AGAIN, "verdict": NOT_CORRECT}


@pytest.fixture
def problem() -> Problem:
    return store_problems(1)[0]


@pytest.fixture
def held(problem: Problem) -> SessionUnderTest:
    tutor = User.objects.create_user("tutor")
    tutor.groups.set(Group.objects.filter(name=Role.TUTOR))
    session = start(tutor, problem, Protocol.objects.get(name="usaco-2024"), "openai:m")
    return SessionUnderTest(session, tutor)


@pytest.mark.slow
def test_a_transplanted_prompt_equals_that_of_the_session_byte_for_byte(held: SessionUnderTest):
    held.ask_and_get(WRONG)
    held.say("Look at the empty list.", mode="code")
    sent = model_messages(held.events())
    held.reply(RIGHT)
    close(held)
    [card] = find_cards("first").cards
    prompt = arm_prompt(card.prefix, card.text, card.language)
    assert list(prompt.messages) == sent
    neutral = arm_prompt(card.prefix, TRY_AGAIN, card.language)
    assert neutral.messages[:-1] == prompt.messages[:-1]
    assert neutral.messages[-1].content == sent_text(TRY_AGAIN, "code", card.language)


def test_a_card_is_the_first_message_after_a_program(held: SessionUnderTest):
    held.ask_and_get(WRONG)
    held.say("What is the bound?", mode="talk")
    held.reply("It is 10.")
    held.say("Look at it again.")
    held.reply(WRONG)
    close(held)
    [card] = find_cards("first").cards
    assert (card.text, card.position, card.requested_code) == ("What is the bound?", 2, False)
    assert card.program in WRONG
    assert card.prefix[-1].role == "assistant"


def test_the_texts_of_the_control_arms_are_no_cards(held: SessionUnderTest):
    held.ask_and_get(WRONG)
    held.say(TRY_AGAIN, mode="code")
    held.reply(WRONG)
    held.say("Look at it again.")
    held.reply(WRONG)
    close(held)
    assert [card.text for card in find_cards("first").cards] == ["Look at it again."]


def test_a_session_of_a_control_arm_has_no_card(held: SessionUnderTest):
    held.ask_and_get(WRONG)
    held.say(NOT_CORRECT, mode="code")
    held.reply(WRONG)
    close(held)
    found = find_cards("first")
    assert (found.cards, counted(found.excluded)) == ([], {ONLY_CONTROLS: 1})


def test_every_session_without_a_card_is_counted_with_its_reason(held: SessionUnderTest):
    held.ask_and_get(WRONG)
    close(held)
    assert counted(find_cards("first").excluded) == {NO_PROGRAM: 1}
    assert counted(find_cards("primary").excluded) == {NOT_REVIEWED: 1}
    session = held.refresh()
    session.problem = None
    session.save()
    assert counted(find_cards("first").excluded) == {UNKNOWN_PROBLEM: 1}
    assert counted(find_cards("first", dataset="orchard").excluded) == {}


def reviewed(problem: Problem, *labels: tuple[str, int], messages: int = 3) -> None:
    """Store a session of that many messages with two equal reviews: clause and level of each message."""
    session = recorded_session(str(uuid4()), tuple(f"Message {number}." for number in range(messages)))
    session.problem = problem
    session.save()
    for name in ("first reviewer", "second reviewer"):
        person, _ = User.objects.get_or_create(username=name)
        person.groups.set(Group.objects.filter(name=Role.REVIEWER))
        content = reading(session, *(clause for clause, _ in labels))
        levelled = tuple(
            replace(one, level=level) for one, (_, level) in zip(content.messages, labels, strict=True)
        )
        submit(claim(person), replace(content, messages=levelled))


def test_a_primary_card_is_the_first_message_with_settled_help(problem: Problem):
    reviewed(problem, ("A6", 0), ("A2", 2), ("A3", 3))
    [card] = find_cards("primary").cards
    assert (card.text, card.labels.level, card.labels.stage) == ("Message 1.", 2, "planning")
    assert (card.labels.clauses, card.rule_set, card.position) == (("A2",), 1, 2)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (("A2", 4), TOO_HIGH),
        (("F2", 2), CODE_NAMED),
        (("F1", 2), NOT_COMPLIANT),
        (("A6", 0), NO_HELP),
    ],
)
def test_other_messages_are_left_out_with_their_reason(problem: Problem, label: tuple[str, int], reason: str):
    reviewed(problem, ("A6", 0), label, messages=2)
    found = find_cards("primary")
    assert (found.cards, counted(found.excluded)) == ([], {reason: 1})


def test_help_before_the_first_program_is_no_card(problem: Problem):
    reviewed(problem, ("A2", 2), ("A2", 2), messages=2)
    assert counted(find_cards("primary").excluded) == {NO_PROGRAM: 1}


def test_two_reviews_that_differ_in_level_settle_on_their_mean_and_common_labels(problem: Problem):
    reviewed(problem, ("A6", 0), ("A2", 3), messages=2)
    [card] = find_cards("primary").cards
    assert card.labels.level == 3
    review = card.event.session.reviews.order_by("slot")[0]
    review.content["messages"][1] |= {"level": 1, "stage": "coding"}
    review.save()
    [card] = find_cards("primary").cards
    assert (card.labels.level, card.labels.stage) == (2, "")


@pytest.mark.parametrize(("lower", "settled"), [(0, 1), (1, 2), (2, 3)])
def test_two_reviews_a_level_apart_settle_on_the_higher_one(problem: Problem, lower: int, settled: int):
    reviewed(problem, ("A6", 0), ("A2", lower + 1), messages=2)
    review = Review.objects.order_by("slot")[0]
    review.content["messages"][1] |= {"level": lower}
    review.save()
    Session.objects.update(origin=Session.Origin.TUTORED)
    [card] = find_cards("primary").cards
    [hint] = reviewed_hints(problem.dataset_id)
    assert (card.labels.level, hint.level) == (settled, settled)


def test_shams_have_the_nearest_level_and_length_of_other_problems():
    first, second, third = store_problems(3)

    def draft(problem: Problem, text: str, level: int | None) -> CardDraft:
        labels = MessageLabels(3, (), level)
        event = Event(session_id=uuid4(), seq=3)
        return CardDraft(
            event=event, problem=problem, language="python", prefix=(), text=text, requested_code=True,
            position=2, program="print()", distance=None, rule_set=1, labels=labels,
        )  # fmt: skip

    card = draft(first, "x" * 40, 2)
    near, long, high = draft(second, "y" * 41, 2), draft(third, "z" * 90, 2), draft(third, "z" * 40, 3)
    state = PlannedState(first, "python", (Message("user", "…"),), "print()", [card])
    assert shams_of(state, [card, high, long, near], 3) == [near, long, high]
    assert shams_of(state, [card, near], 4) == [near] * 4
