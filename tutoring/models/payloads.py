"""Schemas of what events record: one pydantic model for each kind of event, with a version.

`Event.data` holds a payload as JSON and `Event.version` the version of its schema. New events and imported files are
validated in full: an unknown field or a wrong type is refused. Events of older versions are upgraded when they are
read; their stored JSON does not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
)

import judge
from tutoring.models.choices import AbandonReason, EventKind, SessionOutcome

Mode = Literal["talk", "code", "debrief"]
"""What a message is for: to talk, to request a program, or to talk after the end of the session."""

Phase = Literal["debrief"]


def _parse_moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, BeforeValidator(_parse_moment), PlainSerializer(datetime.isoformat)]
"""A time, ISO 8601 in JSON. A time without a zone, as some imported files have, is UTC."""


def _parse_zoned_moment(value: object) -> object:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


ZonedMoment = Annotated[AwareDatetime, BeforeValidator(_parse_zoned_moment)]
"""A time with its zone, ISO 8601 in JSON."""

Count = Annotated[int, Field(ge=0, lt=2**31)]
"""A number that a column of integers can store."""

Seconds = Annotated[float, Field(ge=0)]
Outcome = Annotated[SessionOutcome, Field(strict=False)]
Verdict = Annotated[judge.Verdict, Field(strict=False)]


class Record(BaseModel):
    """A JSON object whose fields are all known. Only fields with a default may be absent."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class RuleSetReference(Record):
    """The version of a rule set, with the hash of its content."""

    version: Count
    content_hash: Annotated[str, Field(max_length=64)]


class Payload(Record):
    """The data of an event of one kind."""

    KIND: ClassVar[EventKind]
    VERSION: ClassVar[int] = 2
    """Version of the schema. Version 1 lacks the fields that early releases did not write."""

    phase: Phase | None = None
    """The phase of an event after the end of the session; no budget, rule check or figure counts it."""

    def to_json(self) -> dict[str, Any]:
        """Return the payload as `Event.data` stores it. Fields that have their default are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class ConsentGiven(Record):
    """The consent under which a session was started."""

    text_hash: str
    accepted_at: Moment


class SessionOpened(Payload):
    """A session was started. `prompt` is the first message that the model gets."""

    KIND = EventKind.OPENED

    prompt: str
    problem_hash: str | None
    protocol: str | None
    protocol_hash: str | None
    model_spec: str | None
    consent: ConsentGiven | None


class DetectionRecord(Record):
    """A passage of a draft, `text[start:end]`, that may break a clause of the rules."""

    clause: str
    start: Count
    end: Count
    explanation: str
    weight: float
    detector: str
    version: Count


class WarnedDraft(Record):
    """A draft for which the tutor got a warning."""

    at: Moment
    text: str
    detections: list[DetectionRecord]


class DraftCheckRecord(Record):
    """The findings of the draft check in a message, and in the drafts before it."""

    rule_set: int | None
    rule_set_hash: str
    mode: str
    detections: list[DetectionRecord]
    drafts: list[WarnedDraft]


class GuardRefusal(Record):
    """A reason why the guard refused a draft: a clause of the codebook, or "cap", "code", "length" or "execute"."""

    clause: str
    quotation: str
    explanation: str


class TutorDraft(Record):
    """A draft of a tutor's model: its message, or the whole reply if that is not an answer (`fault` says why).

    `diagnosis` is private: the student never gets it.
    """

    text: str
    diagnosis: str = ""
    level: Annotated[int, Field(ge=0, le=4)] | None = None
    act: Literal["talk", "code", "execute"] | None = None
    refusals: list[GuardRefusal] = []
    fault: str = ""


GUARD_DECISIONS = {
    "sent": "sent",
    "off": "sent unchecked",
    "guard_exhausted": "every draft refused",
    "unparsable": "two replies were not valid JSON",
}
"""The decisions of the guard about a turn, in words."""


class TutorTurn(Record):
    """The drafts of a tutor's model in one turn, oldest first, and what the guard decided.

    `guard`: "sent", the last draft passed; "off", there was no guard; "guard_exhausted" and "unparsable", the neutral
    sentence was sent instead. `level` is the level that the model gave its message; null for the neutral sentence.
    """

    model: str
    guard: Literal["sent", "off", "guard_exhausted", "unparsable"]
    level: Annotated[int, Field(ge=0, le=4)] | None
    drafts: list[TutorDraft]

    @property
    def decision(self) -> str:
        """The decision of the guard in words."""
        return GUARD_DECISIONS[self.guard]


class DraftUse(Record):
    """The use of the model draft in event `draft`.

    "unchanged": the tutor put it into the message field and sent it; "edited": put it there and sent another text;
    "discarded": never put it there.
    """

    draft: Count
    use: Literal["unchanged", "edited", "discarded"]


class MessageSent(Payload):
    """The tutor sent a message: `text` as typed, `sent` as the model gets it."""

    KIND = EventKind.MESSAGE
    VERSION = 5
    """Version 3 adds `intended_level`, version 4 `turn`, version 5 `model_drafts`."""

    mode: Mode | None
    text: str
    sent: str
    check: DraftCheckRecord | None = None
    fresh: bool = False
    """Whether the message begins a new dialogue: the model gets it after the opening prompt alone."""
    intended_level: Annotated[int, Field(ge=0, le=4)] | None = None
    """Level of help that the tutor chose before writing; null: none was chosen, or the protocol does not ask."""
    turn: TutorTurn | None = None
    """The drafts of a tutor's model; null for the messages of people and of fixed policies."""
    model_drafts: list[DraftUse] = []
    """What became of each model draft that the page offered since the message before."""


