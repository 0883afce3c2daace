"""What a model has said in one reply: collected by the streamer, kept with the reply while it is handed out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from benchmark.providers import Completed, TokenUsage


@dataclass
class Answer:
    """What has arrived, whole when `completed` says how it ended. Times are ISO 8601."""

    text: str = ""
    reasoning: str = ""
    first_text_at: str | None = None
    ended_at: str | None = None
    """When the last word came, or the failure."""
    completed: Completed | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Answer:
        completed = data["completed"]
        if completed is not None:
            completed = Completed(**{**completed, "usage": TokenUsage(**completed["usage"])})
        return cls(**{**data, "completed": completed})
