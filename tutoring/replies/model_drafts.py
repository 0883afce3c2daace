"""Model drafts, as the streamer writes them: the turn of an automatic tutor at the place of a person's next message.

View, guard and rewrites are those of the policy `tutor`. Each complete reply is stored with its cost before the next
call, so a streamer that takes the request over pays for none of them again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import asdict, dataclass, field, replace

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Price, Spending
from benchmark.model_calls.caps import CapReachedError
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.ledger import Account
from benchmark.models import Problem, ReferenceSolution
from benchmark.models.leases import HEARTBEAT
from benchmark.models.owners import new_owner
from benchmark.prompts import Prompt, VisibleProblem
from benchmark.providers import (
    ModelReply,
    ModelSpec,
    ModelSpecError,
    Parameters,
    Provider,
    ProviderError,
    RetryPolicy,
    complete,
    parse_model_spec,
)
from benchmark.retrieval import split_analysis
from tutoring.arms.policy import RemainingBudget, TutorView
from tutoring.arms.tutor.answer import TutorAnswer
from tutoring.arms.tutor.settings import KNOWN
from tutoring.arms.tutor.turn import Conduct, Turn, check_in_thread
from tutoring.checks.contexts import draft_context
from tutoring.models import DraftRequest, Event, Session
from tutoring.models.payloads import ModelDraft, TokenUsage, TutorTurn
from tutoring.protocols import Rules
from tutoring.rules import MessageContext
from tutoring.sessions.context import SessionContext
from tutoring.sessions.dialogue import model_messages
from tutoring.sessions.masking import mask, masked_spans
from tutoring.sessions.model_drafts import draft_account, since_last_message, tutor_model_of
from tutoring.sessions.recording import append_event
from tutoring.sessions.spending import SPENDING_LIMIT, may_be_billed

logger = logging.getLogger(__name__)

HIGHEST_LEVEL = 3
"""Highest level of a draft under a protocol without a lower cap, as in runs of the automatic tutor."""

MAXIMUM_ATTEMPTS = 5
"""Claims of one request before it fails."""

_AT_ONCE = 8

OpenProvider = Callable[[ModelSpec], Awaitable[Provider]]


class _DroppedError(Exception):
    """The error that a draft is no longer needed, or that another streamer writes it."""


@dataclass(frozen=True)
class ClaimedDraft:
    """A claimed request with what the turn of the tutor model needs."""

    row: DraftRequest
    spec: ModelSpec
    parameters: Parameters
    account: Account
    conduct: Conduct
    rules: Rules
    view: TutorView
    context: MessageContext


@dataclass
class _Outcome:
    """The draft on offer and the record of all drafts; after a failure its kind and message."""

    answer: TutorAnswer | None = None
    turn: TutorTurn | None = None
    calls_broken_off: int = 0
    """Calls after the last complete reply that may be billed."""
    error_kind: str = ""
    message: str = ""


@dataclass
class _Calls:
    """The calls of one turn: stored replies are read first."""

    draft: ClaimedDraft
    open_provider: OpenProvider
    outcome: _Outcome
    read: int = field(default=0)

    async def request(self, prompt: Prompt) -> str:
        """Return the text of the next reply. Raises ProviderError, CapReachedError or _DroppedError."""
        draft = self.draft
        if self.read < len(draft.row.replies):
            self.read += 1
            return str(draft.row.replies[self.read - 1]["text"])
        await sync_to_async(_refuse_call)(draft)
        provider = await self.open_provider(draft.spec)
        reply: ModelReply | None = None
        broken_off = 0

        def announce(_seconds: float, error: ProviderError) -> None:
            nonlocal broken_off
            broken_off += may_be_billed(error.kind)

        try:
            retry = RetryPolicy(longest=settings.REPLY_TIMEOUT, announce=announce)
            reply = await complete(provider, draft.spec.model, prompt.messages, draft.parameters, retry=retry)
        except BaseException as error:
            broken_off += not isinstance(error, ProviderError) or may_be_billed(error.kind)
            raise
        finally:
            self.outcome.calls_broken_off = broken_off if reply is None else 0
            await asyncio.shield(sync_to_async(_store_call)(draft, reply, broken_off))
        self.read += 1
        return reply.text


def claim_drafts() -> list[DraftRequest]:
    """Claim the requests that wait for a streamer, or whose streamer is dead or silent."""
    now = timezone.now()
    waiting = DraftRequest.objects.claimable(now).order_by("pk").values_list("pk", flat=True)[:_AT_ONCE]
    return [row for pk in waiting if (row := DraftRequest.claim_one(pk, new_owner(), now)) is not None]


async def write_draft(claimed: DraftRequest, open_provider: OpenProvider) -> None:
    """Write the draft of a claimed request and end it with an event, also after an error.

    If the database refuses a statement, the lease ends, and a streamer claims the request again.
    """
    try:
        async with _renewing(claimed):
            outcome = await _outcome(claimed, open_provider)
        if outcome is not None:
            await sync_to_async(_finish)(claimed, outcome)
    except DatabaseError as error:
        logger.error("model draft %s waits for the database: %s", claimed.pk, error)


async def _outcome(claimed: DraftRequest, open_provider: OpenProvider) -> _Outcome | None:
    """Return the draft or its failure; None if it is no longer needed."""
    outcome = _Outcome()
    try:
        async with asyncio.timeout(settings.REPLY_TIMEOUT):
            draft = await sync_to_async(_read)(claimed)
            calls = _Calls(draft, open_provider, outcome)
            turn = Turn(calls.request, draft.conduct, draft.rules, draft.view, draft.context)
            outcome.answer, outcome.turn = await turn.decide()
    except _DroppedError:
        await sync_to_async(claimed.end)(DraftRequest.State.DROPPED)
        return None
    except (CapReachedError, TimeoutError, ProviderError, CatalogueError, ModelSpecError) as error:
        outcome.error_kind, outcome.message = _failure(error)
    except DatabaseError:
        raise
    except Exception as error:
        logger.exception("model draft %s failed", claimed.pk)
        outcome.error_kind, outcome.message = "unknown", f"{type(error).__name__} in the streamer"
    return outcome


def _failure(error: Exception) -> tuple[str, str]:
    """Return kind and message of the error that ended a turn without a draft."""
    match error:
        case CapReachedError():
            return SPENDING_LIMIT, str(error)
        case TimeoutError():
            return "timeout", f"no draft after {settings.REPLY_TIMEOUT} s (REPLY_TIMEOUT)"
        case ProviderError():
            return error.kind, error.message
    return "configuration", str(error)


@contextlib.asynccontextmanager
async def _renewing(claimed: DraftRequest) -> AsyncIterator[None]:
    """Renew the lease of the request until the block ends."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT)
            with contextlib.suppress(DatabaseError):  # the next renewal may find the database again
                await sync_to_async(lambda: claimed.claimed().renew(timezone.now()))()

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()


