"""Trajectories as JSON lines: our own format, written and read without loss.

One line is one session: a head, all of its events, its submitted reviews, and what was found in it automatically. A
session that was read from such a line keeps the head word for word and gives it back when it is exported again, so a
trajectory may travel any way round.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

import judge
from accounts.pseudonyms import pseudonym
from benchmark.models import Judgement, Problem
from tutoring.checks import records as check_records
from tutoring.models import Event, Review, RuleCheck, Session
from tutoring.review import records as review_records
from tutoring.review.content import MalformedContentError
from tutoring.scores import records as near_miss_records
from tutoring.sessions.session_action import append_event, lock_session

SCHEMA = "hintbench-trajectory/3"

READ = (SCHEMA, "hintbench-trajectory/2", "hintbench-trajectory/1")
"""The schemas that are read. Records of 2 have no checks, those of 1 no reviews either."""

ADDITIONS = ("reviews", "rule_checks", "near_misses")
"""What comes to a session after its end, and may be here already in part."""

RECORDED = ("events", "reviews", "rule_checks__findings", "near_misses")
"""What to prefetch where many sessions are written."""


class TrajectoryError(Exception):
    """A file that cannot be read as trajectories; the message names the file, the line and what is wrong."""


NearMissRecords = list[dict[str, Any]]


def to_record(
    session: Session,
    reviews: Iterable[Review] = (),
    checks: Iterable[RuleCheck] = (),
    near_misses: NearMissRecords | None = None,
) -> dict[str, Any]:
    """The session with all of its events, these reviews, checks and near misses as plain JSON values."""
    head: dict[str, Any] = session.source.get("head") or _head(session)
    recorded = list(session.events.all())
    events = [
        {
            "seq": event.seq,
            "kind": event.kind,
            "by": event.by,
            "at": event.at.isoformat() if event.at else None,
            "data": event.data,
        }
        for event in recorded
    ]
    return {
        **head,
        "schema": SCHEMA,
        "outcome_claimed": session.outcome_claimed,
        "invalidated": session.invalidated,  # an imported session may have been invalidated here
        "events": events,
        "reviews": review_records.to_records(reviews),
        "rule_checks": check_records.to_records(checks, recorded),
        "near_misses": near_misses or [],
    }


def to_lines(
    sessions: Iterable[Session],
    reviews_of: Callable[[Session], Iterable[Review]] = review_records.submitted_reviews,
    checks_of: Callable[[Session], Iterable[RuleCheck]] = check_records.recorded_checks,
    near_misses_of: Callable[[Session], NearMissRecords] = near_miss_records.to_records,
) -> Iterator[str]:
    """One line of JSON a session, with its line end; keys in order, so that equal sessions are equal bytes."""
    for session in sessions:
        record = to_record(session, reviews_of(session), checks_of(session), near_misses_of(session))
        yield json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n"


def about_problem(problem: Problem) -> dict[str, str]:
    """What a trajectory's head says of its problem."""
    return {
        "dataset": problem.dataset.name,
        "id": problem.external_id,
        "title": problem.title,
        "tier": problem.tier,
        "content_hash": problem.content_hash,
    }


def _head(session: Session) -> dict[str, Any]:
    problem, protocol = session.problem, session.protocol
    return {
        "schema": SCHEMA,
        "id": str(session.pk),
        "problem": problem and about_problem(problem),
        "protocol": protocol
        and {
            "name": protocol.name,
            "version": protocol.version,
            "content_hash": protocol.content_hash,
            "rules": protocol.rules,
        },
        "tutor": pseudonym(session.tutor) if session.tutor else None,
        "model": session.model_spec or None,
        "language": session.language,
        "number": session.number,
        "opened_at": session.opened_at.isoformat() if session.opened_at else None,
        "closed_at": session.closed_at.isoformat() if session.closed_at else None,
        "state": session.state,
        "outcome": session.outcome,
        "invalidated": session.invalidated,
        "code_generations": session.code_generations,
        "executions": session.executions,
        "judgement": _judgement(session.judgement),
        "source": session.source,
    }


