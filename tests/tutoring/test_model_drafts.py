"""Model drafts: what the page offers, what is recorded and paid, and what happens if there is no draft."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchmark.model_calls import caps
from benchmark.models import DailySpend, LanguageModel, Problem, ReferenceSolution
from benchmark.models.owners import new_owner
from benchmark.providers import Completed, ProviderError, StreamEvent, TextDelta, TokenUsage
from tests.tutoring.dialogues import WRONG, SessionUnderTest, start
from tests.tutoring.review.browsing import client_of
from tutoring.actions import CloseSession, InsertDraft, RequestDraft
from tutoring.effort.projection import project_effort
from tutoring.models import DraftRequest, Event, Protocol, Reply, Session
from tutoring.models.payloads import MessageSent, ModelDraft
from tutoring.protocols import PRESETS, rules_of
from tutoring.replies.model_drafts import claim_drafts, write_draft
from tutoring.sessions.context import RefusedError
from tutoring.trajectories.datasets import write_folder
from tutoring.trajectories.inspect_logs import to_logs
from tutoring.trajectories.json_lines import to_record

HINT = "What does your program print for the smallest input?"
CODE = "Use this:\n```python\nprint(2)\n```"
USAGE = TokenUsage(100, 10, cached_input_tokens=0, reasoning_tokens=0)
PRICE = {"input": 1000.0, "output": 1000.0}
COST = 0.11
"""US dollars of a reply of the tutor model."""


def answer(message: str = HINT, **fields: Any) -> str:
    return json.dumps({"diagnosis": "It triples.", "level": 1, "act": "code", "message": message} | fields)


class TutorModel:
    """A provider that gives these replies in turn, or raises them."""

    scripted = False

    def __init__(self, *replies: str | BaseException | Callable[[], object]) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    async def __call__(self, spec: object) -> TutorModel:
        assert str(spec) == "openai:a-tutor"
        return self

    async def stream(self, _model: str, messages: Any, _parameters: object) -> AsyncIterator[StreamEvent]:
        self.prompts.append("\n".join(message.content for message in messages))
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        if not isinstance(reply, str):
            await asyncio.to_thread(lambda: None)
            reply()
            reply = answer()
        yield TextDelta(reply)
        yield Completed(USAGE, "a-tutor-2026", "stop", request_id="r")

    async def aclose(self) -> None:
        """Do nothing."""


@pytest.fixture
def drafted(alice: User, doubling: Problem) -> SessionUnderTest:
    """Return a session with a wrong program under a protocol with two model drafts."""
    LanguageModel.objects.create(label="a-tutor", version=1, spec="openai:a-tutor", price=PRICE)
    call_command(
        "freeze_protocol", "drafts", "--title=Drafts",
        "--set=model_drafts=2", "--set=draft_model=a-tutor", "--set=draft_knows=analysis",
    )  # fmt: skip
    Problem.objects.update(analysis="Double it, says the official text.")
    held = SessionUnderTest(start(alice, doubling, Protocol.objects.get(name="drafts")), alice)
    with pytest.raises(RefusedError, match="Drafts need a program"):
        request(held)
    held.ask_and_get(WRONG)
    return held


def request(session: SessionUnderTest) -> None:
    RequestDraft(session_id=session.pk, person=session.tutor, command=uuid4()).execute()


def write(session: SessionUnderTest, *replies: Any) -> TutorModel:
    """Request a draft and write it, as a streamer does."""
    request(session)
    return take(*replies)


def take(*replies: Any) -> TutorModel:
    [claimed] = claim_drafts()
    model = TutorModel(*replies)
    async_to_sync(write_draft)(claimed, model)
    return model


def insert(session: SessionUnderTest) -> None:
    InsertDraft(session_id=session.pk, person=session.tutor, command=uuid4()).execute()


def drafts(session: SessionUnderTest) -> list[ModelDraft]:
    return [event.payload_as(ModelDraft) for event in session.events(Event.Kind.MODEL_DRAFT)]


def page(session: SessionUnderTest) -> str:
    return client_of(session.tutor).get(f"/sessions/{session.pk}/").content.decode()


def test_presets_have_no_model_drafts_and_keep_their_hash(session: SessionUnderTest) -> None:
    for preset in PRESETS.values():
        assert not {"model_drafts", "draft_model", "draft_knows", "checker_model"} & set(preset.to_json())
    session.ask_and_get(WRONG)
    with pytest.raises(RefusedError, match="no model drafts"):
        request(session)
    assert "model draft" not in page(session)


def test_the_prompt_of_a_draft_does_not_announce_what_the_problem_lacks(drafted: SessionUnderTest) -> None:
    protocol = Protocol.objects.get(name="drafts")
    Protocol.objects.filter(pk=protocol.pk).update(rules=protocol.rules | {"draft_knows": "references"})
    Problem.objects.update(analysis="")
    ReferenceSolution.objects.all().delete()
    [prompt] = write(drafted, answer()).prompts
    assert "Left: 4 programs" in prompt
    assert "Only you see" not in prompt


def test_an_unknown_tutor_model_is_refused_when_the_protocol_is_frozen(db: None) -> None:
    with pytest.raises(CommandError, match=r"draft_model: 'nobody' is not a model"):
        call_command("freeze_protocol", "drafts", "--title=Drafts", "--set=draft_model=nobody")


def test_a_draft_is_offered_recorded_and_paid_for_and_never_sent_by_itself(
    drafted: SessionUnderTest, tmp_path: Path
) -> None:
    rules = rules_of(Protocol.objects.get(name="drafts"))
    assert (rules.draft_model, "up to 2 times" in rules.draft_policy) == ("a-tutor@1", True)
    model = write(drafted, answer(CODE), answer())
    assert "Double it, says the official text." in model.prompts[0]
    assert "The message contains code." in model.prompts[1]
    [draft] = drafts(drafted)
    assert (draft.text, len(draft.usage)) == (HINT, 2)
    assert draft.cost == pytest.approx(2 * COST)
    assert draft.turn is not None
    assert [one.refusals[-1].clause if one.refusals else "" for one in draft.turn.drafts] == ["code", ""]
    assert len(drafted.events(Event.Kind.MESSAGE)) == 1
    shown = page(drafted)
    assert HINT in shown
    assert "1 of 2 model drafts left" in shown
    for private in ("It triples.", "a-tutor", "print(2)"):
        assert private not in shown

    insert(drafted)
    drafted.say(HINT, mode="code")
    drafted.reply(WRONG)
    write(drafted, answer("Read it again."))
    drafted.say("My own words.", mode="code")
    drafted.reply(WRONG)
    with pytest.raises(RefusedError, match="All 2 model drafts are used"):
        request(drafted)
    with pytest.raises(RefusedError, match="no draft for the next message"):
        insert(drafted)
    messages = [event.payload_as(MessageSent) for event in drafted.events(Event.Kind.MESSAGE)]
    assert [[one.use for one in message.model_drafts] for message in messages] == [
        [],
        ["unchanged"],
        ["discarded"],
    ]
    spent = DailySpend.objects.get(model_spec="openai:a-tutor")
    assert (spent.calls, spent.microdollars) == (3, round(3 * COST * 1e6))

    CloseSession(session_id=drafted.pk, person=drafted.tutor, command=uuid4(), reason="Enough.").execute()
    LanguageModel.objects.filter(spec="openai:m").update(price={"input": 0.0, "output": 0.0})
    write_folder([to_record(drafted.refresh())], tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "data" / "drafts.jsonl").read_text().splitlines()]
    assert [(row["draft"], row["guard"], row["use"], row["sent"]) for row in rows] == [
        (1, "sent", None, False),
        (2, "sent", "unchanged", True),
        (1, "sent", "discarded", False),
    ]
    [log] = to_logs([to_record(drafted.row)], timezone.now()).values()
    unsent = [
        draft["text"]
        for event in log["samples"][0]["metadata"]["other_events"]
        if event["kind"] == Event.Kind.MODEL_DRAFT
        for draft in event["data"]["turn"]["drafts"]
    ]
    assert unsent == [CODE, HINT, "Read it again."]
    assert project_effort(drafted.row).microdollars is None, "the price of the student is unknown"


def test_an_edited_draft_is_recorded_as_edited_and_reviewers_see_it_after_their_review(
    drafted: SessionUnderTest, rita: User, rosa: User
) -> None:
    write(drafted, answer())
    insert(drafted)
    drafted.say(f"{HINT} Try 1.", mode="code")
    drafted.reply(WRONG)
    [use] = drafted.events(Event.Kind.MESSAGE)[1].payload_as(MessageSent).model_drafts
    assert use.use == "edited"
    assert "edited model draft" in page(drafted)
    CloseSession(session_id=drafted.pk, person=drafted.tutor, command=uuid4(), reason="Enough.").execute()
    whole = client_of(rosa).get(f"/trajectories/{drafted.pk}/").content.decode()
    assert "It triples." in whole
    assert "model draft 6, edited" in whole
    before = client_of(rita).get(f"/trajectories/{drafted.pk}/").content.decode()
    assert "It triples." not in before
    assert "tutor model" not in before


def test_names_of_models_are_masked_in_the_draft_that_the_page_offers(drafted: SessionUnderTest) -> None:
    protocol = Protocol.objects.get(name="drafts")
    Protocol.objects.filter(pk=protocol.pk).update(rules=protocol.rules | {"hide_model": True})
    write(drafted, answer("As GPT-4, I ask: what does it print?"))
    [draft] = drafts(drafted)
    masked = "As [name hidden], I ask: what does it print?"
    assert draft.text == masked
    assert draft.turn is not None
    assert "GPT-4" in draft.turn.drafts[-1].text
    shown = page(drafted)
    assert masked in shown
    assert "GPT-4" not in shown
    insert(drafted)
    drafted.say(masked, mode="code")
    [use] = drafted.events(Event.Kind.MESSAGE)[-1].payload_as(MessageSent).model_drafts
    assert use.use == "unchanged"


FAILURES: dict[str, tuple[list[str | Exception], str, str]] = {
    "guard": ([answer(CODE)] * 4, "", "wrote no message that the rules allow"),
    "no answer": (["I cannot help.", "Still not."], "", "wrote no message that the rules allow"),
    "execute": ([answer("", act="execute")], "", "would submit the latest program"),
    "access": (
        [ProviderError("authentication", "bad key")],
        "authentication",
        "Only an operator can repair this",
    ),
    "server": ([ProviderError("server", "broken", retryable=False)], "server", "returned an error"),
    "bug": ([KeyError("x")], "unknown", "returned an error"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_without_a_draft_the_page_says_why_and_the_tutor_goes_on(
    drafted: SessionUnderTest, case: str
) -> None:
    replies, kind, sentence = FAILURES[case]
    write(drafted, *replies)
    [draft] = drafts(drafted)
    assert (draft.text, draft.error_kind) == ("", kind)
    assert sentence in page(drafted)
    assert f"{2 if kind else 1} of 2 model drafts left" in page(drafted), "a failed draft does not count"
    with pytest.raises(RefusedError, match="no draft for the next message"):
        insert(drafted)
    drafted.say("My own words.")


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("case", "unknown"), [("access", 0), ("server", 1), ("bug", 1), ("repeated", 1)])
def test_ledger_and_effort_agree_on_the_cost_of_a_failed_call(
    drafted: SessionUnderTest, case: str, unknown: int, free: bool
) -> None:
    repeated = [ProviderError("server", "broken", retry_after=0), answer()]
    if free:
        LanguageModel.objects.filter(spec="openai:a-tutor").update(price={"input": 0.0, "output": 0.0})
        unknown = 0
    write(drafted, *(repeated if case == "repeated" else FAILURES[case][0]))
    cost = round(COST * 1e6) if case == "repeated" and not free else 0
    recorded = DailySpend.objects.filter(model_spec="openai:a-tutor")
    assert sum(row.calls_of_unknown_cost for row in recorded) == unknown
    Reply.objects.update(price={"input": 0.0, "output": 0.0})
    CloseSession(session_id=drafted.pk, person=drafted.tutor, command=uuid4(), reason="Enough.").execute()
    assert project_effort(drafted.refresh()).microdollars == (None if unknown else cost)


def test_a_provider_that_hangs_ends_after_the_timeout(drafted: SessionUnderTest, settings: Any) -> None:
    settings.REPLY_TIMEOUT = 0
    write(drafted)
    assert drafts(drafted)[0].error_kind == "timeout"
    assert "did not answer in time" in page(drafted)


def test_a_spending_cap_refuses_the_request_and_the_calls_of_a_queued_one(drafted: SessionUnderTest) -> None:
    request(drafted)
    caps.set_cap("model", "openai:a-tutor", "day", 0.0001)
    take(answer(CODE), answer())
    [draft] = drafts(drafted)
    assert draft.error_kind == "spending_limit", "the second call is refused"
    assert DailySpend.objects.get(model_spec="openai:a-tutor").calls == 1
    assert "The spending limit of this site is reached" in page(drafted)
    with pytest.raises(RefusedError, match="allows no draft now"):
        request(drafted)


def test_a_streamer_that_takes_over_pays_for_no_reply_again(drafted: SessionUnderTest) -> None:
    request(drafted)
    [lost] = claim_drafts()
    with pytest.raises(SystemExit):
        async_to_sync(write_draft)(lost, TutorModel(answer(CODE), SystemExit()))
    assert not drafts(drafted)
    DraftRequest.objects.update(owner=new_owner(), lease_until=None)
    DraftRequest.objects.all().release()
    model = take(answer())
    assert len(model.prompts) == 1
    [draft] = drafts(drafted)
    assert (draft.text, len(draft.usage)) == (HINT, 2)


def test_a_draft_that_comes_after_the_message_is_dropped(drafted: SessionUnderTest) -> None:
    request(drafted)
    with pytest.raises(RefusedError, match="A draft is being written"):
        request(drafted)
    assert "The tutor model writes a draft" in page(drafted)
    [claimed] = claim_drafts()
    drafted.say("My own words.")
    model = TutorModel()
    async_to_sync(write_draft)(claimed, model)
    assert (model.prompts, drafts(drafted)) == ([], [])
    assert DraftRequest.objects.get().state == DraftRequest.State.DROPPED
    assert Session.objects.get(pk=drafted.pk).state == Session.State.OPEN
