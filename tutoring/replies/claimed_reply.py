"""A reply that a streamer has claimed.

Every write about it names its attempt and is dropped if a later attempt has claimed the reply. So a streamer that was
wrongly taken for dead changes nothing that its successor writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from benchmark.providers import Message, Parameters
from tutoring.models import Reply
from tutoring.replies.model_answer import ModelAnswer


@dataclass(frozen=True)
class ClaimedReply:
    """A reply that this process has claimed, with everything that the provider needs."""

    pk: int
    attempt: int
    session_id: UUID
    model_spec: str
    parameters: Parameters
    messages: tuple[Message, ...]
    live: bool
    """Whether the tutor sees the text while it arrives. If not, the reply appears when it is whole."""
    characters_per_second: int | None
    """The even pace at which the text appears. None: as it arrives."""
    maximum_seconds_shown: int | None
    """Seconds in which the longest reply appears, at a higher pace. None: the pace is the same for all."""
    shown_from: datetime | None
    """When the first word may appear, if the protocol delays the reply until it is whole."""
    answer: ModelAnswer | None
    """The whole answer, if an earlier attempt stored it; its text was shown up to piece `seq`, character `shown`."""
    seq: int = 0
    shown: int = 0

    @property
    def shown_attempt(self) -> int:
        """See `Reply.shown_attempt`."""
        return self.attempt if self.shown_from is None else 1

    def pace_of(self, answer: ModelAnswer) -> float | None:
        """Return the characters per second at which the answer appears, a function of its length alone.

        None: as it arrives.
        """
        if self.characters_per_second is None or self.maximum_seconds_shown is None:
            return self.characters_per_second
        return max(self.characters_per_second, len(answer.text) / self.maximum_seconds_shown)

    @property
    def is_paced(self) -> bool:
        """Whether the tutor may see the answer later than it arrives."""
        return self.shown_from is not None or (self.live and self.characters_per_second is not None)

    @property
    def log_fields(self) -> dict[str, Any]:
        """What a line of the log says of the reply; its text and the provider's message are in the rows."""
        return {
            "reply": self.pk,
            "session": str(self.session_id),
            "attempt": self.attempt,
            "model": self.model_spec,
        }

    def held_row(self) -> Reply | None:
        """Return the row of the reply, or None after another streamer has claimed it."""
        return Reply(pk=self.pk, attempt=self.attempt).claimed().select_related("message").first()


def shown_text(reply: Reply, attempt: int) -> str:
    """Return the text of the attempt that was stored for the tutor's page."""
    return "".join(reply.deltas.filter(attempt=attempt).order_by("seq").values_list("text", flat=True))
