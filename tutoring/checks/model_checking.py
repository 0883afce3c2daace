"""Asking a model what breaks the rules in recorded sessions, and recording its answers as findings."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging

from django.db import transaction

from benchmark.providers import (
    Message,
    ModelSpec,
    Parameters,
    Provider,
    ProviderError,
    Reply,
    Retry,
    complete,
    open_provider,
)
from tutoring.checks import model_checker
from tutoring.checks.contexts import message_contexts
from tutoring.checks.findings import to_finding
from tutoring.models import Finding, RuleCheck, Session
from tutoring.rules import current_rule_set

logger = logging.getLogger(__name__)

AT_ONCE = 8
"""Questions about one session that are asked side by side."""


def check_session_with_model(session: Session, spec: ModelSpec) -> RuleCheck:
    """Ask the model about every message of the tutor and store what it answers.

    A session that the same model was asked about before in the same words is not asked about again. Raises
    ProviderError when a call fails for good and UnreadableAnswerError when an answer cannot be read; then nothing is stored.
    """
    rules = current_rule_set()
    events = [event for event in session.events.all() if not event.out_of_protocol]
    prompt_hash = model_checker.prompt_hash(rules)
    detectors = {model_checker.NAME: model_checker.VERSION}
    problem = session.problem
    basis = [str(spec), detectors, prompt_hash, problem and problem.content_hash, len(events)]
    digest = hashlib.sha256(json.dumps(basis).encode()).hexdigest()
    existing = session.rule_checks.filter(basis=digest).first()
    if existing is not None:
        return existing
    read = list(message_contexts(session, events, "right_or_wrong"))
    questions = [model_checker.prompt(event.data["text"], context, rules) for event, context in read]
    replies = asyncio.run(_ask(spec, questions))
    found = [
        (event, detection)
        for (event, _), reply in zip(read, replies, strict=True)
        for detection in model_checker.read_answer(reply.text, event.data["text"], rules)
    ]
    with transaction.atomic():
        check, created = RuleCheck.objects.get_or_create(
            session=session,
            basis=digest,
            defaults={
                "rule_set": rules.version,
                "rule_set_hash": rules.content_hash,
                "detectors": detectors,
                "model": _returned(replies, spec),
                "prompt_hash": prompt_hash,
            },
        )
        if created:
            Finding.objects.bulk_create(to_finding(check, event, detection) for event, detection in found)
    return check


def _returned(replies: list[Reply], spec: ModelSpec) -> str:
    """The model as the provider named it; as it was asked for where there was nothing to ask."""
    return ", ".join(sorted({reply.model for reply in replies}))[:200] or str(spec)


async def _ask(spec: ModelSpec, questions: list[str]) -> list[Reply]:
    provider = open_provider(spec)
    room = asyncio.Semaphore(AT_ONCE)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_reply(provider, spec, room, question)) for question in questions]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        await provider.aclose()
    return [task.result() for task in tasks]


async def _reply(provider: Provider, spec: ModelSpec, room: asyncio.Semaphore, question: str) -> Reply:
    async with room:
        messages = [Message("user", question)]
        return await complete(provider, spec.model, messages, Parameters(), retry=Retry(announce=_log_wait))


def _log_wait(seconds: float, error: ProviderError) -> None:
    logger.warning("a question waits %.0f seconds before it is asked again: %s", seconds, error)
