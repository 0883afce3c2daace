"""Draft checks by a model: what the page gets, what is recorded, stored and paid, and what never reaches anybody."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchmark.model_calls import caps
from benchmark.model_calls.budget import Price
from benchmark.models import DailySpend, LanguageModel, Problem
from benchmark.models.owners import new_owner
from benchmark.models.spending import Purpose
from benchmark.providers import (
    Completed,
    ModelSpec,
    Provider,
    ProviderError,
    StreamEvent,
    TextDelta,
    TokenUsage,
    open_provider,
)
from tests.tutoring.dialogues import WRONG, SessionUnderTest, start
from tests.tutoring.review.browsing import client_of
from tutoring.actions import CloseSession
from tutoring.checks import draft_checker
from tutoring.effort.projection import missing_efforts, project_effort
from tutoring.models import DraftCheckRequest, Event, Protocol, Reply, Session
from tutoring.models.payloads import MessageSent
from tutoring.replies import draft_checks
from tutoring.replies.draft_checks import check_draft, claim_draft_checks
from tutoring.withdrawal.erasure import erase_sessions

DRAFT = "🐄 No. It passes the first two tests. One cow is left out."
QUOTE = "One cow is left out"
COST = 0.11
"""US dollars of an answer of the checker model."""


def found(clause: str, quote: str, reason: str = "As GPT-4 I say: it explains.") -> dict[str, str]:
    return {"clause": clause, "quote": quote, "reason": reason}


class Checker:
    """A provider that gives this answer or raises it, and counts its calls."""

    scripted = False

    def __init__(self, answer: str | BaseException) -> None:
        self.answer = answer
        self.calls = 0

    async def __call__(self, spec: ModelSpec) -> Provider:
        assert str(spec) == "openai:a-checker"
        return self

    async def stream(self, *_: object) -> AsyncIterator[StreamEvent]:
        self.calls += 1
        await asyncio.sleep(0)
        if isinstance(self.answer, BaseException):
            raise self.answer
        yield TextDelta(self.answer)
        yield Completed(TokenUsage(100, 10, 0, 0), "a-checker-2026", "stop", request_id="r")

    async def aclose(self) -> None:
        """Do nothing."""


@pytest.fixture
def checked(alice: User, doubling: Problem) -> SessionUnderTest:
    """Return a session under a protocol with a checker model."""
    LanguageModel.objects.create(
        label="a-checker", version=1, spec="openai:a-checker", price={"input": 1000.0, "output": 1000.0}
    )
    call_command("freeze_protocol", "checked", "--title=Checked", "--set=checker_model=a-checker")
    return begin(alice, doubling)


def begin(person: User, problem: Problem) -> SessionUnderTest:
    session = SessionUnderTest(start(person, problem, Protocol.objects.get(name="checked")), person)
    session.ask_and_get(WRONG)
    return session


def asked_about(
    session: SessionUnderTest, text: str, question: str = "", where: str = "check/model"
) -> dict[str, Any]:
    """Return the answer to a request of the page; `question` is that of an earlier answer, if there is one."""
    response = client_of(session.tutor).post(
        f"/sessions/{session.pk}/{where}/",
        {"text": text, "question": question},
        headers={"Accept": "application/json"},
    )
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


def ask(
    session: SessionUnderTest, text: str = DRAFT, where: str = "check/model"
) -> list[dict[str, Any]] | None:
    findings: list[dict[str, Any]] | None = asked_about(session, text, where=where)["findings"]
    return findings


def take(answer: str | BaseException) -> Checker:
    """Perform the waiting check, as a streamer does."""
    [claimed] = claim_draft_checks()
    checker = Checker(answer)
    async_to_sync(check_draft)(claimed, checker)
    return checker


def spent() -> DailySpend:
    return DailySpend.objects.get(purpose=Purpose.DRAFT_CHECK)


def test_protocol_names_a_checker_only_with_a_draft_check(checked: SessionUnderTest) -> None:
    rules = Protocol.objects.get(name="checked").rules
    assert rules["checker_model"] == "a-checker@1"
    for settings, fault in (
        (["checker_model=nobody"], "checker_model: 'nobody' is not a model"),
        (["checker_model=a-checker", "draft_check=off"], "needs a draft check"),
    ):
        with pytest.raises(CommandError, match=fault):
            call_command("freeze_protocol", "other", "--title=x", *(f"--set={one}" for one in settings))


def test_protocol_without_a_checker_asks_none(session: SessionUnderTest) -> None:
    assert ask(session) == []
    assert not DraftCheckRequest.objects.exists()
    assert b"check/model" not in client_of(session.tutor).get(f"/sessions/{session.pk}/").content


def test_page_that_waits_costs_no_prompt_and_gets_the_findings_of_its_own_text(
    checked: SessionUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked_about(checked, DRAFT)
    assert first["findings"] is None
    with monkeypatch.context() as without_prompts:
        without_prompts.setattr(draft_checker.DraftQuestion, "about", None)
        assert asked_about(checked, DRAFT, first["question"]) == first
    take(json.dumps([found("F3", QUOTE)]))
    [finding] = asked_about(checked, DRAFT, first["question"])["findings"]
    assert finding["clause"] == "F3"
    other = asked_about(checked, "Think about the cows.", first["question"])
    assert (other["findings"], other["question"] != first["question"]) == (None, True)
    assert asked_about(checked, DRAFT, "no question")["findings"] == [finding]


def test_findings_are_marked_recorded_and_paid_for_once(
    checked: SessionUnderTest, bob: User, rosa: User, doubling: Problem
) -> None:
    page = client_of(checked.tutor).get(f"/sessions/{checked.pk}/").content.decode()
    assert f"/sessions/{checked.pk}/check/model/" in page
    assert "your draft is also sent to a language model" in page
    detected = ask(checked, where="check")
    assert [(one["clause"], one["by_model"]) for one in detected or []] == [("F5", False)]
    assert ask(checked) is None
    assert ask(checked) is None
    assert DraftCheckRequest.objects.get().text == DRAFT
    answer = [found("F3", QUOTE), found("F3", QUOTE), found("F1", "not in the draft"), found("F9", QUOTE), {}]
    assert take(f"Here: {json.dumps(answer)}").calls == 1
    [finding] = ask(checked) or []
    assert (finding["clause"], finding["severity"], finding["by_model"]) == ("F3", "warning", True)
    assert (finding["start"], finding["end"]) == (38, 38 + len(QUOTE)), "in UTF-16 units"
    assert finding["explanation"] == "As [name hidden] I say: it explains."
    assert "a-checker" not in page + json.dumps(finding)

    row = DraftCheckRequest.objects.get()
    assert (row.text, row.microdollars) == ("", round(COST * 1e6))
    assert QUOTE not in json.dumps(row.findings)
    again = begin(bob, doubling)
    assert ask(again) == [finding], "the question is the same, so the answer is not paid for again"
    assert claim_draft_checks() == []
    assert (spent().model_spec, spent().calls, spent().microdollars) == ("openai:a-checker", 1, COST * 1e6)
    spending = client_of(rosa).get("/spending/").content.decode()
    assert "<td>draft check</td>" in spending
    assert client_of(checked.tutor).get("/spending/").status_code == 403

    checked.say(DRAFT)
    check = checked.events(Event.Kind.MESSAGE)[-1].payload_as(MessageSent).check
    assert check is not None
    by = [(one.clause, one.detector) for one in check.detections]
    assert by == [("F5", "verdict-leak"), ("F3", "model-checker")]
    assert [draft.text for draft in check.drafts] == [DRAFT, DRAFT]
    again.say(f"{DRAFT} Look.")
    other = again.events(Event.Kind.MESSAGE)[-1].payload_as(MessageSent).check
    assert other is not None
    assert "model-checker" not in {one.detector for one in other.detections}, (
        "nothing was shown for this text"
    )
    shown = client_of(rosa).get(f"/trajectories/{checked.pk}/").content.decode()
    assert "F3 by a model: As [name hidden] I say" in shown


USELESS: dict[str, tuple[str | BaseException, int, int]] = {
    "prose": ("This message is fine [I think].", 1, 0),
    "refusal": ("", 1, 0),
    "loop": ("[" * 100_000, 1, 0),
    "many": (json.dumps([found(["F1"], DRAFT), found("F1", " "), found("F1", "")]), 1, 0),  # type: ignore[arg-type]
    "surrogate": (json.dumps([found("F1", "\ud800")]), 1, 0),
    "server": (ProviderError("server", f"broken by {DRAFT}"), 0, 1),
    "bug": (KeyError(DRAFT), 0, 1),
}
"""Answers with the numbers of paid calls and of calls of unknown cost."""


@pytest.mark.parametrize("case", USELESS)
def test_any_other_answer_is_no_finding_and_is_not_asked_for_again(
    checked: SessionUnderTest, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, calls, unknown = USELESS[case]
    caplog.set_level(logging.DEBUG)
    assert ask(checked) is None
    take(answer)
    assert ask(checked) == []
    assert claim_draft_checks() == []
    assert (spent().calls, spent().calls_of_unknown_cost) == (calls, unknown)
    assert DraftCheckRequest.objects.get().text == ""
    assert QUOTE not in caplog.text


def test_no_more_findings_are_kept_than_a_tutor_can_read(checked: SessionUnderTest) -> None:
    ask(checked)
    take(json.dumps([found("F1", DRAFT[:length], "x\ud800\0y") for length in range(1, 40)]))
    findings = ask(checked) or []
    assert (len(findings), findings[0]["explanation"]) == (10, "xy")


def test_a_call_without_an_answer_ends(checked: SessionUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_checks, "CALL_LIMIT", 0)
    ask(checked)
    take("[]")
    assert ask(checked) == []
    assert spent().calls_of_unknown_cost == 1


def test_a_question_that_was_not_paid_for_may_be_asked_again(checked: SessionUnderTest) -> None:
    ask(checked)
    take(ProviderError("rate_limit", "later"))
    assert not DailySpend.objects.filter(purpose=Purpose.DRAFT_CHECK).exists()
    assert ask(checked) is None
    caps.set_cap("model", "openai:a-checker", "day", 0)
    assert take("[]").calls == 0, "the cap was reached while the request waited"
    assert ask(checked) == []
    assert not DraftCheckRequest.objects.exists()


def test_only_the_latest_draft_of_the_present_dialogue_is_checked(checked: SessionUnderTest) -> None:
    assert ask(checked, "Look at the") is None
    assert ask(checked, DRAFT) is None
    assert [row.text for row in DraftCheckRequest.objects.all()] == [DRAFT]
    checked.say("Go on.")
    checked.reply("Ah.")
    assert take("[]").calls == 0
    assert not DraftCheckRequest.objects.exists()
    LanguageModel.objects.update(active=False)
    assert ask(checked) == []


def test_texts_of_requests_that_nobody_answers_are_not_kept(checked: SessionUnderTest) -> None:
    ask(checked)
    DraftCheckRequest.objects.update(requested_at=timezone.now() - timedelta(seconds=4))
    assert claim_draft_checks() == []
    assert not DraftCheckRequest.objects.exists()
    ask(checked)
    assert len(claim_draft_checks()) == 1
    Session.objects.update(state=Session.State.CLOSED)
    assert not missing_efforts().exists(), "the cost of the check is not known yet"
    Session.objects.update(state=Session.State.OPEN)
    DraftCheckRequest.objects.update(owner=new_owner(), lease_until=timezone.now() - timedelta(seconds=1))
    assert claim_draft_checks() == []
    row = DraftCheckRequest.objects.get()
    assert (row.state, row.text) == (DraftCheckRequest.State.FAILED, "")
    assert ask(checked) == []


def test_cost_counts_in_the_effort_of_the_session_and_the_row_is_erased_with_it(
    checked: SessionUnderTest,
) -> None:
    ask(checked)
    take("[]")
    Reply.objects.update(price=asdict(Price(0, 0)))
    CloseSession(session_id=checked.pk, person=checked.tutor, command=uuid4(), reason="Enough.").execute()
    assert project_effort(checked.refresh()).microdollars == round(COST * 1e6)
    erase_sessions([checked.pk])
    assert not DraftCheckRequest.objects.exists()
    assert spent().calls == 1, "what was paid stays in the ledger"


@pytest.mark.parametrize("conduct", ["attentive", "inventive", "talkative"])
def test_simulated_checkers_answer_as_they_are_called(conduct: str, alice: User, doubling: Problem) -> None:
    call_command(
        "freeze_protocol", "checked", "--title=Checked", f"--set=checker_model=simulated-checker:{conduct}"
    )
    session = begin(alice, doubling)
    ask(session)
    [claimed] = claim_draft_checks()

    async def opened(spec: ModelSpec) -> Provider:
        return open_provider(spec)

    async_to_sync(check_draft)(claimed, opened)
    quotes = [(one["clause"], one["explanation"]) for one in ask(session) or []]
    assert quotes == ([] if conduct == "talkative" else [("F3", "It explains what the student did wrong.")])