class ReplyStopRequested(Payload):
    """The tutor stopped the reply that was being written."""

    KIND = EventKind.STOP

    reply: int | None


class ReplyRequestedAgain(Payload):
    """Another reply to the same message was requested: by the tutor, or with the prompt `sent` by the protocol."""

    KIND = EventKind.ASKED_AGAIN

    message: int | None
    sent: str | None = None


class TokenUsage(Record):
    """Tokens of one reply as the provider counts them; null where it does not say."""

    input_tokens: Count | None
    output_tokens: Count | None
    cached_input_tokens: Count | None
    reasoning_tokens: Count | None


class MaskedPassage(Record):
    """A passage of a reply, `text[start:end]`, that the protocol hides from the tutor because it names the model."""

    start: Count
    end: Count


class ReplyFinished(Payload):
    """The model replied. `message` is the number of the message's event; null means unknown, as in imported files."""

    KIND = EventKind.REPLY

    reply: int | None
    message: int | None
    text: str
    unseen_text: str
    """Text that the model had written and the tutor had not seen when the reply was stopped."""
    reasoning: str
    stopped: bool
    code_requested: bool | None
    hidden: bool = Field(validation_alias="withheld", serialization_alias="withheld")
    """Whether the protocol hides the reply's program from the tutor, because nobody requested one."""
    generation: Annotated[int, Field(ge=1)] | None
    """Number of the code generation that the reply counts as."""
    code: str | None
    extraction_rule: str | None
    model: str | None
    finish_reason: str | None
    request_id: str | None
    usage: TokenUsage | None
    attempts: Count | None
    started_at: Moment | None
    first_text_at: Moment | None
    received_at: Moment | None
    shown_from: Moment | None
    late_by: Seconds | None
    """Seconds between the scheduled time and the end of the reply; null without a schedule."""
    masked: list[MaskedPassage] = []
    blocks: list[dict[str, Any]] = []
    """Blocks besides the text that the next request returns to the provider: signed thinking, encrypted reasoning."""
    calls_broken_off: Count = 0
    """Calls that failed before any text, which the provider may bill; then the model was called again."""


class ReplyRestarted(Payload):
    """An attempt at a reply broke off and another one started."""

    KIND = EventKind.REPLY_RESTARTED

    reply: int | None
    attempt: Count | None
    reason: str
    partial_text: str


class ReplyFailed(Payload):
    """A reply failed permanently. `error_kind` is the kind of provider error, or "spending_limit"."""

    KIND = EventKind.REPLY_FAILED

    reply: int | None
    error_kind: str = Field(validation_alias="kind", serialization_alias="kind")
    message: str
    partial_text: str
    shown_from: Moment | None
    late_by: Seconds | None
    calls_broken_off: Count = 0
    """As in `ReplyFinished`, without the last call."""


