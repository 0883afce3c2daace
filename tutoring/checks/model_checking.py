"""Checks of recorded sessions by a model: one call per message, stored as findings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from benchmark.model_calls import caps, catalogue, ledger
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.ledger import Account
from benchmark.models import LanguageModel
from benchmark.models.spending import MICRO, Purpose
from benchmark.providers import (
    Message,
    ModelReply,
    ModelSpec,
    Parameters,
    ProviderError,
    RetryPolicy,
    complete,
    open_provider,
    parse_model_spec,
)
from tutoring.checks import model_checker
from tutoring.checks.contexts import message_contexts
from tutoring.checks.findings import to_finding
from tutoring.checks.recording import basis_of, record_check, repeat_check
from tutoring.models import RuleCheck, Session
from tutoring.models.payloads import MessageSent
from tutoring.rules import current_rule_set

logger = logging.getLogger(__name__)

MAXIMUM_CONCURRENT_CALLS = 8
"""Concurrent model calls for one session."""


def check_session_with_model(session: Session, model: LanguageModel) -> RuleCheck:
    """Check every message of the tutor with the model and store its answers as findings. The check freezes the row.

    If the same model with the same parameters has checked the same session with the same prompts, return that check
    as the latest without a call. Raise CapReachedError before a call that a spending cap refuses, ProviderError if a
    call fails permanently, and UnreadableAnswerError for an answer of another form. No check is stored then; the
    ledger has the calls that were paid for.
    """
    rules = current_rule_set()
    events = [event for event in session.events.all() if not event.out_of_protocol]
    prompt_hash = model_checker.prompt_hash(rules)
    detectors = {model_checker.NAME: model_checker.VERSION}
    problem = session.problem
    spec = parse_model_spec(model.spec)
    # Checks with the provider's default sampling have the basis that they had before models were rows.
    caller = [str(spec), model.parameters] if model.parameters else str(spec)
    basis = basis_of(caller, detectors, prompt_hash, problem and problem.content_hash, len(events))
    if (existing := repeat_check(session, basis)) is not None:
        return existing
    contexts = list(message_contexts(session, events, "right_or_wrong"))
    prompts = [
        model_checker.prompt(event.payload_as(MessageSent).text, context, rules)
        for event, context in contexts
    ]
    replies = _paid_replies(model, spec, prompts)
    findings = [
        to_finding(event, detection)
        for (event, _), reply in zip(contexts, replies, strict=True)
        for detection in model_checker.read_answer(reply.text, event.payload_as(MessageSent).text, rules)
    ]
    return record_check(
        session,
        basis,
        rules,
        findings,
        detectors=detectors,
        model=_model_name(replies, spec),
        language_model=catalogue.freeze(model),
        prompt_hash=prompt_hash,
    )


def _paid_replies(model: LanguageModel, spec: ModelSpec, prompts: list[str]) -> list[ModelReply]:
    """Return the replies to the prompts, and add their cost to the ledger, also if one of the calls fails."""
    account = Account.of_model(model, Purpose.MODEL_CHECK)
    replies: dict[int, ModelReply] = {}
    while missing := [number for number in range(len(prompts)) if number not in replies]:
        caps.refuse(account)
        paid: dict[int, ModelReply] = {}
        wanted = {number: prompts[number] for number in missing}
        try:
            parameters = Parameters.from_json(model.parameters)
            asyncio.run(_call_all(spec, parameters, wanted, paid, _below_cap(account, paid)))
        finally:
            ledger.record(account, map(_spending, paid.values()))
        replies |= paid
    return [replies[number] for number in range(len(prompts))]


def _spending(reply: ModelReply) -> Spending:
    usage = reply.usage
    return Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)


def _below_cap(account: Account, paid: Mapping[int, ModelReply]) -> Callable[[], bool]:
    """Return a function that returns whether the replies in `paid` cost less than every spending cap leaves."""
    left = caps.dollars_left(account)
    if left is None:
        return lambda: True
    return lambda: sum(account.microdollars(_spending(one)) or 0 for one in paid.values()) < left * MICRO


def _model_name(replies: list[ModelReply], spec: ModelSpec) -> str:
    """Return the model's name from the replies, or the requested model if there was no message to check."""
    return ", ".join(sorted({reply.model for reply in replies}))[:200] or str(spec)


async def _call_all(
    spec: ModelSpec,
    parameters: Parameters,
    prompts: Mapping[int, str],
    replies: dict[int, ModelReply],
    may_call: Callable[[], bool],
) -> None:
    """Store the reply to each prompt by number; no call begins once `may_call` is false. Raises ProviderError."""
    provider = open_provider(spec)
    limit = asyncio.Semaphore(MAXIMUM_CONCURRENT_CALLS)
    retry = RetryPolicy(announce=_log_retry)

    async def call(number: int) -> None:
        async with limit:
            if not may_call():
                return
            messages = [Message("user", prompts[number])]
            replies[number] = await complete(provider, spec.model, messages, parameters, retry=retry)

    try:
        async with asyncio.TaskGroup() as group:
            for number in prompts:
                group.create_task(call(number))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        await provider.aclose()


def _log_retry(seconds: float, error: ProviderError) -> None:
    logger.warning("a call is retried after %.0f seconds: %s", seconds, error)
