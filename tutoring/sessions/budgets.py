"""Budgets of a session, counted from its events."""

from __future__ import annotations

from dataclasses import dataclass

from tutoring.models import Event, Session
from tutoring.models.payloads import ModelDraft, ReplyFinished, SampleRunFinished, SampleRunRequested
from tutoring.protocols import Rules


@dataclass(frozen=True)
class SessionBudget:
    """Used and allowed amounts of one session."""

    code_generations_used: int
    code_generations_limit: int
    executions_used: int
    executions_limit: int
    stops_used: int
    stops_limit: int
    session_number: int
    session_limit: int
    sample_runs_used: int
    sample_runs_limit: int
    model_drafts_used: int
    model_drafts_limit: int

    @property
    def code_generations_left(self) -> int:
        return max(0, self.code_generations_limit - self.code_generations_used)

    @property
    def executions_left(self) -> int:
        return max(0, self.executions_limit - self.executions_used)

    @property
    def sample_runs_left(self) -> int:
        return max(0, self.sample_runs_limit - self.sample_runs_used)

    @property
    def model_drafts_left(self) -> int:
        return max(0, self.model_drafts_limit - self.model_drafts_used)

    @property
    def words(self) -> str:
        """The budget as a sentence for the tutor."""
        samples = (
            f"{self.sample_runs_left} of {self.sample_runs_limit} runs on the samples left. "
            if self.sample_runs_limit
            else ""
        )
        drafts = (
            f"{self.model_drafts_left} of {self.model_drafts_limit} model drafts left. "
            if self.model_drafts_limit
            else ""
        )
        return (
            f"{self.code_generations_left} of {self.code_generations_limit} generations of code and "
            f"{self.executions_left} of {self.executions_limit} "
            f"{'execution' if self.executions_limit == 1 else 'executions'} left. {samples}{drafts}"
            f"Session {self.session_words} on this problem."
        )

    @property
    def session_words(self) -> str:
        """The number of the session, with the limit unless it is a repeated session of the training, which has none."""
        if self.session_number > self.session_limit:
            return f"{self.session_number}"
        return f"{self.session_number} of {self.session_limit}"


def count_budget(session: Session, events: list[Event], rules: Rules) -> SessionBudget:
    """Return the budget of a session from all of its events (docs/spec.md 8.1).

    A failed execution, sample run or model draft does not count, nor does the debrief.
    """
    payloads = [
        event.payload for event in events if event.kind == Event.Kind.REPLY and not event.out_of_protocol
    ]
    replies = [reply for reply in payloads if isinstance(reply, ReplyFinished)]
    executions = sum(event.kind == Event.Kind.EXECUTION for event in events)
    runs = [
        event.payload for event in events if event.kind in (Event.Kind.SAMPLE_RUN, Event.Kind.SAMPLE_RESULT)
    ]
    faults = sum(event.kind == Event.Kind.EXECUTION_FAULT for event in events)
    drafts = [event.payload_as(ModelDraft) for event in events if event.kind == Event.Kind.MODEL_DRAFT]
    return SessionBudget(
        code_generations_used=sum(reply.generation is not None for reply in replies),
        code_generations_limit=rules.code_generations,
        executions_used=executions - faults,
        executions_limit=rules.executions,
        stops_used=sum(reply.stopped for reply in replies),
        stops_limit=rules.stops,
        session_number=session.number or 1,
        session_limit=rules.sessions,
        sample_runs_used=sum(isinstance(one, SampleRunRequested) for one in runs)
        - sum(isinstance(one, SampleRunFinished) and one.verdict is None for one in runs),
        sample_runs_limit=rules.sample_runs,
        model_drafts_used=sum(draft.turn is not None for draft in drafts),
        model_drafts_limit=rules.model_drafts,
    )
