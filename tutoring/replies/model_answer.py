"""The answer of a model to one request, which the streamer collects and stores until the tutor has seen it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from benchmark.providers import Completed, TokenUsage


@dataclass
class ModelAnswer:
    """The text that has arrived. It is whole if `completed` says how the answer ended. Times are ISO 8601."""

    text: str = ""
    reasoning: str = ""
    first_text_at: str | None = None
    ended_at: str | None = None
    """When the last text arrived, or when the request failed."""
    completed: Completed | None = None
    calls_broken_off: int = 0
    """Calls that failed before any text, and that the provider may bill. They are in the ledger."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ModelAnswer:
        """Return the answer that `to_json` gave."""
        completed = data["completed"]
        if completed is not None:
            usage, blocks = TokenUsage(**completed["usage"]), tuple(completed.get("blocks", ()))
            completed = Completed(**{**completed, "usage": usage, "blocks": blocks})
        return cls(**{**data, "completed": completed})
