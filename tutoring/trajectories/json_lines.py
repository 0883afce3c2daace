"""Trajectories as JSON lines: our own format, written and read without loss.

One line is one session: a head, its events, its submitted reviews, and what was found in it automatically. A session
that was imported keeps the head unchanged and is exported with it, so a trajectory may pass through several sites.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.pseudonyms import pseudonym
from benchmark.models import Judgement, Problem
from benchmark.text.storable import storable
from tutoring.checks import records as check_records
from tutoring.checks.checking import check_session
from tutoring.checks.findings import latest_check
from tutoring.models import Event, Review, RuleCheck, Session
from tutoring.models.payloads import AnyPayload, DialogueReading, DialogueReread, MessageSent, ReplyFinished
from tutoring.replay import records as replay_records
from tutoring.review import records as review_records
from tutoring.review.content import MalformedContentError
from tutoring.scores import records as score_records
from tutoring.sessions.projections import count_payload
from tutoring.sessions.recording import append_event
from tutoring.trajectories.record_schema import READ, SCHEMA, check_record, payload_of

ADDITIONS = ("reviews", "rule_checks", "near_misses", "replays")
"""The parts of a record that are added after the end of the session. An import stores those that are missing, but no
replays: records do not contain their runs."""

RECORDED = ("events__hint_cards", "reviews", "rule_checks__findings", "program_scores__judgement")
"""What to prefetch where many sessions are written."""


class TrajectoryError(Exception):
    """A file that is not a valid trajectory; the message names the file, the line and the fault."""


class DifferingRecordError(TrajectoryError):
    """A valid record that contradicts what is stored here. The others of its file can be imported."""


ScoreRecords = list[dict[str, Any]]
ReplayRecords = list[dict[str, Any]]


def to_record(
    session: Session,
    reviews: Iterable[Review] = (),
    checks: Iterable[RuleCheck] = (),
    scores: ScoreRecords | None = None,
    replays: ReplayRecords | None = None,
    *,
    events: Sequence[Event] | None = None,
) -> dict[str, Any]:
    """Return the session with these reviews, checks, program scores and replays as JSON values.

    `events` are those of the record; None: all of the session.
    """
    recorded = list(session.events.all()) if events is None else events
    head: dict[str, Any] = session.source.get("head") or _head(session, recorded)
    lines = [
        {
            "seq": event.seq,
            "kind": event.kind,
            "version": event.version,
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
        "events": lines,
        "reviews": review_records.to_records(reviews),
        "rule_checks": check_records.to_records(checks, recorded),
        "near_misses": scores or [],
        **({"replays": replays} if replays else {}),
    }


def to_lines(
    sessions: Iterable[Session],
    reviews_of: Callable[[Session], Iterable[Review]] = review_records.submitted_reviews,
    checks_of: Callable[[Session], Iterable[RuleCheck]] = check_records.recorded_checks,
    scores_of: Callable[[Session], ScoreRecords] = score_records.to_records,
    replays_of: Callable[[Session], ReplayRecords] = replay_records.to_records,
    *,
    events_of: Callable[[Session], Sequence[Event]] | None = None,
) -> Iterator[str]:
    """Yield one line of JSON for each session. Keys are sorted, so that equal sessions give equal bytes."""
    for session in sessions:
        additions = reviews_of(session), checks_of(session), scores_of(session), replays_of(session)
        record = to_record(session, *additions, events=events_of(session) if events_of else None)
        yield json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n"


def about_problem(problem: Problem) -> dict[str, str]:
    """Return the reference to the problem in the head of a trajectory."""
    return {
        "dataset": problem.dataset.name,
        "id": problem.external_id,
        "title": problem.title,
        "tier": problem.tier,
        "content_hash": problem.content_hash,
    }


def _head(session: Session, events: Iterable[Event]) -> dict[str, Any]:
    problem, protocol, model = session.problem, session.protocol, session.model
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
        "tutor": pseudonym(session.tutor) if session.tutor else _policy(session, events),
        "model": session.model_spec or None,
        "language_model": model
        and {
            "label": model.label,
            "version": model.version,
            "content_hash": model.content_hash,
            "parameters": model.parameters,
        },
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
        **_former_judgements(session.judgement),
        "source": session.source,
    }


def _policy(session: Session, events: Iterable[Event]) -> str | None:
    """Return the pseudonym of the policy that held the session; None for a session without a known tutor."""
    is_automatic = session.origin == Session.Origin.AUTOMATIC
    return next((event.by for event in events if event.by), None) if is_automatic else None


def _judgement(judgement: Judgement | None) -> dict[str, Any] | None:
    """Return the verdict of each test, without hidden input, answer or output."""
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
        "near_limit": judgement.near_limit,
        "time_factor": judgement.time_factor,
        "tests": tests,
    }


def _former_judgements(judgement: Judgement | None) -> dict[str, Any]:
    """Return the judgements that rejudgings replaced, the latest first; nothing if there is none."""
    former = []
    while judgement is not None and judgement.replaces is not None:
        judgement = judgement.replaces
        former.append(_judgement(judgement))
    return {"former_judgements": former} if former else {}


def outcome_claimed(record: dict[str, Any]) -> bool:
    """Return whether the record states an outcome (solved or not) without a verdict."""
    stated = record["outcome"] in (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED)
    return stated and not any(event["kind"] == Event.Kind.VERDICT for event in record["events"])


def read_json(content: str, where: str) -> Any:
    """Return the JSON value of a file or a line. Raises TrajectoryError, also for text that no database stores."""
    try:
        value = json.loads(content, parse_constant=_refuse_constant)
        if _unstorable(value):
            raise TrajectoryError(
                f"{where}: a text contains a NUL or half of a character, which cannot be stored."
            )
    except ValueError as error:
        raise TrajectoryError(f"{where}: not JSON ({error}). The file may be truncated.") from None
    except RecursionError:
        raise TrajectoryError(f"{where}: the JSON is nested too deeply.") from None
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _unstorable(value: object) -> bool:
    """Return whether a text contains a NUL or a lone surrogate, which JSON can escape but no database stores."""
    match value:
        case str():
            return storable(value) != value
        case list():
            return any(_unstorable(part) for part in value)
        case dict():
            return any(_unstorable(part) for pair in value.items() for part in pair)
    return False


def read_record(line: str, where: str) -> dict[str, Any]:
    """Return a validated line of our format as a record of the current schema. Raises TrajectoryError.

    The data of its events keep the version in which they were written.
    """
    record = read_json(line, where)
    if not isinstance(record, dict) or record.get("schema") not in READ:
        raise TrajectoryError(f"{where}: not a trajectory of schema {SCHEMA}.")
    try:
        check_record(record)
        record = _upgraded(record)
        review_records.check_records(record["reviews"])
        check_records.check_records(record["rule_checks"], len(record["events"]))
        for score in record["near_misses"]:
            score_records.check_record(score, record["events"])
    except KeyError as error:
        raise TrajectoryError(f"{where}: the key {error} is missing.") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise TrajectoryError(f"{where}: {error}.") from None
    return record | {"outcome_claimed": outcome_claimed(record)}


def _upgraded(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of any schema in the current one."""
    upgraded = {**{key: [] for key in ADDITIONS}, **record, "schema": SCHEMA}
    upgraded["events"] = [{"version": 1, "by": "", **event} for event in record["events"]]
    if record["schema"] in READ[2:]:
        upgraded["rule_checks"] = []
    return upgraded