def _judgement(judgement: Judgement | None) -> dict[str, Any] | None:
    """The verdict by test, without a byte of hidden input, answer or output."""
    if judgement is None or judgement.result is None:
        return None
    kept = ("name", "verdict", "time", "memory", "sample")
    tests = [{key: test[key] for key in kept} for test in judgement.result["tests"]]
    about = {key: judgement.result[key] for key in ("policy", "judge_version", "isolation", "compiler")}
    return {
        "verdict": judgement.verdict,
        "passed": judgement.passed,
        "total": judgement.total,
        **about,
        "tests": tests,
    }


def outcome_claimed(record: dict[str, Any]) -> bool:
    """Return whether the record states that the problem was solved, or not, without a verdict that says so."""
    stated = record["outcome"] in (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED)
    return stated and not any(event["kind"] == Event.Kind.VERDICT for event in record["events"])


def read_json(content: str, where: str) -> Any:
    """The JSON value in a file or a line, fit for any database. Raises TrajectoryError."""
    try:
        value = json.loads(content)
        if _unstorable(value):
            raise TrajectoryError(
                f"{where}: a text holds a NUL or half of a character, which cannot be stored."
            )
    except ValueError as error:
        raise TrajectoryError(f"{where}: not JSON ({error}). Was the file cut?") from None
    except RecursionError:
        raise TrajectoryError(f"{where}: the JSON is nested too deeply.") from None
    return value


def _unstorable(value: object) -> bool:
    """Whether an escape has smuggled in a character that no database stores."""
    match value:
        case str():
            return re.search("[\0\ud800-\udfff]", value) is not None
        case list():
            return any(_unstorable(part) for part in value)
        case dict():
            return any(_unstorable(part) for pair in value.items() for part in pair)
    return False


def read_record(line: str, where: str) -> dict[str, Any]:
    """A line of our format as a record whose shape has been checked. Raises TrajectoryError."""
    record = read_json(line, where)
    if not isinstance(record, dict) or record.get("schema") not in READ:
        raise TrajectoryError(f"{where}: not a trajectory of schema {SCHEMA}.")
    if record["schema"] != SCHEMA:
        record = {"reviews": [], **record, "schema": SCHEMA, "rule_checks": []}
    record = {"near_misses": [], **record}
    try:
        _check_head(record)
        for number, event in enumerate(record["events"], start=1):
            if event["seq"] != number:
                raise ValueError(f"event {number} has seq {event['seq']}")
            _check_event(event)
        for review in record["reviews"]:
            review_records.check_record(review)
        for check in record["rule_checks"]:
            check_records.check_record(check, len(record["events"]))
        for near_miss in record["near_misses"]:
            near_miss_records.check_record(near_miss, record["events"])
    except KeyError as error:
        raise TrajectoryError(f"{where}: the key {error} is missing.") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise TrajectoryError(f"{where}: {error}.") from None
    return record | {"outcome_claimed": outcome_claimed(record)}


_DATA_KEYS: dict[str, set[str]] = {
    Event.Kind.OPENED: {"prompt"},
    Event.Kind.MESSAGE: {"mode", "text", "sent"},
    Event.Kind.REPLY: {
        "text", "reasoning", "stopped", "code_requested", "generation", "code", "model", "finish_reason",
        "usage", "started_at", "first_text_at",
    },
    Event.Kind.REPLY_RESTARTED: {"reason", "partial_text"},
    Event.Kind.REPLY_FAILED: {"kind", "message", "partial_text"},
    Event.Kind.EXECUTION: {"generation"},
    Event.Kind.EXECUTION_FAULT: {"fault"},
    Event.Kind.VERDICT: {"verdict", "passed", "total", "samples_only"},
    Event.Kind.CLOSED: {"reason", "outcome"},
    Event.Kind.REFUSED: {"action", "message"},
    Event.Kind.INVALIDATED: {"reason"},
    Event.Kind.REREAD: {"number", "code_generations", "before"},
}  # fmt: skip
"""What the pages read of each kind of event."""


