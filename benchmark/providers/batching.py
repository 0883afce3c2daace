"""The interface of providers with batches: many requests, answered within a day at a lower price."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from benchmark.providers.errors import ProviderError
from benchmark.providers.protocol import Message, Parameters, Provider, StreamEvent


@dataclass(frozen=True)
class BatchLimits:
    """The largest batch, in requests and bytes."""

    requests: int
    bytes: int


@dataclass(frozen=True)
class BatchState:
    """The progress of a batch.

    `ended_at` is None before its end; `answered` counts completed requests, failed ones too, if the provider reports
    them; `failure` is the reason why the provider rejected the whole batch.
    """

    ended_at: datetime | None
    answered: int
    failure: ProviderError | None = None


def unanswered(name: str, why: str) -> ProviderError:
    """Return the error of a request without an answer at the end of its batch; `name` is the provider's name."""
    return ProviderError("timeout", f"{name}: the batch ended before this request was answered ({why}).")


@dataclass(frozen=True)
class BatchResult:
    """The result of one request: the events of its reply, or the error."""

    name: str
    outcome: tuple[StreamEvent, ...] | ProviderError


class BatchingProvider(Provider, Protocol):
    """A provider that also accepts batches.

    All methods raise ProviderError and nothing else; none retries.
    """

    limits: BatchLimits

    async def check_batches(self) -> None:
        """Send a request without cost. Raises ProviderError when the provider has no batches."""
        ...

    def request(
        self, name: str, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> dict[str, Any]:
        """Return one request of a batch; `name` has at most 64 letters and digits and identifies the result."""
        ...

    async def prepare_batch(self, requests: Sequence[dict[str, Any]]) -> Any:
        """Return the argument of `create_batch` for these requests, without any cost."""
        ...

    async def create_batch(self, marker: str, prepared: Any) -> str:
        """Create a batch, which costs money, and return the provider's id of it.

        After an error of the kinds in `errors.REFUSED` no batch was created; after any other there may be one.
        """
        ...

    async def find_batch(
        self, marker: str, names: Collection[str], since: datetime, known: Container[str]
    ) -> str | None:
        """Return the id of a batch that was created with this marker and whose id was not stored, or None.

        `names` are the names of its requests. The batch was created after `since`; `known` ids belong to other batches.
        If the provider stores no marker, the search may last until batches from that time have ended.
        """
        ...

    async def batch_state(self, batch_id: str) -> BatchState:
        """Return the progress of the batch."""
        ...

    def batch_results(self, batch_id: str) -> AsyncIterator[BatchResult]:
        """Yield the results of a batch that has ended, in any order, as an asynchronous generator."""
        ...

    async def cancel_batch(self, batch_id: str) -> None:
        """Cancel the requests that are not answered yet, after which the batch ends. An ended batch does not change."""
        ...
