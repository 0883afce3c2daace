"""Spending caps on sessions: refusals for tutors, queued replies, and the cost of every reply in the ledger."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.roles import Role
from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Price, Spending
from benchmark.model_calls.ledger import Account
from benchmark.models import DailySpend, LanguageModel, Problem
from benchmark.providers import Completed, TokenUsage
from tests.fake_providers import FakeProviders, Script, failure
from tests.tutoring.dialogues import TALK, SessionUnderTest, model, start
from tutoring.actions import AskAgain, CloseSession
from tutoring.checks import model_checking
from tutoring.effort.projection import project_efforts
from tutoring.models import Draft, Event, Protocol, Reply, RuleCheck, Session, SessionEffort
from tutoring.protocols import freeze, rules_of
from tutoring.replies.claimed_reply import ClaimedReply
from tutoring.replies.claims import MAXIMUM_ATTEMPTS, claim_replies, restart_reply
from tutoring.replies.endings import fail_reply, finish_reply, persist_answer
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.pieces import Delta, append_deltas
from tutoring.replies.streamer import ActiveReply, Streamer
from tutoring.sessions.context import RefusedError
from tutoring.sessions.spending import SPENDING_LIMIT

TYPED = {"input": 1000.0, "output": 2000.0}
COST = 10 * 1000 + 5 * 2000
"""Micro-dollars of a reply of `SessionUnderTest`."""
LIMIT = (
    "The spending limit of this site is reached, so no reply can be requested now. Your text is kept. Please tell an "
    "admin."
)


@pytest.fixture
def priced(session: SessionUnderTest) -> SessionUnderTest:
    """Return a session whose model has a price."""
    LanguageModel.objects.update(price=TYPED)
    return session


def spent() -> tuple[int, int, int]:
    """Return calls, micro-dollars and calls of unknown cost of the one row of the ledger."""
    row = DailySpend.objects.get()
    assert (row.model_spec, row.study_key) == ("openai:hidden-model-name", "")
    return row.calls, row.microdollars, row.calls_of_unknown_cost


def test_a_message_under_a_cap_is_refused_on_the_page_and_the_draft_is_kept(
    priced: SessionUnderTest, alice: User
) -> None:
    priced.say()
    priced.reply(TALK)
    assert spent() == (1, COST, 0)
    caps.set_cap("site", "", "day", COST / 1e6)
    Draft.objects.create(session=priced.row, text="My long thought", revision=3)
    client = Client()
    client.force_login(alice)
    address = f"/sessions/{priced.pk}/"
    fields = {"command": str(uuid4()), "mode": "talk", "text": "My long thought", "draft": "3"}
    answer = client.post(f"{address}send/", fields, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()) == (409, {"accepted": False, "message": LIMIT})
    page = client.post(f"{address}send/", {**fields, "command": str(uuid4())}, follow=True).content.decode()
    assert "The spending limit of this site is reached" in page
    assert "My long thought" in page
    assert Draft.objects.get().text == "My long thought"
    for hidden in ("hidden-model-name", "dollar", "0.02"):
        assert hidden not in page
    assert len(priced.events(Event.Kind.MESSAGE)) == 1
    assert not Reply.objects.filter(state=Reply.State.QUEUED).exists()

    caps.set_cap("site", "", "day", 5)
    client.post(f"{address}send/", {**fields, "command": str(uuid4())})
    assert [event.data["text"] for event in priced.events(Event.Kind.MESSAGE)] == [
        "Go on.",
        "My long thought",
    ]
    assert Draft.objects.get().text == ""


def test_a_reply_costs_what_the_price_was_at_the_start_of_its_call(priced: SessionUnderTest) -> None:
    priced.say()
    claimed = priced.claim()
    LanguageModel.objects.update(price={"input": 1.0, "output": 1.0})
    priced.finish(claimed, TALK)
    assert spent() == (1, COST, 0)
    priced.say()
    priced.reply(TALK)
    assert spent()[1] == COST + 10 + 5, "the next call has the new price"


def test_another_reply_is_refused_under_a_cap_and_the_next_day_it_is_free(
    priced: SessionUnderTest, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced.say()
    fail_reply(priced.claim(), kind="rate_limit", message="refused", answer=ModelAnswer())
    assert not DailySpend.objects.exists()
    ledger.record(
        Account("openai:hidden-model-name", Price(TYPED["input"], TYPED["output"])), [Spending(1, 1000, 0)]
    )
    caps.set_cap("model", "openai:hidden-model-name", "day", 1)

    def ask_again() -> None:
        AskAgain(session_id=priced.pk, person=alice, command=uuid4()).execute()

    with pytest.raises(RefusedError, match="The spending limit of this site is reached"):
        ask_again()
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(ledger, "today", tomorrow.date)
    monkeypatch.setattr(caps, "today", tomorrow.date)
    ask_again()
    assert Reply.objects.filter(state=Reply.State.QUEUED).count() == 1


@pytest.mark.parametrize(
    ("kind", "arrived", "unknown"),
    [
        ("timeout", "", 1),
        ("server", "", 1),
        ("rate_limit", "Hm.", 1),
        ("rate_limit", "", 0),
        (SPENDING_LIMIT, "", 0),
    ],
)
def test_ledger_and_effort_agree_on_the_cost_of_a_failed_reply(
    priced: SessionUnderTest, kind: str, arrived: str, unknown: int
) -> None:
    priced.say()
    priced.reply(TALK)
    priced.say()
    fail_reply(priced.claim(), kind=kind, message="broken", answer=ModelAnswer(arrived))
    assert spent() == (1, COST, unknown)
    assert effort_after_the_end(priced) == (None if unknown else COST)


def test_a_reply_that_is_given_up_costs_its_lost_attempts_alone(priced: SessionUnderTest) -> None:
    priced.say()
    for _ in range(MAXIMUM_ATTEMPTS):
        priced.claim()
        Reply.objects.update(lease_until=timezone.now() - timedelta(1))
    assert claim_replies(10) == []
    assert spent() == (0, 0, MAXIMUM_ATTEMPTS)


def effort_after_the_end(session: SessionUnderTest) -> int | None:
    """Close the session, and return its micro-dollars; None: unknown."""
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    project_efforts()
    return SessionEffort.objects.get().microdollars


def test_free_models_continue_under_a_cap(alice: User, doubling: Problem, protocol: Protocol) -> None:
    caps.set_cap("site", "", "total", 0)
    training = SessionUnderTest(start(alice, doubling, protocol, "practice:student"), alice)
    training.say()
    training.reply(TALK)
    row = DailySpend.objects.get()
    assert (row.calls, row.microdollars, row.calls_of_unknown_cost) == (1, 0, 0)


def test_an_unknown_price_under_a_cap_is_refused(
    session: SessionUnderTest, bob: User, doubling: Problem, protocol: Protocol
) -> None:
    caps.set_cap("site", "", "total", 5)
    with pytest.raises(RefusedError, match="The spending limit of this site cannot be checked"):
        session.say()
    with pytest.raises(RefusedError, match="No model is available for sessions now"):
        start(bob, doubling, protocol, "openai:hidden-model-name")
    assert not Session.objects.filter(tutor=bob).exists()
    row = model("openai:hidden-model-name")
    row.price = TYPED
    row.save()
    session.say()
    start(bob, doubling, protocol, "openai:hidden-model-name")


@pytest.mark.django_db(transaction=True)
async def test_a_queued_reply_that_a_cap_refuses_fails_and_costs_nothing(
    fake_providers: FakeProviders, person: Callable[..., User], doubling: Problem
) -> None:
    def queued() -> tuple[SessionUnderTest, ClaimedReply]:
        preset = rules_of(Protocol.objects.get(name="usaco-2024"))
        protocol = freeze(
            "at-once", preset.with_settings(characters_per_second=None, seconds_to_first_word=None)
        )
        tutor = person("tess", Role.TUTOR)
        session = SessionUnderTest(start(tutor, doubling, protocol, "openai:hidden-model-name"), tutor)
        LanguageModel.objects.update(price=TYPED)
        session.say(mode="code")
        caps.set_cap("site", "", "total", 0)
        return session, session.claim()

    session, claimed = await sync_to_async(queued)()
    streamer = Streamer(1)
    chat = ActiveReply.of(claimed)
    streamer.active[claimed.pk] = chat
    await streamer._write(chat)
    assert fake_providers.requests == []

    def check() -> None:
        [failed] = session.events(Event.Kind.REPLY_FAILED)
        assert (failed.data["kind"], failed.data["message"]) == (
            "spending_limit",
            "The spending limit of this site was reached before the model was called. The reply does not count.",
        )
        assert session.refresh().code_generations == 0
        assert not DailySpend.objects.exists()
        client = Client()
        client.force_login(session.tutor)
        page = client.get(f"/sessions/{session.pk}/").content.decode()
        assert (
            "The spending limit of this site is reached. Your message is kept, and no budget was used."
            in page
        )
        caps.set_cap("site", "", "total", 5)
        AskAgain(session_id=session.pk, person=session.tutor, command=uuid4()).execute()

    await sync_to_async(check)()
    fake_providers.script(Script())
    [again] = await sync_to_async(claim_replies)(1)
    chat = ActiveReply.of(again)
    streamer.active[again.pk] = chat
    await streamer._write(chat)
    for provider in streamer.providers.values():
        await provider.aclose()
    row = await DailySpend.objects.aget()
    assert (row.calls, row.microdollars) == (1, 11 * 1000 + 7 * 2000)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("status", "unknown"), [(500, 2), (429, 0)])
async def test_ledger_and_effort_count_repeated_calls_of_a_reply(
    fake_providers: FakeProviders,
    person: Callable[..., User],
    doubling: Problem,
    status: int,
    unknown: int,
) -> None:
    def queued() -> tuple[SessionUnderTest, ClaimedReply]:
        protocol = freeze(
            "at-once",
            rules_of(Protocol.objects.get(name="usaco-2024")).with_settings(
                characters_per_second=None, seconds_to_first_word=None
            ),
        )
        tutor = person("tess", Role.TUTOR)
        session = SessionUnderTest(start(tutor, doubling, protocol, "openai:hidden-model-name"), tutor)
        LanguageModel.objects.update(price=TYPED)
        session.say(mode="code")
        return session, session.claim()

    def check() -> None:
        row = DailySpend.objects.get()
        assert (row.calls, row.calls_of_unknown_cost) == (1, unknown)
        [reply] = session.events(Event.Kind.REPLY)
        assert reply.data.get("calls_broken_off", 0) == unknown
        assert effort_after_the_end(session) == (None if unknown else row.microdollars)

    session, claimed = await sync_to_async(queued)()
    fake_providers.script(failure(status, retry_after="0"), failure(status, retry_after="0"), Script())
    streamer = Streamer(1)
    chat = ActiveReply.of(claimed)
    streamer.active[claimed.pk] = chat
    await streamer._write(chat)
    for provider in streamer.providers.values():
        await provider.aclose()
    await sync_to_async(check)()


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["reply", "paced", "stop", "fail", "break", "restart"]),
        st.integers(0, 5000),
        st.none() | st.integers(0, 5000),
        st.none() | st.integers(0, 5000),
    ),
    max_size=6,
)


def show(claimed: ClaimedReply, text: str) -> None:
    append_deltas([Delta(claimed.pk, claimed.attempt, 1, text)], [(claimed.pk, claimed.attempt)])


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES)
def test_the_ledger_equals_the_sum_of_the_replies_of_sessions(
    moves: list[Any], priced: SessionUnderTest
) -> None:
    price = Price(TYPED["input"], TYPED["output"])
    with transaction.atomic():
        broken = 0
        for move, given_tokens, written, cached in moves:
            priced.say()
            claimed = priced.claim()
            show(claimed, "Hm.")
            usage = TokenUsage(given_tokens, written, cached, None)
            whole = ModelAnswer("Hm.", completed=Completed(usage, "m", "stop", ""))
            if move == "restart":
                restarted = restart_reply(claimed, "broken", "Hm.")
                assert restarted is not None
                claimed, broken = restarted, broken + 1
                show(claimed, "Hm.")
            if move == "paced":
                persist_answer(claimed, whole)
                Reply.objects.filter(pk=claimed.pk).update(lease_until=timezone.now() - timedelta(1))
                claimed = priced.claim()  # another streamer shows the stored answer
                assert claimed.answer == whole
            if move in ("fail", "break"):
                arrived = ModelAnswer("Hm." if move == "break" else "")
                broken += move == "break"
                fail_reply(claimed, kind="rate_limit", message="refused", answer=arrived)
                AskAgain(session_id=priced.pk, person=priced.tutor, command=uuid4()).execute()
                claimed = priced.claim()
                show(claimed, "Hm.")
            broken += move == "stop"
            finish_reply(claimed, ModelAnswer("Hm.") if move == "stop" else whole, stopped=move == "stop")
            if move == "stop":
                Reply.objects.filter(pk=claimed.pk).delete()
        usages = [event.data["usage"] for event in priced.events(Event.Kind.REPLY) if event.data["usage"]]
        known = [one for one in usages if None not in (one["input_tokens"], one["output_tokens"])]
        expected = sum(
            round(1e6 * price.of(one["input_tokens"], one["output_tokens"], one["cached_input_tokens"] or 0))
            for one in known
        )
        unknown = len(usages) - len(known) + broken
        if usages or broken:
            assert spent() == (len(usages), expected, unknown)
        else:
            assert not DailySpend.objects.exists()
        assert effort_after_the_end(priced) == (None if unknown else expected)
        transaction.set_rollback(True)


def test_a_model_check_is_counted_and_refused_under_a_cap(
    priced: SessionUnderTest, fake_providers: FakeProviders
) -> None:
    priced.say()
    priced.reply(TALK)
    Session.objects.update(state=Session.State.CLOSED)
    checker = model("openai:checker")
    LanguageModel.objects.filter(pk=checker.pk).update(price=TYPED)
    caps.set_cap("model", "openai:checker", "total", 0)

    def check() -> None:
        call_command("check_rules", "--model", "openai:checker", stdout=io.StringIO())

    with pytest.raises(CommandError, match="The spending cap of model openai:checker of"):
        check()
    assert fake_providers.requests == []
    caps.set_cap("model", "openai:checker", "total", 5)
    fake_providers.script(Script(("No list.",)))
    with pytest.raises(CommandError, match="is not JSON"):
        check()
    fake_providers.script(Script(("[]",)))
    check()
    assert RuleCheck.objects.by_models().count() == 1
    row = DailySpend.objects.get(model_spec="openai:checker")
    assert (row.calls, row.microdollars) == (2, 2 * (11 * 1000 + 7 * 2000)), (
        "an unreadable answer is paid for"
    )


def test_a_model_check_stops_before_the_call_after_a_cap_is_reached(
    priced: SessionUnderTest, fake_providers: FakeProviders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_checking, "MAXIMUM_CONCURRENT_CALLS", 1)
    for _ in range(3):
        priced.say()
        priced.reply(TALK)
    Session.objects.update(state=Session.State.CLOSED)
    LanguageModel.objects.filter(pk=model("openai:checker").pk).update(price=TYPED)
    cost = 11 * 1000 + 7 * 2000
    caps.set_cap("model", "openai:checker", "total", 2 * cost / 1e6)
    fake_providers.script(*[Script(("[]",))] * 3)
    with pytest.raises(CommandError, match="The spending cap of model openai:checker of"):
        call_command("check_rules", "--model", "openai:checker", stdout=io.StringIO())
    assert len(fake_providers.requests) == 2
    assert not RuleCheck.objects.by_models().exists()
    row = DailySpend.objects.get(model_spec="openai:checker")
    assert (row.calls, row.microdollars) == (2, 2 * cost)