class ExecutionRequested(Payload):
    """The program in event `program` was submitted for judging."""

    KIND = EventKind.EXECUTION
    VERSION = 3

    generation: int | None
    program: int | None
    judgement: int | None
    turn: TutorTurn | None = None
    """The drafts of a tutor's model that decided the execution; null otherwise."""


class ExecutionFailed(Payload):
    """The judge failed, so the execution does not count."""

    KIND = EventKind.EXECUTION_FAULT

    judgement: int | None
    fault: str


class VerdictRecorded(Payload):
    """The program was judged. `failed_test` counts from 1; `time` is in CPU seconds.

    `near_limit`: a slightly different time would have changed the verdict. `time_factor` multiplied the time limit
    in addition to the factor of the language. Both are None in older records.
    """

    KIND = EventKind.VERDICT

    judgement: int | None
    verdict: Verdict
    passed: Count | None
    total: Count | None
    samples_only: bool
    policy: str | None
    judge_version: str | None
    isolation: str | None
    failed_test: Annotated[int, Field(ge=1)] | None
    time: Seconds | None
    near_limit: bool | None = None
    time_factor: Annotated[float, Field(gt=0)] | None = None


class SampleRunRequested(Payload):
    """The program in event `program` was submitted for a run on the samples, which spends no execution."""

    KIND = EventKind.SAMPLE_RUN
    VERSION = 1

    generation: int | None
    program: int | None
    judgement: int | None


class SampleRunFinished(Payload):
    """A run on the samples ended. `failed` are the numbers of the failed samples, from 1.

    After a fault of the judge, `verdict` is null and the run does not count.
    """

    KIND = EventKind.SAMPLE_RESULT
    VERSION = 1

    judgement: int | None
    verdict: Verdict | None
    passed: Count | None
    total: Count | None
    failed: list[Annotated[int, Field(ge=1)]]
    fault: str = ""


class DraftRequested(Payload):
    """The tutor requested a draft of the next message from the protocol's tutor model."""

    KIND = EventKind.DRAFT_REQUESTED
    VERSION = 1


class ModelDraft(Payload):
    """The tutor model answered the request in event `request`, or failed. Nothing was sent to the student.

    `turn` holds its drafts with the decisions of the guard, null after a failure. `text` is the draft that the page
    offers, masked if the protocol hides the model. It is blank if the guard refused all drafts, if no reply was an
    answer, and if the model proposes to execute the program (`act`). `error_kind` is the kind of provider error, or
    "spending_limit"; blank without a failure. `cost` is that of the complete replies in US dollars, null if the price
    or the tokens are unknown. `calls_broken_off` are the other calls that the provider may bill.
    """

    KIND = EventKind.MODEL_DRAFT
    VERSION = 1

    request: Count
    text: str
    act: Literal["talk", "code", "execute"] | None
    turn: TutorTurn | None
    usage: list[TokenUsage]
    cost: Annotated[float, Field(ge=0)] | None
    calls_broken_off: Count = 0
    error_kind: str = ""
    message: str = ""


class DraftInserted(Payload):
    """The tutor put the model draft in event `draft` into the message field."""

    KIND = EventKind.DRAFT_INSERTED
    VERSION = 1

    draft: Count


class SessionClosed(Payload):
    """The session ended. `why` is the tutor's choice from the list of reasons."""

    KIND = EventKind.CLOSED
    VERSION = 1

    reason: str
    outcome: Outcome
    why: Annotated[AbandonReason, Field(strict=False)] | None = None


class CommandRefused(Payload):
    """A command was refused with `message`."""

    KIND = EventKind.REFUSED
    VERSION = 1

    action: str
    message: str


class SessionInvalidated(Payload):
    """An admin excluded the session from all figures."""

    KIND = EventKind.INVALIDATED
    VERSION = 1

    reason: str


class ReplacedVerdict(Record):
    """A program of the session whose verdict was replaced: the number of its generation and both verdicts."""

    generation: Count
    former: Verdict | None
    verdict: Verdict


class VerdictReplaced(Payload):
    """The programs of the session were judged again later, and the new verdicts count in figures.

    The events before it stay what happened: the tutor saw the former verdict. `former` and the fields up to
    `time_factor` are of the executed program, null if it was not judged again. `outcome` is the outcome that figures
    count. `programs` are the programs whose verdicts changed. `rejudging` is null if it took place on another site.
    """

    KIND = EventKind.REJUDGED
    VERSION = 1

    rejudging: int | None
    reason: str
    problem_hash: str | None
    judgement: int | None
    former: Verdict | None
    verdict: Verdict | None
    passed: Count | None
    total: Count | None
    judge_version: str | None
    near_limit: bool | None
    time_factor: Annotated[float, Field(gt=0)] | None
    outcome: Outcome
    programs: list[ReplacedVerdict] = []