def store_record(
    record: dict[str, Any], problem: Problem | None, *, read_here: bool = False
) -> Session | None:
    """Store a validated record as an imported session, or the events, reviews and checks of it that are missing here.

    Return None if nothing was missing. With `read_here`, this version read the record from a published dialogue: it
    replaces the attempt number, number of generations and problem that an older version read from the same dialogue.
    Raises DifferingRecordError if a session with the same id has other content or another review in the same slot, and
    TrajectoryError if a review does not fit.
    """
    try:
        with transaction.atomic():
            if not Session.objects.filter(pk=record["id"]).exists():
                session = _store_session(record, problem)
                _store_additions(session, record)
                return session
            session = Session.objects.get_locked(UUID(record["id"]))
            none: dict[str, Any] = {key: [] for key in ADDITIONS}
            here, given = to_record(session) | none, record | none
            if session.origin == Session.Origin.IMPORTED and _is_earlier(here, given):
                _store_continuation(session, record)
                return session
            if here != given and not _is_earlier(given, here) and not _same_dialogue(here, given):
                raise DifferingRecordError(
                    f"session {record['id']} exists with other content: another record has its id, both have "
                    "different events, or the same dialogue came in a file whose name states another outcome. To "
                    "keep the other record, import it on a new site (another HINTBENCH_VAR or DATABASE_URL); an "
                    "admin can invalidate the session here so that it is not counted."
                )
            reread = read_here and _store_reading(session, record, problem)
            return session if _store_additions(session, record) or reread else None
    except review_records.ReviewConflictError as error:
        raise DifferingRecordError(f"session {record['id']}: {error}.") from None
    except MalformedContentError as error:
        raise TrajectoryError(f"session {record['id']}: {error}.") from None


_NEVER_CHANGED = ("protocol", "tutor", "model", "language", "number", "opened_at", "source")
"""The fields of a head that stay the same in every export of a session."""


