"""Checks of drafts by a model, as the streamer performs them: one call per request, without retries."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.caps import CapReachedError
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.ledger import Account
from benchmark.models.owners import new_owner
from benchmark.providers import (
    Message,
    ModelReply,
    ModelSpecError,
    Parameters,
    ProviderError,
    RetryPolicy,
    complete,
    parse_model_spec,
)
from tutoring.checks import model_checker
from tutoring.checks.contexts import draft_context
from tutoring.checks.draft_checker import DraftQuestion
from tutoring.models import DraftCheckRequest, Session
from tutoring.protocols import rules_of_session
from tutoring.replies.model_drafts import OpenProvider
from tutoring.rules import RuleSet
from tutoring.sessions.spending import may_be_billed

logger = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=3)
"""How long a page waits for an answer. No older request is claimed."""

CALL_LIMIT = 20.0
"""Seconds that a call may take, shorter than the lease. An answer that comes after PATIENCE is stored for the next
check of the same draft, because a broken-off call may be billed too."""


class _UnwantedError(Exception):
    """The error that the dialogue has continued since the request."""


_NOT_CALLED = (
    _UnwantedError,
    CapReachedError,
    CatalogueError,
    ModelSpecError,
    DraftCheckRequest.DoesNotExist,
)
"""Why the model is not called about a claimed draft."""


@dataclass(frozen=True)
class _Check:
    """A claimed request with the question, the rules for its answer and the account of the call."""

    row: DraftCheckRequest
    question: DraftQuestion
    rules: RuleSet
    account: Account


def claim_draft_checks() -> list[DraftCheckRequest]:
    """Claim the requests whose page still waits. Older ones are deleted with their texts.

    A request whose streamer ended fails, because the provider may bill the call.
    """
    now = timezone.now()
    requests = DraftCheckRequest.objects
    if lost := list(requests.lost(now).values_list("pk", flat=True)):
        requests.filter(pk__in=lost).held().update(
            state=DraftCheckRequest.State.FAILED, owner="", lease_until=None, text=""
        )
    waiting = list(requests.waiting().order_by("pk").values_list("pk", "requested_at"))
    fresh = [pk for pk, requested_at in waiting if now - requested_at <= PATIENCE]
    if len(fresh) < len(waiting):
        requests.waiting().filter(requested_at__lt=now - PATIENCE).delete()
    return [one for pk in fresh for one in DraftCheckRequest.claim(new_owner(), 1, now, id=pk)]


async def check_draft(claimed: DraftCheckRequest, open_provider: OpenProvider) -> None:
    """Send a claimed draft to the checker model, and store its findings with their cost.

    A request that is not paid for is deleted. Neither drafts nor answers are logged.
    """
    try:
        check = await sync_to_async(_read)(claimed)
        await _ask(check, open_provider)
    except _NOT_CALLED:
        await sync_to_async(claimed.claimed().delete)()
    except Exception as error:  # noqa: BLE001  (its message could quote the draft)
        logger.error("draft check %s failed: %s in the streamer", claimed.pk, type(error).__name__)


async def _ask(check: _Check, open_provider: OpenProvider) -> None:
    """Call the model once and store the outcome. However the call ends, the ledger contains it if it may be billed."""
    spec = parse_model_spec(check.question.model.spec)
    parameters = Parameters.from_json(check.question.model.parameters)
    reply, billed = None, True
    try:
        async with asyncio.timeout(CALL_LIMIT):
            provider = await open_provider(spec)
            messages = [Message("user", check.question.prompt)]
            reply = await complete(provider, spec.model, messages, parameters, retry=RetryPolicy(attempts=1))
    except (ProviderError, TimeoutError) as error:
        kind = error.kind if isinstance(error, ProviderError) else "timeout"
        billed = may_be_billed(kind)
        logger.warning("draft check %s failed: %s", check.row.pk, kind)
    finally:
        await asyncio.shield(sync_to_async(_store)(check, reply, billed))


def _read(claimed: DraftCheckRequest) -> _Check:
    """Return what the call needs. Raises one of _NOT_CALLED if the model is not to be called."""
    row = DraftCheckRequest.objects.select_related("session__problem", "session__protocol").get(pk=claimed.pk)
    session = row.session
    rules = rules_of_session(session)
    context = draft_context(session, list(session.events.all()), rules.tutor_may_say)
    question = DraftQuestion.about(row.text, context, rules)
    if session.state != Session.State.OPEN or question.basis != row.basis:
        raise _UnwantedError
    account = question.account(session)
    caps.refuse(account)
    return _Check(row, question, rules.codebook, account)


@transaction.atomic
def _store(check: _Check, reply: ModelReply | None, billed: bool) -> None:
    """End the request and add the call to the ledger; without a reply, `billed` says whether it may be billed."""
    if reply is None and not billed:
        check.row.claimed().delete()
        return
    call, findings = Spending(calls_broken_off=1), []
    if reply is not None:
        usage = reply.usage
        call = Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
        found = model_checker.read_answer_about_draft(reply.text, check.row.text, check.rules)
        findings = [(one.clause, one.start, one.end, one.explanation) for one in found]
    ledger.record(check.account, [call])
    check.row.end(
        DraftCheckRequest.State.FAILED if reply is None else DraftCheckRequest.State.DONE,
        text="",
        findings=findings,
        microdollars=check.account.microdollars(call),
    )