class ProblemReference(Record):
    """A problem as exported records name it."""

    dataset: str | None = None
    id: str
    title: str | None = None
    tier: str | None = None
    content_hash: str | None = None


class DialogueReading(Record):
    """The content that a version of Hintbench reads from a published dialogue."""

    number: Count | None
    code_generations: Count
    problem: ProblemReference | None


class DialogueReread(Payload):
    """A newer version of Hintbench read the published dialogue again, with another result."""

    KIND = EventKind.REREAD

    number: Count | None
    code_generations: Count
    problem: ProblemReference | None
    before: DialogueReading


AnyPayload = (
    SessionOpened
    | MessageSent
    | ReplyStopRequested
    | ReplyRequestedAgain
    | ReplyFinished
    | ReplyRestarted
    | ReplyFailed
    | ExecutionRequested
    | ExecutionFailed
    | VerdictRecorded
    | SampleRunRequested
    | SampleRunFinished
    | DraftRequested
    | ModelDraft
    | DraftInserted
    | SessionClosed
    | CommandRefused
    | SessionInvalidated
    | DialogueReread
    | VerdictReplaced
)

P = TypeVar("P", bound=Payload)


def final_verdict(
    payloads: Sequence[AnyPayload],
) -> tuple[VerdictRecorded | VerdictReplaced | None, judge.Verdict | None]:
    """Return the event with the verdict that counts, and the verdict that the tutor saw if a rejudging replaced it."""
    recorded = next((one for one in reversed(payloads) if isinstance(one, VerdictRecorded)), None)
    for payload in reversed(payloads):
        if isinstance(payload, VerdictReplaced) and payload.verdict is not None:
            return payload, recorded.verdict if recorded else payload.former
    return recorded, None


SCHEMAS: dict[str, type[AnyPayload]] = {schema.KIND: schema for schema in get_args(AnyPayload)}
"""The current schema of each kind of event."""


class PayloadError(ValueError):
    """Data that does not fit the schema of its event; the message names the fields and what is expected."""


Data = Mapping[str, Any]
Upgrade = Callable[[Data], dict[str, Any]]


def _add(**fields: Any) -> Upgrade:
    """Return an upgrade that adds these fields where they are absent."""
    return lambda data: {**fields, **data}


def _upgrade_reply(data: Data) -> dict[str, Any]:
    unknown = ("reply", "message", "extraction_rule", "request_id", "attempts")
    added = ("received_at", "shown_from", "late_by")
    upgraded = {**dict.fromkeys(unknown + added), "unseen_text": "", "withheld": False, **data}
    usage = upgraded.get("usage")
    if isinstance(usage, dict):
        upgraded["usage"] = {**dict.fromkeys(TokenUsage.model_fields), **usage}
    return upgraded


def _upgrade_message(data: Data) -> dict[str, Any]:
    check = data.get("check")
    if not isinstance(check, dict):
        return dict(data)
    absent: dict[str, Any] = {
        "rule_set": None,
        "rule_set_hash": "",
        "mode": "",
        "detections": [],
        "drafts": [],
    }
    return {**data, "check": {**absent, **check}}


_UPGRADES: dict[tuple[str, int], Upgrade] = {
    (EventKind.OPENED, 1): _add(
        problem_hash=None, protocol=None, protocol_hash=None, model_spec=None, consent=None
    ),
    (EventKind.MESSAGE, 1): _upgrade_message,
    (EventKind.MESSAGE, 2): dict,
    (EventKind.MESSAGE, 3): dict,
    (EventKind.MESSAGE, 4): dict,
    (EventKind.STOP, 1): _add(reply=None),
    (EventKind.ASKED_AGAIN, 1): _add(message=None),
    (EventKind.REPLY, 1): _upgrade_reply,
    (EventKind.REPLY_RESTARTED, 1): _add(reply=None, attempt=None),
    (EventKind.REPLY_FAILED, 1): _add(reply=None, shown_from=None, late_by=None),
    (EventKind.EXECUTION, 1): _add(program=None, judgement=None),
    (EventKind.EXECUTION, 2): dict,
    (EventKind.EXECUTION_FAULT, 1): _add(judgement=None),
    (EventKind.VERDICT, 1): _add(
        judgement=None, policy=None, judge_version=None, isolation=None, failed_test=None, time=None
    ),
    (EventKind.REREAD, 1): _add(problem=None),
}
"""For each kind and version, the function that returns its data in the next version."""


