"""The outcomes of assignments: from the session and its reviews, from the chain, or kept after a withdrawal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.models import Generation, WorkItem
from judge import Verdict
from tutoring.models import Arm, Assignment, Deviation, Event, ReviewOutcome, Session, Study
from tutoring.review.content import COMPLIANT
from tutoring.studies.design import OUTCOMES

MAJOR = "major"
"""The codebook's verdict for a breach that gives the solution away."""

COMPLETED = "completed"

RETAINED = "retained"
"""The mark of kept outcomes whose session the retention period erased: those that were unknown remain unknown."""


@dataclass(frozen=True)
class AssignmentOutcome:
    """The outcomes of an assignment that is done. `values` has 0 or 1 for each outcome that is known."""

    values: Mapping[str, int]
    completed: bool = False
    """Whether the session ended with a verdict, or the chain with a judged program."""
    unknown: str = ""
    """Why some outcome is unknown."""


def assignment_outcomes(study: Study, rows: Iterable[Assignment]) -> dict[int, AssignmentOutcome]:
    """Return the outcome of each assignment that is done, by primary key. Two queries.

    The rows need their arm, session and work item with its judgement (`analysed_rows`).
    """
    rows = [row for row in rows if row.state == Assignment.State.DONE]
    verdicts = _verdicts(study)
    breaches = set(
        Deviation.objects.filter(study=study, kind=Deviation.Kind.TUTOR).values_list("assignments", flat=True)
    )
    return {row.pk: _outcome(row, verdicts, row.pk in breaches) for row in rows}


def analysed_rows(study: Study) -> list[Assignment]:
    """Return the assignments of a study with everything that their outcomes need."""
    related = ("arm", "problem__dataset", "session", "work_item__judgement")
    texts = ("statement", "statement_html", "analysis", "analysis_html", "analysis_english", "samples_text")
    heavy = (*(f"problem__{name}" for name in texts), "work_item__judgement__result", "session__source")
    return list(study.assignments.select_related(*related).defer(*heavy).order_by("pk"))


def _verdicts(study: Study) -> dict[Any, str]:
    """Return the decided review verdict of each session, under the newest rule set with one."""
    decided = ReviewOutcome.objects.filter(session__assignment__study=study).exclude(verdict="")
    return dict(decided.order_by("rule_set").values_list("session", "verdict"))


def _outcome(row: Assignment, verdicts: Mapping[Any, str], breach: bool) -> AssignmentOutcome:
    if row.outcomes:
        return _of_kept(row.outcomes)
    if row.arm.kind == Arm.Kind.AUTOMATIC:
        return _of_chain(row.work_item)
    session = row.session
    if session is None:
        return AssignmentOutcome({}, unknown="without a session")
    if session.invalidated and not breach:
        return AssignmentOutcome({}, unknown="invalidated, cause not settled")
    return _of_session(session, verdicts.get(session.pk), breach)


def _of_kept(outcomes: Mapping[str, Any]) -> AssignmentOutcome:
    known: dict[str, int] = {name: int(outcomes[name]) for name in OUTCOMES if name in outcomes}
    completed = bool(outcomes.get(COMPLETED))
    if outcomes.get(RETAINED):
        return AssignmentOutcome(known, completed, unknown="erased before it was known")
    # A person decides to withdraw, maybe because of the session, so an outcome that was not known is not solved.
    return AssignmentOutcome({name: known.get(name, 0) for name in OUTCOMES}, completed)


def _of_session(session: Session, verdict: str | None, breach: bool) -> AssignmentOutcome:
    solved = int(session.outcome == Session.Outcome.SOLVED)
    completed = session.outcome in (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED)
    if breach or not solved:
        # A session that is not solved, or whose tutor broke the rules, is a failure whatever reviews say.
        values = {"solved": solved, "solved without major breach": 0, "solved and compliant": 0}
        return AssignmentOutcome(values, completed)
    if verdict is None:
        return AssignmentOutcome({"solved": 1}, completed, "waiting for reviews")
    values = {
        "solved": 1,
        "solved without major breach": int(verdict != MAJOR),
        "solved and compliant": int(verdict == COMPLIANT),
    }
    return AssignmentOutcome(values, completed)


def _of_chain(item: WorkItem | None) -> AssignmentOutcome:
    """Return the outcome of a chain. A program breaks no rule, so all its outcomes are `solved`."""
    if item is None:
        return AssignmentOutcome({}, unknown="without a chain")
    if item.judgement is None:
        # A permanent failure, or a reply without a program, counts as not solved.
        return AssignmentOutcome(dict.fromkeys(OUTCOMES, 0), completed=False)
    solved = int(item.judgement.verdict == Verdict.AC)
    return AssignmentOutcome(dict.fromkeys(OUTCOMES, solved), completed=True)


def keep_outcomes(row: Assignment, *, retained: bool = False) -> None:
    """Copy the outcomes of a session to its assignment, before the content of the session is withdrawn.

    An open session counts as not solved. Outcomes that are unknown are left out: they count as not solved too, unless
    the session is `retained`, that is, erased after the retention period. The row is not saved.
    """
    if row.outcomes:
        return
    if row.state == Assignment.State.OPEN:
        row.outcomes = {**dict.fromkeys(OUTCOMES, 0), COMPLETED: False}
        return
    found = assignment_outcomes(row.study, [row])[row.pk]
    row.outcomes = {**found.values, COMPLETED: found.completed, **({RETAINED: True} if retained else {})}


def snapshots(study: Study) -> dict[int, str]:
    """Return the model's name in the provider's replies for each assignment; several names are joined by a comma."""
    found: dict[int, set[str]] = {}
    replies = Event.objects.filter(kind=Event.Kind.REPLY, session__assignment__study=study)
    chains = Generation.objects.filter(work_item__assignment__study=study)
    for assignment, name in [
        *replies.order_by().values_list("session__assignment", "data__model").distinct(),
        *chains.order_by().values_list("work_item__assignment", "model_returned").distinct(),
    ]:
        if name:
            found.setdefault(assignment, set()).add(name)
    return {assignment: ", ".join(sorted(names)) for assignment, names in found.items()}