def _check_head(record: dict[str, Any]) -> None:
    """Raises KeyError, TypeError or ValueError for what could not be stored or shown."""
    UUID(record["id"])
    Session.State(record["state"])
    if record["outcome"]:
        Session.Outcome(record["outcome"])
    for key, longest in (("language", 20), ("model", 200), ("tutor", 80)):
        value = record[key] if key == "language" else record.get(key)
        if value is not None and not (isinstance(value, str) and len(value) <= longest):
            raise ValueError(f"{key} must be a text of at most {longest} characters")
    for key in ("code_generations", "executions", "number"):
        value = record.get(key)
        if value is not None and not (type(value) is int and 0 <= value < 10_000):
            raise ValueError(f"{key} must be a whole number")
    for key in ("opened_at", "closed_at"):
        if record.get(key) is not None:
            datetime.fromisoformat(record[key])
    for key in ("problem", "protocol", "judgement", "source"):
        if not isinstance(record.get(key) or {}, dict):
            raise TypeError(f"{key} must be an object or null")
    if protocol := record.get("protocol"):
        limit = protocol["rules"]["code_generations"]
        if not (
            isinstance(protocol["name"], str) and type(protocol["version"]) is int and type(limit) is int
        ):
            raise ValueError("protocol must have a name, a whole version and rules with code_generations")
    for test in (record.get("judgement") or {}).get("tests", []):
        if not isinstance(test, dict):
            raise TypeError("judgement must hold tests that are objects")


def _check_event(event: dict[str, Any]) -> None:
    kind, data = Event.Kind(event["kind"]), event["data"]
    missing = _DATA_KEYS.get(kind, set()) - data.keys()
    if missing:
        raise ValueError(f"event {event['seq']} ({kind}) has no {', '.join(sorted(missing))}")
    texts = [data[key] for key in ("prompt", "text", "sent", "reasoning", "partial_text") if key in data]
    texts += [data.get("code") or "", event.get("by") or ""]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"event {event['seq']} ({kind}) holds something else than text")
    if kind == Event.Kind.VERDICT:
        judge.Verdict(data["verdict"])
    if not isinstance(data.get("usage") or {}, dict):
        raise TypeError(f"event {event['seq']} ({kind}): usage must be an object or null")
    _check_draft_check(data.get("check") or {}, f"event {event['seq']} ({kind})")
    for moment in (event["at"], data.get("started_at"), data.get("first_text_at")):
        if moment is not None:
            datetime.fromisoformat(moment)


def _check_draft_check(check: Any, where: str) -> None:
    """Raises TypeError unless the check of a message is of the shape in which messages record it."""
    drafts = check.get("drafts", []) if isinstance(check, dict) else None
    if not isinstance(drafts, list) or not all(
        isinstance(draft, dict)
        and isinstance(draft.get("text"), str)
        and isinstance(draft.get("detections"), list)
        and all(isinstance(detection, dict) for detection in draft["detections"])
        for draft in drafts
    ):
        raise TypeError(f"{where}: check must hold drafts with text and detections")


