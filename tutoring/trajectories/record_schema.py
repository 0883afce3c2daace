"""The schema of a line of our own trajectory format, apart from reviews, rule checks and program scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, ValidationError

from tutoring.models import Session
from tutoring.models.choices import EventKind, SessionOutcome
from tutoring.models.payloads import (
    AnyPayload,
    Count,
    Moment,
    PayloadError,
    ProblemReference,
    Record,
    describe_faults,
    parse_payload,
    read_payload,
)
from tutoring.protocols import Rules

SCHEMA = "hintbench-trajectory/4"

READ = (SCHEMA, "hintbench-trajectory/3", "hintbench-trajectory/2", "hintbench-trajectory/1")
"""The schemas that can be read.

Events have no version before schema 4. Records have no checks before schema 3, and no reviews in schema 1.
"""

Small = Annotated[int, Field(ge=0, lt=10_000)]


class RecordError(ValueError):
    """A record that does not fit the schema; the message names session, event and fields."""


class EventRecord(Record):
    """An event. `data` is the payload of its kind and version (tutoring.models.payloads)."""

    seq: int
    kind: Annotated[EventKind, Field(strict=False)]
    version: int = 1
    by: Annotated[str, Field(max_length=80)] | None = ""
    at: Moment | None
    data: dict[str, Any]


class ProtocolRecord(Record):
    """The frozen protocol of the session."""

    name: str
    version: int
    content_hash: str | None = None
    rules: Rules


class LanguageModelRecord(Record):
    """The version of the model that the session names, with the sampling parameters of every request."""

    label: Annotated[str, Field(max_length=80)]
    version: int
    content_hash: str
    parameters: dict[str, Any]


class TestRecord(Record):
    """The result of one test: CPU seconds and bytes."""

    name: str | None = None
    verdict: str | None = None
    time: float | None = None
    memory: int | None = None
    sample: bool | None = None


class JudgementRecord(Record):
    """The result of the execution, without hidden data."""

    verdict: str | None = None
    passed: Count | None = None
    total: Count | None = None
    policy: str | None = None
    judge_version: str | None = None
    isolation: str | None = None
    compiler: str | None = None
    near_limit: bool = False
    time_factor: float | None = None
    tests: list[TestRecord] = []


class TrajectoryRecord(Record):
    """A session. Reviews, rule checks and program scores are validated by their own modules; replays are not read."""

    schema_name: Literal[READ] = Field(validation_alias="schema", serialization_alias="schema")  # type: ignore[valid-type]
    id: Annotated[UUID, Field(strict=False)]
    problem: ProblemReference | None = None
    protocol: ProtocolRecord | None = None
    tutor: Annotated[str, Field(max_length=80)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    language_model: LanguageModelRecord | None = None
    language: Annotated[str, Field(max_length=20)]
    number: Small | None = None
    opened_at: Moment | None = None
    closed_at: Moment | None = None
    state: Annotated[Session.State, Field(strict=False)]
    outcome: Annotated[SessionOutcome, Field(strict=False)] | Literal[""]
    outcome_claimed: bool = False
    invalidated: bool | None = False
    code_generations: Small | None = None
    executions: Small | None = None
    judgement: JudgementRecord | None = None
    former_judgements: list[JudgementRecord] = []
    """The judgements before `judgement` that rejudgings replaced, the latest first."""
    source: dict[str, Any] | None = None
    events: list[EventRecord]
    reviews: list[dict[str, Any]] = []
    rule_checks: list[dict[str, Any]] = []
    near_misses: list[dict[str, Any]] = []
    replays: list[dict[str, Any]] = []


def check_record(record: Mapping[str, Any]) -> None:
    """Raise RecordError unless head and events fit their schemas and the events are numbered from 1."""
    session = f"session {record.get('id', 'without id')}"
    try:
        valid = TrajectoryRecord.model_validate(record, by_alias=True, by_name=False)
    except ValidationError as error:
        raise RecordError(f"{session}: {describe_faults(error, TrajectoryRecord)}") from None
    executions = 0
    for number, event in enumerate(valid.events, start=1):
        if event.seq != number:
            raise RecordError(
                f"{session}: event {number} has seq {event.seq}; an export for reviewers leaves events out and cannot "
                "be imported"
            )
        executions += (event.kind == EventKind.EXECUTION) - (event.kind == EventKind.EXECUTION_FAULT)
        if executions < 0:
            raise RecordError(f"{session}, event {number} ({event.kind}): no execution precedes it")
        try:
            parse_payload(event.kind, event.version, event.data)
        except PayloadError as error:
            raise RecordError(f"{session}, event {number} ({event.kind}): {error}") from None


def payload_of(event: Mapping[str, Any]) -> AnyPayload:
    """Return the payload of an event of a record. Raises PayloadError."""
    return read_payload(event["kind"], event.get("version", 1), event["data"])