def _read(claimed: DraftRequest) -> ClaimedDraft:
    """Return what the turn needs. Raises CatalogueError, ModelSpecError, and ProviderError after too many claims."""
    row = DraftRequest.objects.select_related(
        "session__problem__dataset", "session__protocol", "session__model"
    ).get(pk=claimed.pk)
    if claimed.attempt > MAXIMUM_ATTEMPTS:
        raise ProviderError("unknown", "given up after several lost attempts")
    context = SessionContext.of(row.session)
    _refuse_unwanted(claimed, row.session)
    model = tutor_model_of(row.session, context.rules)
    account = draft_account(row.session, context.rules)
    if row.price is None and account.price is not None:
        row.price = asdict(account.price)
        claimed.claimed().update(price=row.price)
    elif row.price is not None:
        account = replace(account, price=Price(**row.price))
    problem = row.session.problem
    assert problem is not None
    return ClaimedDraft(
        row=row,
        spec=parse_model_spec(model.spec),
        parameters=Parameters.from_json(model.parameters or {}),
        account=account,
        conduct=Conduct(model.spec, HIGHEST_LEVEL, guard=True, template_hash="", check=check_in_thread),
        rules=context.rules,
        view=_view(context, problem),
        context=draft_context(row.session, context.events, context.rules.tutor_may_say),
    )


