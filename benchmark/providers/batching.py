"""What a provider offers that answers many requests within a day for less than their usual price."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import Message, Parameters, Provider, StreamEvent


@dataclass(frozen=True)
class BatchLimits:
    """The most that one batch may hold."""

    requests: int
    bytes: int


@dataclass(frozen=True)
class BatchState:
    """How far a batch is.

    `ended_at` is None before its end; `answered` counts the requests that are done, failed ones too, as far as the
    provider says it; `failure` is why none of its requests was taken.
    """

    ended_at: datetime | None
    answered: int
    failure: ProviderError | None = None


def unanswered(name: str, why: str) -> ProviderError:
    """The error of a request that a provider of this name left unanswered when its batch ended."""
    return ProviderError("timeout", f"{name}: the batch ended before this request was answered ({why}).")


@dataclass(frozen=True)
class BatchResult:
    """What became of one request: the events of its reply, or why there is none."""

    name: str
    outcome: tuple[StreamEvent, ...] | ProviderError


class BatchingProvider(Provider, Protocol):
    """A provider that also takes batches.

    Everything raises ProviderError, and nothing else; nothing is retried.
    """

    limits: BatchLimits

    async def check_batches(self) -> None:
        """Asks the provider for something that costs nothing. Raises ProviderError when it has no batches."""
        ...

    def request(
        self, name: str, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> dict[str, Any]:
        """One request of a batch; `name` has at most 64 letters and digits and comes back with the result."""
        ...

    async def prepare_batch(self, requests: Sequence[dict[str, Any]]) -> Any:
        """What `create_batch` takes for these requests; nothing is charged yet."""
        ...

    async def create_batch(self, mark: str, prepared: Any) -> str:
        """The provider's id of the new batch. From now on it costs money.

        An error of the kinds in `errors.REFUSED` says that none was made; after any other there may be one.
        """
        ...

    async def find_batch(
        self, mark: str, names: Collection[str], since: datetime, known: Container[str]
    ) -> str | None:
        """The id of a batch that was created with this mark and whose id was lost; None: there is none.

        `names` are those of its requests; it was made after `since`; `known` ids are of other batches. Where the
        provider keeps no mark, it may take as long as batches of that time take to end.
        """
        ...

    async def batch_state(self, batch_id: str) -> BatchState:
        """How far the batch is."""
        ...

    def batch_results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """The results of a batch that has ended, in any order, as an asynchronous generator."""
        ...

    async def cancel_batch(self, batch_id: str) -> None:
        """Answer no more requests than are being answered; the batch then ends. One that has ended stays as it is."""
        ...
