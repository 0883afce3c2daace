"""Tests of models: one question, and what the reply says about the model's speed, cost and identity."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Price, Spending
from benchmark.model_calls.caps import CapReachedError
from benchmark.model_calls.ledger import Account
from benchmark.models import LanguageModel, ModelTest
from benchmark.models.owners import new_owner
from benchmark.models.spending import Purpose
from benchmark.providers import (
    REFUSED,
    Completed,
    Message,
    Parameters,
    ProviderError,
    TextDelta,
    open_provider,
    parse_model_spec,
)

logger = logging.getLogger(__name__)

QUESTION = "What is 17 + 25? Reply with the number."

TIMEOUT = 60.0
"""Seconds that a test may take. It is shorter than the lease of a test."""

PATIENCE = timedelta(seconds=10)
"""How long a test waits for a streamer."""

_LONGEST_TEXT = 500
_TESTS_AT_ONCE = 8


@dataclass(frozen=True)
class TestResult:
    """The reply to the question. Times are in seconds after the request; None: unknown, or no text arrived."""

    text: str
    first_text: float | None
    seconds: float
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    finish_reason: str
    model: str
    """The name that the provider returned."""
    cost: float | None
    """US dollars."""
    cached_input_tokens: int | None = None

    @property
    def spending(self) -> Spending:
        """The call and the tokens that it was billed for."""
        return Spending.of_reply(self.input_tokens, self.output_tokens, self.cached_input_tokens)


async def ask_model(row: LanguageModel, price: Price | None) -> TestResult:
    """Send the question to the model with the row's parameters, without retries. Raises ProviderError.

    `price` is that of the start of the call.
    """
    spec = parse_model_spec(row.spec)
    parameters = Parameters.from_json(row.parameters)
    provider = await asyncio.to_thread(open_provider, spec)
    text, first_text = "", None
    completed: Completed | None = None
    started = time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT):
            async for event in provider.stream(spec.model, [Message("user", QUESTION)], parameters):
                if isinstance(event, TextDelta):
                    first_text = first_text or time.monotonic() - started
                    text += event.text
                elif isinstance(event, Completed):
                    completed = event
    except TimeoutError:
        raise ProviderError("connection", f"The reply was not complete after {TIMEOUT:.0f} s.") from None
    finally:
        await provider.aclose()
    if completed is None:
        raise ProviderError("connection", "The stream ended without a finish marker.")
    usage = completed.usage
    spending = Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    return TestResult(
        text=text[:_LONGEST_TEXT],
        first_text=first_text,
        seconds=time.monotonic() - started,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        finish_reason=completed.finish_reason,
        model=completed.model,
        cost=None if spending.is_lower_bound else spending.cost(price),
        cached_input_tokens=usage.cached_input_tokens,
    )


def record_cost(account: Account, outcome: TestResult | ProviderError) -> None:
    """Add the cost of a test to the ledger; `account` is that of the start of the call.

    After a failure the cost is unknown, unless the provider refused the request.
    """
    if isinstance(outcome, TestResult):
        call = outcome.spending
    else:
        call = Spending(calls_broken_off=int(outcome.kind not in REFUSED))
    ledger.record(account, [call])


def open_account(row: LanguageModel) -> Account:
    """Return the account of a test that may begin now. Raises CapReachedError if a spending cap refuses it."""
    account = Account.of_model(row, Purpose.MODEL_TEST)
    caps.refuse(account)
    return account


def request_test(row: LanguageModel, person: User) -> ModelTest:
    """Store a test of the row, which a streamer claims."""
    return ModelTest.objects.create(model=row, content_hash=row.content_hash, requested_by=person)


def latest_test(row: LanguageModel) -> ModelTest | None:
    """Return the latest test of the row's current content, or None."""
    return row.tests.filter(content_hash=row.content_hash).order_by("-pk").first()


def passed_since(row: LanguageModel, moment: datetime) -> bool:
    """Return whether a test of the row that was requested after this moment got a reply."""
    return row.tests.filter(state=ModelTest.State.DONE, requested_at__gt=moment).exists()


def missed(test: ModelTest, now: datetime) -> bool:
    """Return whether no streamer has claimed the test in time; none claims it any more."""
    return test.state == ModelTest.State.WAITING and now - test.requested_at > PATIENCE


def claim_tests() -> list[ModelTest]:
    """Claim the tests that still wait for a streamer."""
    now = timezone.now()
    waiting = ModelTest.objects.waiting().filter(requested_at__gte=now - PATIENCE).order_by("pk")
    claimed = []
    for pk in waiting.values_list("pk", flat=True)[:_TESTS_AT_ONCE]:
        claimed += ModelTest.claim(new_owner(), 1, now, ("model_id",), id=pk)
    return claimed


async def perform_test(test: ModelTest) -> None:
    """Carry out a claimed test and store its result with its cost, or the error."""
    account: Account | None = None
    outcome: TestResult | ProviderError | None = None
    error = ""
    try:
        row = await LanguageModel.objects.aget(pk=test.model_id)
        account = await sync_to_async(open_account)(row)
        outcome = await ask_model(row, account.price)
    except CapReachedError as refused:
        error = str(refused)
    except ProviderError as failure:
        outcome, error = failure, failure.message
    except Exception as failure:
        logger.exception("the test of model %s failed", test.model_id)
        error = f"{type(failure).__name__} in the streamer"
    await sync_to_async(_store)(test, account, outcome, error)


@transaction.atomic
def _store(
    test: ModelTest, account: Account | None, outcome: TestResult | ProviderError | None, error: str
) -> None:
    """Store the result of a test with its cost, or the error. Without an outcome, no cost is recorded."""
    if account is not None and outcome is not None:
        record_cost(account, outcome)
    result = asdict(outcome) if isinstance(outcome, TestResult) else None
    test.end(ModelTest.State.DONE if result else ModelTest.State.FAILED, result=result, error=error)