def _is_earlier(earlier: dict[str, Any], later: dict[str, Any]) -> bool:
    """Return whether the later record is the same session with more events at the end."""
    same = all(earlier.get(key) == later.get(key) for key in _NEVER_CHANGED)
    first, second = (one.get("problem") or {} for one in (earlier, later))
    same &= all(first.get(key) == second.get(key) for key in ("dataset", "id"))
    events = earlier["events"]
    return same and 0 < len(events) < len(later["events"]) and later["events"][: len(events)] == events


def _store_continuation(session: Session, record: dict[str, Any]) -> None:
    """Store the further events of a later record of an imported session, with its head and its additions."""
    checked, new = latest_check(session), record["events"][session.events.count() :]
    _set_columns(session, record, new)
    session.save()
    _store_events(session, new)
    # The scores of an earlier record may be of verdicts that a rejudging has replaced.
    generations = [score["generation"] for score in record["near_misses"]]
    session.program_scores.filter(judgement=None, generation__in=generations).delete()
    _store_additions(session, record)
    if checked is not None and latest_check(session) == checked:
        check_session(session)


_READING = tuple(DialogueReading.model_fields)
"""The fields that Hintbench reads from a published dialogue, and that a newer version may read differently."""

_ADDED_HERE = (Event.Kind.INVALIDATED, Event.Kind.REREAD, Event.Kind.REJUDGED)


def _same_dialogue(here: dict[str, Any], given: dict[str, Any]) -> bool:
    """Return whether two records contain the same published dialogue, whatever was read from it."""
    return "sha256" in (given.get("source") or {}) and _dialogue(here) == _dialogue(given)


def _dialogue(record: dict[str, Any]) -> tuple[Any, ...]:
    texts = [
        (event["kind"], *_texts(payload_of(event)))
        for event in record["events"]
        if event["kind"] not in _ADDED_HERE
    ]
    return (record.get("source") or {}).get("sha256"), record["outcome"], texts


def _texts(payload: AnyPayload) -> tuple[str, ...]:
    match payload:
        case MessageSent(text=text, sent=sent):
            return text, sent
        case ReplyFinished(text=text):
            return (text,)
    return ()


def _store_reading(session: Session, record: dict[str, Any], problem: Problem | None) -> bool:
    """Store what this version reads from a dialogue; return whether it differs from what is stored.

    The recorded events stay. A new event records the change, and head and columns are updated.
    """
    head = session.source["head"]
    before = {key: head[key] for key in _READING}
    reading = {key: record[key] for key in _READING}
    if problem is None or problem == session.problem:
        reading["problem"] = before["problem"]
    if reading == before:
        return False
    session.source = {**session.source, "head": head | reading}
    session.number = reading["number"]
    session.problem = problem or session.problem
    session.save(update_fields=["source", "number", "problem"])
    payload = DialogueReread.model_validate({**reading, "before": before}, by_alias=True, by_name=False)
    append_event(session, payload)
    return True


def _store_additions(session: Session, record: dict[str, Any]) -> int:
    """Store the reviews, checks and program scores that are missing here; return their number."""
    added = review_records.store_records(session, record["reviews"])
    added += check_records.store_records(session, record["rule_checks"])
    return added + score_records.store_records(session, record["near_misses"])


def _store_session(record: dict[str, Any], problem: Problem | None) -> Session:
    session = Session(
        pk=UUID(record["id"]),
        origin=Session.Origin.IMPORTED,
        problem=problem,
        model_spec=record.get("model") or "",
        language=record["language"],
        number=record.get("number"),
        opened_at=record.get("opened_at"),
    )
    _set_columns(session, record, record["events"])
    session.save(force_insert=True)
    _store_events(session, record["events"])
    return session


def _set_columns(session: Session, record: dict[str, Any], new: Sequence[dict[str, Any]]) -> None:
    """Set the head of the session and the columns that a later record may change; count the new events."""
    session.source = {
        "head": {key: value for key, value in record.items() if key not in ("events", *ADDITIONS)}
    }
    session.closed_at = record.get("closed_at")
    session.state = record["state"]
    session.outcome = record["outcome"]
    session.outcome_claimed = record["outcome_claimed"]
    session.invalidated = bool(record.get("invalidated"))
    for event in new:
        count_payload(session, payload_of(event))


def _store_events(session: Session, events: Sequence[dict[str, Any]]) -> None:
    Event.objects.bulk_create(
        Event(
            session=session,
            seq=event["seq"],
            kind=event["kind"],
            version=event["version"],
            by=event["by"] or "",
            at=event["at"],
            data=event["data"],
        )
        for event in events
    )
