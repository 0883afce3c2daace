"""The part of a rejudging that sessions and studies take when it is applied.

The recorded events stay: the tutor saw the former verdict, and the tutor's page continues to show it. An event is
appended with both verdicts, the outcome in figures follows the new one, and each study concerned gets a deviation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Max, Q
from django.db.models.fields.json import KeyTextTransform

import judge
from accounts.pseudonyms import pseudonym
from benchmark.judging import judged, replacement_of
from benchmark.models import Generation, Rejudging
from tutoring.arms.stopping import PASSES_SAMPLES, RIGHT, WRONG
from tutoring.models import Assignment, Deviation, Event, ProgramScore, Session, Study
from tutoring.models.choices import SessionOutcome
from tutoring.models.payloads import ReplacedVerdict, VerdictReplaced
from tutoring.studies.replacement import record_deviation

_AT_ONCE = 500
"""Rows that one statement writes."""


class _Replacement(NamedTuple):
    """The columns of the new judgement and the former verdict."""

    judgement: int
    former: str
    verdict: str
    passed: int | None
    total: int | None
    near_limit: bool
    time_factor: float
    problem_hash: str
    judge_version: str | None


def replace_verdicts(*, rejudging: Rejudging, person: User | None, at: datetime, **_: Any) -> None:
    """Replace the judgements of sessions and scores, append the events, and record the deviations of studies.

    Call it in the transaction that applies the rejudging, before the judgements of runs are replaced.
    """
    replacements = _replacements(rejudging)
    former = judged(rejudging).values("before")
    scores: dict[UUID, list[ProgramScore]] = defaultdict(list)
    for score in ProgramScore.objects.filter(judgement__in=former).order_by("generation"):
        scores[score.session_id].append(score)
    chosen = Session.objects.filter(Q(judgement__in=former) | Q(pk__in=list(scores)))
    # The lock and the aggregate need two queries: PostgreSQL locks no grouped rows.
    sessions = list(chosen.select_for_update(of=("self",)).order_by("pk"))
    seqs = dict(
        Event.objects.filter(session__in=chosen).order_by().values_list("session").annotate(Max("seq"))
    )
    letters = _letters(rejudging, replacements)
    events = []
    for session in sessions:
        payload = _replace(session, scores[session.pk], replacements, letters, rejudging)
        events.append(
            Event(
                session=session,
                seq=seqs.get(session.pk, 0) + 1,
                kind=payload.KIND,
                version=payload.VERSION,
                actor=person,
                by=pseudonym(person) if person else "",
                data=payload.to_json(),
                at=at,
            )
        )
    columns = ["judgement", "outcome", "former_outcome", "program_outcomes"]
    Session.objects.bulk_update(sessions, columns, batch_size=_AT_ONCE)
    ProgramScore.objects.filter(judgement__in=former).update(judgement=replacement_of(rejudging, "judgement"))
    Event.objects.bulk_create(events, batch_size=_AT_ONCE)
    _record_deviations(rejudging, person)


def _replacements(rejudging: Rejudging) -> dict[int, _Replacement]:
    """Return the replacements by the keys of the former judgements."""
    rows = judged(rejudging).annotate(version=KeyTextTransform("judge_version", "after__result"))
    return {
        row[0]: _Replacement(*row[1:])
        for row in rows.values_list(
            "before",
            "after",
            "before__verdict",
            "after__verdict",
            "after__passed",
            "after__total",
            "after__near_limit",
            "after__time_factor",
            "after__problem_hash",
            "version",
        )
    }


def _letters(rejudging: Rejudging, replacements: Mapping[int, _Replacement]) -> dict[int, str]:
    """Return the new letter of `Session.program_outcomes` by the key of the former judgement on all tests."""
    answers = Generation.objects.filter(hidden_judgement__in=judged(rejudging).values("before"))
    letters = {}
    for hidden, samples, verdict in answers.order_by().values_list(
        "hidden_judgement", "sample_judgement", "sample_judgement__verdict"
    ):
        of_samples = replacements[samples].verdict if samples in replacements else verdict
        if replacements[hidden].verdict == judge.Verdict.AC:
            letters[hidden] = RIGHT
        else:
            letters[hidden] = PASSES_SAMPLES if of_samples == judge.Verdict.AC else WRONG
    return letters


def _replace(
    session: Session,
    scores: Iterable[ProgramScore],
    replacements: Mapping[int, _Replacement],
    letters: Mapping[int, str],
    rejudging: Rejudging,
) -> VerdictReplaced:
    """Change the columns of the session, without saving it, and return the payload of its event."""
    programs = []
    outcomes = list(session.program_outcomes)
    digest = None
    for score in scores:
        assert score.judgement_id is not None
        found = replacements[score.judgement_id]
        digest = found.problem_hash
        if found.verdict != found.former:
            programs.append(
                ReplacedVerdict(
                    generation=score.generation,
                    former=_verdict(found.former),
                    verdict=judge.Verdict(found.verdict),
                )
            )
        if score.judgement_id in letters and score.generation <= len(outcomes):
            outcomes[score.generation - 1] = letters[score.judgement_id]
    session.program_outcomes = "".join(outcomes)
    executed = replacements.get(session.judgement_id or 0)
    if executed is not None:
        _replace_outcome(session, executed)
        digest = executed.problem_hash
    return VerdictReplaced(
        rejudging=rejudging.pk,
        reason=rejudging.reason,
        problem_hash=digest,
        judgement=executed and executed.judgement,
        former=_verdict(executed.former) if executed else None,
        verdict=_verdict(executed.verdict) if executed else None,
        passed=executed and executed.passed,
        total=executed and executed.total,
        judge_version=executed and executed.judge_version,
        near_limit=executed and executed.near_limit,
        time_factor=executed and executed.time_factor,
        outcome=SessionOutcome(session.outcome),
        programs=programs,
    )


def _verdict(text: str) -> judge.Verdict | None:
    return judge.Verdict(text) if text else None


def _replace_outcome(session: Session, executed: _Replacement) -> None:
    session.judgement_id = executed.judgement
    if session.outcome not in (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED):
        return
    solved = executed.verdict == judge.Verdict.AC
    outcome = Session.Outcome.SOLVED if solved else Session.Outcome.NOT_SOLVED
    if outcome != session.outcome:
        session.former_outcome = session.seen_outcome
        session.outcome = outcome


def _record_deviations(rejudging: Rejudging, person: User | None) -> None:
    """Record in each study that its programs were judged again.

    The deviation says nothing of verdicts, because researchers read it while the results are locked.
    """
    programs = judged(rejudging)
    of_sessions = Q(session__in=programs.filter(session__isnull=False).values("session"))
    of_chains = Q(work_item__in=programs.filter(work_item__isnull=False).values("work_item"))
    rows: dict[int, list[Assignment]] = defaultdict(list)
    for row in Assignment.objects.filter(of_sessions | of_chains).order_by("pk"):
        rows[row.study_id].append(row)
    for study in Study.objects.filter(pk__in=list(rows)).order_by("pk"):
        record_deviation(
            study,
            Deviation.Kind.REJUDGED,
            f"The programs of {len(rows[study.pk])} sessions were judged again (rejudging {rejudging.pk}), and the "
            f"new verdicts count. Reason: {rejudging.reason}",
            rows[study.pk],
            by=person,
            data={"rejudging": rejudging.pk, "problems": [one["problem"] for one in rejudging.changes]},
        )