def store_record(
    record: dict[str, Any], problem: Problem | None, *, read_here: bool = False
) -> Session | None:
    """Store a checked record as an imported session, or the reviews and checks of it that are not here yet.

    With `read_here`, this version read the record out of a published dialogue: if an older version read the same
    dialogue otherwise, its attempt number, count of generations and problem are replaced. Returns None when all of
    the record is here already. Raises TrajectoryError when a session with the same id but other content is here, or
    when a review does not fit.
    """
    existing = Session.objects.filter(pk=record["id"]).first()
    try:
        with transaction.atomic():
            if existing is None:
                session = _store_session(record, problem)
                _store_additions(session, record)
                return session
            here, given = to_record(existing), record | {key: [] for key in ADDITIONS}
            if here != given and not _same_dialogue(here, given):
                raise TrajectoryError(
                    f"session {record['id']} is here already, with other content: another record has its id, or "
                    "the same dialogue came in a file whose name states another outcome. Nothing recorded is changed, "
                    "so leave that file out. To have the other record, import it on a new site (another HINTBENCH_VAR "
                    "or DATABASE_URL); an admin can invalidate the session that is here, so that it is not counted."
                )
            session = lock_session(existing.pk)
            reread = read_here and _store_reading(session, record, problem)
            return session if _store_additions(session, record) or reread else None
    except (review_records.ReviewConflictError, MalformedContentError) as error:
        raise TrajectoryError(f"session {record['id']}: {error}.") from None


_READING = ("number", "code_generations", "problem")
"""What a version of Hintbench reads out of a published dialogue: another version may read it otherwise."""

_ADDED_HERE = (Event.Kind.INVALIDATED, Event.Kind.REREAD)


def _same_dialogue(here: dict[str, Any], given: dict[str, Any]) -> bool:
    """Return whether two records hold the same published dialogue, however a version of Hintbench read it."""
    return "sha256" in (given.get("source") or {}) and _as_told(here) == _as_told(given)


def _as_told(record: dict[str, Any]) -> tuple[Any, ...]:
    told = [
        (event["kind"], event["data"].get("text"), event["data"].get("sent"))
        for event in record["events"]
        if event["kind"] not in _ADDED_HERE
    ]
    return (record.get("source") or {}).get("sha256"), record["outcome"], told


def _store_reading(session: Session, record: dict[str, Any], problem: Problem | None) -> bool:
    """Take over what this version reads out of a dialogue; return whether that differs from what is here.

    The recorded events stay. A new event says what changed, and the head and its columns follow it.
    """
    head = session.source["head"]
    before = {key: head[key] for key in _READING}
    reading = {key: record[key] for key in _READING}
    if problem is None or problem == session.problem:
        reading["problem"] = before["problem"]
    if reading == before:
        return False
    append_event(session, Event.Kind.REREAD, {**reading, "before": before})
    session.source = {**session.source, "head": head | reading}
    session.number, session.code_generations = reading["number"], reading["code_generations"]
    session.problem = problem or session.problem
    session.save(update_fields=["source", "number", "code_generations", "problem"])
    return True


def _store_additions(session: Session, record: dict[str, Any]) -> int:
    """Store the reviews, checks and near misses that are not here yet; returns how many."""
    added = review_records.store_records(session, record["reviews"])
    added += check_records.store_records(session, record["rule_checks"])
    return added + near_miss_records.store_records(session, record["near_misses"])


def _store_session(record: dict[str, Any], problem: Problem | None) -> Session:
    head = {key: value for key, value in record.items() if key not in ("events", *ADDITIONS)}
    session = Session.objects.create(
        pk=UUID(record["id"]),
        origin=Session.Origin.IMPORTED,
        problem=problem,
        model_spec=record.get("model") or "",
        language=record["language"],
        number=record.get("number"),
        source={"head": head},
        opened_at=record.get("opened_at"),
        closed_at=record.get("closed_at"),
        state=record["state"],
        outcome=record["outcome"],
        outcome_claimed=record["outcome_claimed"],
        invalidated=bool(record.get("invalidated")),
        code_generations=record.get("code_generations") or 0,
        executions=record.get("executions") or 0,
        late_replies=sum(bool(event["data"].get("late_by")) for event in record["events"]),
    )
    Event.objects.bulk_create(
        Event(
            session=session,
            seq=event["seq"],
            kind=event["kind"],
            by=event.get("by") or "",
            at=event["at"],
            data=event["data"],
        )
        for event in record["events"]
    )
    return session