def _view(context: SessionContext, problem: Problem) -> TutorView:
    """Return the information that the tutor model gets at this point of the session.

    A problem without an analysis or without references has None, so that the prompt does not announce them.
    """
    knows, language = KNOWN[context.rules.draft_knows], context.session.language
    analysis = split_analysis(problem.analysis)[0] if "analysis" in knows else ""
    programs = ReferenceSolution.objects.filter(problem=problem, language=language).order_by("order", "pk")
    references = tuple(programs.values_list("source", flat=True)) if "references" in knows else ()
    return TutorView(
        problem=VisibleProblem.of(problem),
        language=language,
        dialogue=tuple(model_messages(context.events)),
        programs=tuple(reply.code or "" for _, reply in context.programs),
        messages_sent=sum(event.kind == Event.Kind.MESSAGE for event in context.events),
        budget=RemainingBudget(context.budget.code_generations_left, context.budget.executions_left),
        analysis=analysis or None,
        references=references or None,
    )


def _refuse_unwanted(claimed: DraftRequest, session: Session) -> None:
    """Raise _DroppedError if the tutor continued without the draft, or if another streamer writes it."""
    session.refresh_from_db(fields=["state"])
    recent = {event.pk for event in since_last_message(list(session.events.all()))}
    row = claimed.claimed().values_list("request", flat=True).first()
    if session.state != Session.State.OPEN or row not in recent:
        raise _DroppedError


def _refuse_call(draft: ClaimedDraft) -> None:
    """Raise _DroppedError if the draft is no longer needed, CapReachedError if a spending cap refuses the call."""
    _refuse_unwanted(draft.row, draft.row.session)
    caps.refuse(draft.account)


@transaction.atomic
def _store_call(draft: ClaimedDraft, reply: ModelReply | None, broken_off: int) -> None:
    """Store a complete reply and the cost of its calls; None: no call was complete."""
    calls = [Spending(calls_broken_off=1)] * broken_off
    if reply is not None:
        usage = reply.usage
        calls.append(Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens))
        draft.row.replies.append({"text": reply.text, "usage": asdict(usage), "calls_broken_off": broken_off})
        draft.row.claimed().update(replies=draft.row.replies)
    ledger.record(draft.account, calls)


@transaction.atomic
def _finish(claimed: DraftRequest, outcome: _Outcome) -> None:
    """End the request with its event, unless the tutor continued without the draft."""
    session_id = DraftRequest.objects.values_list("session", flat=True).get(pk=claimed.pk)
    session = Session.objects.get_locked(session_id)
    try:
        _refuse_unwanted(claimed, session)
    except _DroppedError:
        claimed.end(DraftRequest.State.DROPPED)
        return
    row = DraftRequest.objects.select_related("request").get(pk=claimed.pk)
    answer, usage = outcome.answer, [TokenUsage(**reply["usage"]) for reply in row.replies]
    text = answer.message if answer and answer.act != "execute" else ""
    append_event(
        session,
        ModelDraft(
            request=row.request.seq,
            text=mask(text, masked_spans(session, text)),
            act=answer.act if answer else None,
            turn=outcome.turn,
            usage=usage,
            cost=_cost(row, usage),
            calls_broken_off=outcome.calls_broken_off
            + sum(reply.get("calls_broken_off", 0) for reply in row.replies),
            error_kind=outcome.error_kind,
            message=outcome.message,
        ),
    )
    claimed.end(DraftRequest.State.FAILED if outcome.error_kind else DraftRequest.State.DONE)


def _cost(row: DraftRequest, usage: Collection[TokenUsage]) -> float | None:
    """Return the US dollars of the complete replies; None if the price or the tokens of one are unknown."""
    total = Spending()
    for one in usage:
        total += Spending.of_reply(one.input_tokens, one.output_tokens, one.cached_input_tokens)
    if total.is_lower_bound:
        return None
    return total.cost(Price(**row.price)) if row.price else None
