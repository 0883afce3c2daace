"""The model calls of a run. Each is paid for, so each needs what the budget and the spending caps leave."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from benchmark.methods import Role
from benchmark.model_calls.batches import Batches
from benchmark.model_calls.budget import Price, RunBudget, Spending
from benchmark.model_calls.rate_limit import RateLimitedProvider, RateLimiter, RateLimits
from benchmark.model_calls.stopping import USAGE_UNREPORTED, Stop
from benchmark.models import Generation
from benchmark.prompts import Prompt
from benchmark.providers import ModelReply, Parameters, Provider, RetryPolicy, complete
from benchmark.runner.progress import ExecutionProgress
from benchmark.runner.reply_store import ModelRole


class RoleCalls:
    """The calls of this process to the model of one role, within its rate limits."""

    def __init__(self, part: ModelRole, provider: Provider, runner: str, stop: Stop) -> None:
        limits = RateLimits(**part.metered.limits)
        self.part = part
        self.runner = runner
        self.price = Price.of_run(part.metered)
        self.limiter = RateLimiter(limits, stop)
        self.provider = RateLimitedProvider(provider, self.limiter, limits)


class PaidCalls:
    """The calls of this process to the models of a run, until the budget is used up or a stop is requested."""

    def __init__(
        self,
        calls: Mapping[Role, RoleCalls],
        budget: RunBudget,
        retry: RetryPolicy,
        stop: Stop,
        progress: ExecutionProgress,
    ) -> None:
        self.batches: Batches | None = None
        """What sends the requests in batches, if the run uses them."""
        self._calls = calls
        self._budget = budget
        self._retry = retry
        self._stop = stop
        self._progress = progress
        self._in_flight = 0

    @asynccontextmanager
    async def send(
        self, role: Role, prompt: Prompt, parameters: Parameters, key: str, refusal: str
    ) -> AsyncIterator[ModelReply]:
        """Yield the reply of the role's model; `refusal` says why a spending cap refuses the call, or is blank.

        The call is in flight until the block ends, in which the reply is stored. Batches compare each new batch with
        the caps, because the replies of an earlier one are paid for already.
        """
        if self.batches:
            self._stop.check()
            yield await self.batches.reply(key, prompt.messages, parameters)
            return
        if refusal:
            self._stop.request(refusal)
        tutor = self._calls.get("tutor")
        self._budget.request_stop(
            self._stop,
            self._progress.spent,
            self._calls["student"].price,
            in_flight=self._in_flight,
            others=[(self._progress.tutor_spent, tutor.price)] if tutor else (),
        )
        self._stop.check()
        self._in_flight += 1
        try:
            calls = self._calls[role]
            yield await complete(
                calls.provider, calls.part.spec.model, prompt.messages, parameters, retry=self._retry
            )
        finally:
            self._in_flight -= 1

    def record(self, role: Role, reply: Generation, spent: Spending) -> None:
        """Store what the role has spent since this reply. Request a stop if the budget needs tokens that it lacks."""
        if None in (reply.input_tokens, reply.output_tokens) and self._budget.needs_tokens:
            self._stop.request(USAGE_UNREPORTED)
        if role == "tutor":
            self._progress.tutor_spent = spent
        else:
            self._progress.spent = spent
        self._progress.on_change(self._progress)