def read_payload(kind: str, version: int, data: Data) -> AnyPayload:
    """Return the payload of a stored event of any version; fields that no version knows are ignored.

    Raises PayloadError.
    """
    return _validate(kind, version, data, extra="ignore")


def parse_payload(kind: str, version: int, data: Data) -> AnyPayload:
    """Return the payload of an event from outside. Raises PayloadError, also for an unknown field."""
    return _validate(kind, version, data, extra="forbid")


def _validate(kind: str, version: int, data: Data, extra: Literal["ignore", "forbid"]) -> AnyPayload:
    schema = SCHEMAS[kind]
    if not 1 <= version <= schema.VERSION:
        raise PayloadError(f"version {version} is unknown; the versions are 1 to {schema.VERSION}")
    for older in range(version, schema.VERSION):
        data = _UPGRADES[kind, older](data)
    try:
        return schema.model_validate(data, extra=extra, by_alias=True, by_name=False)
    except ValidationError as error:
        raise PayloadError(describe_faults(error, schema)) from None


def describe_faults(
    error: ValidationError, schema: type[BaseModel], forms: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return which fields are wrong, and what is expected of each, in one line. `forms`: see `faults_by_field`."""
    return "; ".join(f"field {where}: {text}" for where, text in faults_by_field(error, schema, forms))


def faults_by_field(
    error: ValidationError, schema: type[BaseModel], forms: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[str, str]]:
    """Return the path of each wrong field, such as `arms.0.name`, with what is expected of it.

    `forms` names, for patterns of the schema, what a text that matches consists of.
    """
    fields = ", ".join(field.serialization_alias or name for name, field in schema.model_fields.items())
    found = []
    for fault in error.errors(include_url=False):
        where = ".".join(map(str, fault["loc"]))
        match fault["type"]:
            case "extra_forbidden" if len(fault["loc"]) == 1:
                text = f"unknown; expected: {fields}"
            case "extra_forbidden":
                text = "unknown"
            case "missing":
                text = f"missing{_expected(schema, where)}"
            case "too_short" | "string_too_short":
                text = f"at least {fault['ctx']['min_length']} needed"
            case "string_pattern_mismatch" if fault["ctx"]["pattern"] in forms:
                text = f"must be {forms[fault['ctx']['pattern']]}, not {_shortened(fault['input'])}"
            case _:
                expected = re.sub(r"^\w+ should", "must", fault["msg"].removeprefix("Value error, "))
                text = f"{expected}, not {_shortened(fault['input'])}"
        found.append((where, text))
    return found


def _expected(schema: type[BaseModel], field: str) -> str:
    described = field_types(schema).get(field)
    return f"; expected: {described}" if described else ""


@cache
def field_types(schema: type[BaseModel]) -> dict[str, str]:
    """Return the type of each field of the schema in words, such as "text or null"."""
    described = schema.model_json_schema(by_alias=True, mode="serialization")
    definitions = described.get("$defs", {})
    return {name: _in_words(kind, definitions) for name, kind in described["properties"].items()}


_WORDS = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null",
    "object": "object",
}  # fmt: skip


def _in_words(kind: Data, definitions: Data) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return _choice(definitions[name].get("enum", ())) or name
    if choices := kind.get("anyOf") or kind.get("oneOf"):
        return " or ".join(_in_words(one, definitions) for one in choices)
    if values := kind.get("enum") or ([kind["const"]] if "const" in kind else []):
        return _choice(values)
    if places := kind.get("prefixItems"):
        return f"list of {len(places)} values"
    if kind["type"] == "array":
        return f"list of {_in_words(kind['items'], definitions)}"
    return "ISO 8601 time" if kind.get("format") == "date-time" else _WORDS[kind["type"]]


def _choice(values: Sequence[str]) -> str:
    return " or ".join(f"`{value}`" for value in values)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
