"""The figures of automatic tutors: each run of `session-tutor` beside people and the neutral arm of its student."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean
from uuid import UUID

from django.db.models import Exists, Max, OuterRef, QuerySet, Subquery
from django.urls import reverse

from benchmark.model_calls.budget import Spending
from benchmark.model_calls.ledger import Account
from benchmark.models import Generation, Run, RunTutor, WorkItem
from benchmark.models.metering import MeteredRun
from benchmark.models.spending import MICRO
from benchmark.providers.worlds import StoppingRule
from judge import Verdict
from tutoring.arms.figures.contrasts import Contrast, Rate, arm_rate, contrast, human_tallies, rate
from tutoring.arms.figures.rows import PEOPLE, ArmRows, ArmsError, LeftOut, filter_address, read_rows
from tutoring.arms.leaks import LEAK, LEAKS, shown_session
from tutoring.arms.methods import NEUTRAL
from tutoring.arms.policy import KNOWS
from tutoring.arms.transcript import PROTOCOL
from tutoring.arms.tutor.policy import CONDUCT
from tutoring.automatic_tutors.estimation import (
    AboveYardstick,
    AdditiveParts,
    BlindingIndex,
    LeakIndex,
    above_yardstick,
    additive_parts,
    blinding_index,
    leak_index,
    yardstick,
)
from tutoring.models import AuditEntry, Event, Review, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.content import COMPLIANT
from tutoring.review.solve_rates import ProblemTally, decided_outcome

TUTOR_METHOD = "session-tutor"


class TutorsError(ValueError):
    """A request for figures that cannot be computed. The message says why and what to do."""


@dataclass(frozen=True)
class MeasuredLeaks:
    """The leak index of an arm, and the run that measured it.

    `above` are its sessions above the yardstick, the 95th percentile of compliant sessions of people; None: unknown.
    """

    index: LeakIndex
    address: str
    above: AboveYardstick | None = None


@dataclass(frozen=True)
class GuardCounts:
    """The turns of an arm's sessions by the guard's decision, refused drafts by clause, and sent messages by level."""

    decisions: Mapping[str, int]
    drafts: int
    refusals: Mapping[str, int]
    levels: Mapping[int, int]


@dataclass(frozen=True)
class TutorArm:
    """One tutor of one student: an automatic one, or people.

    `gain` is over the neutral arm under the same stopping rule, `people_minus` is people minus this tutor by the
    outcomes of their sessions, `breach` the share of breaching sessions among those with two reviews, `blinding` the
    index of blind reviewers' answers to whether the tutor was a person or a program. Dollars are None where a price or
    a number of tokens is unknown.
    """

    name: str
    student: str
    run: Run | None
    knows: str
    cap: int | None
    guarded: bool
    simulated: bool
    address: str
    solved: Rate
    gain: Contrast | None
    people_minus: Contrast | None
    breach: Rate | None
    leaks: MeasuredLeaks | None
    blinding: BlindingIndex | None = None
    guard: GuardCounts | None = None
    student_dollars: float | None = None
    tutor_dollars: float | None = None

    @property
    def is_people(self) -> bool:
        """Whether the tutors are people."""
        return self.run is None


@dataclass(frozen=True)
class GainMatrix:
    """The gains by student (rows) and tutor (columns), and their additive parts if every cell has a gain."""

    students: tuple[str, ...]
    tutors: tuple[str, ...]
    cells: tuple[tuple[TutorArm | None, ...], ...]
    parts: AdditiveParts | None


@dataclass(frozen=True)
class TutorFigures:
    """The figures of the tutors. `yardsticks` are those of each student; None: too few compliant sessions of people."""

    text: str
    rule: StoppingRule
    simulated: bool
    warnings: tuple[str, ...]
    arms: tuple[TutorArm, ...]
    yardsticks: tuple[tuple[str, float | None], ...]
    matrix: GainMatrix
    left_out: tuple[LeftOut, ...]


def tutor_figures(
    text: str, runs: Sequence[Run], *, rule_set: int, rule: StoppingRule = "perfect"
) -> TutorFigures:
    """Return the figures of runs of `session-tutor` and of the sessions of people that fit the text.

    The neutral arm is the latest finished one with the run's student, dataset and protocol; leaks are those that the
    latest finished run of `leak` has measured. Raises TutorsError.
    """
    runs = list(dict.fromkeys(runs))
    if not runs:
        raise TutorsError("Name at least one run of session-tutor.")
    for run in runs:
        if run.method != TUTOR_METHOD:
            raise TutorsError(f"The run {run.pk} is a run of {run.method}, not of {TUTOR_METHOD}.")
    groups: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        protocol = run.manifest["prepared"][PROTOCOL]
        key = str(run.model or run.model_spec), run.dataset.name, f"{protocol['name']} v{protocol['version']}"
        groups[key].append(run)
    groups_of = Counter(student for student, *_ in groups)
    arms: list[TutorArm] = []
    yardsticks: list[tuple[str, float | None]] = []
    left_out: dict[LeftOut, None] = {}
    for key, of_student in groups.items():
        student = key[0] if groups_of[key[0]] == 1 else ", ".join(key)
        found, limit, without = _of_student(text, student, of_student, rule_set, rule)
        arms += found
        yardsticks.append((student, limit))
        left_out |= dict.fromkeys(without)
    simulated = any(arm.simulated for arm in arms)
    return TutorFigures(
        text=text,
        rule=rule,
        simulated=simulated,
        warnings=tuple(_warnings(arms, simulated=simulated)),
        arms=tuple(arms),
        yardsticks=tuple(yardsticks),
        matrix=_matrix(arms),
        left_out=tuple(left_out),
    )


def tutor_name(run: Run) -> str:
    """Return the name of a run's tutor: its model, and the factors that differ from the defaults."""
    conduct = run.manifest["prepared"][CONDUCT]
    model = run.parameters.get("tutor") or conduct["model"]
    knows = "+".join(run.manifest["prepared"][KNOWS])
    factors = [f"knows {knows}"] if knows else []
    factors += [f"cap {conduct['cap']}"] if conduct["cap"] != 3 else []
    factors += [] if conduct["guard"] else ["no guard"]
    return ", ".join([str(model), *factors])


def _of_student(
    text: str, student: str, runs: Sequence[Run], rule_set: int, rule: StoppingRule
) -> tuple[list[TutorArm], float | None, list[LeftOut]]:
    """Return the arms of one student with one dataset and protocol, the yardstick, and what is left out."""
    neutral = _neutral(runs[0])
    people: TutorArm | None = None
    limit: float | None = None
    arms: list[TutorArm] = []
    left_out: list[LeftOut] = []
    for run in runs:
        try:
            rows = read_rows(text, [*([neutral] if neutral else []), run], rule_set, fewest=1)
        except ArmsError as error:
            raise TutorsError(str(error)) from None
        own = next(arm for arm in rows.arms if arm.run.pk == run.pk)
        named = f"{tutor_name(run)} → {student}"
        left_out += [replace(one, arm=named) if one.arm == own.name else one for one in rows.left_out]
        control = next((arm for arm in rows.arms if neutral and arm.run.pk == neutral.pk), None)
        of_people = human_tallies(rows.people)
        if people is None and of_people:
            compliant = [one.pk for one in rows.people if one.compliant]
            measured = _leaks_of_people(run)
            leaks = measured.leaks([one.pk for one in rows.people]) if measured else None
            of_compliant = measured.leaks(compliant) if measured else None
            limit = yardstick(of_compliant.index.by_session) if of_compliant else None
            decided = [(one.problem, one.compliant) for one in rows.people if one.compliant is not None]
            people = TutorArm(
                name=PEOPLE, student=student, run=None, knows="", cap=None, guarded=False,
                simulated=own.simulated, address=filter_address(text), solved=rate(of_people),
                gain=_gain(PEOPLE, of_people, control, rule), people_minus=None,
                breach=_breach_rate(decided), leaks=leaks,
                blinding=_blinding(Session.objects.filter(pk__in=[one.pk for one in rows.people]), rule_set),
            )  # fmt: skip
        arms.append(_automatic(own, control, of_people, limit, student=student, rule_set=rule_set, rule=rule))
    return [*([people] if people else []), *arms], limit, left_out


def _automatic(
    own: ArmRows,
    control: ArmRows | None,
    people: Mapping[int, ProblemTally],
    limit: float | None,
    *,
    student: str,
    rule_set: int,
    rule: StoppingRule,
) -> TutorArm:
    run = own.run
    conduct, name = run.manifest["prepared"][CONDUCT], tutor_name(run)
    # The tutor's own outcome is that of its last program, which it executes.
    outcomes = own.tallies("last")
    measured = _read_leaks(Run.objects.filter(parameters__of=f"run={run.pk}"))
    leaks = measured.leaks() if measured else None
    if leaks and limit is not None:
        leaks = MeasuredLeaks(leaks.index, leaks.address, above_yardstick(leaks.index, limit))
    tutor = RunTutor.objects.filter(run=run).first()
    last_event = Event.objects.order_by().aggregate(last=Max("pk"))["last"] or 0
    return TutorArm(
        name=name,
        student=student,
        run=run,
        knows="+".join(run.manifest["prepared"][KNOWS]) or "nothing",
        cap=conduct["cap"],
        guarded=conduct["guard"],
        simulated=own.simulated or conduct["model"].startswith("simulated-tutor:"),
        address=own.address,
        solved=arm_rate(own, "last"),
        gain=_gain(f"{name}/{rule}", own.tallies(rule), control, rule),
        people_minus=contrast("People − tutor", (PEOPLE, people), (name, outcomes)) if people else None,
        breach=_breaches(run, rule_set),
        leaks=leaks,
        blinding=_blinding(Session.objects.filter(work_item__run=run, invalidated=False), rule_set),
        guard=_guard_counts(run.pk, last_event),
        student_dollars=_dollars(run),
        tutor_dollars=_dollars(tutor) if tutor else None,
    )


def _gain(
    name: str, tallies: Mapping[int, ProblemTally], control: ArmRows | None, rule: StoppingRule
) -> Contrast | None:
    if control is None:
        return None
    return contrast("Gain over neutral", (name, tallies), (f"neutral/{rule}", control.tallies(rule)))


def _neutral(run: Run) -> Run | None:
    """Return the latest finished neutral arm with the run's student, dataset and protocol."""
    found = Run.objects.filter(
        method=NEUTRAL, dataset=run.dataset, model_spec=run.model_spec, model=run.model,
        state=Run.State.FINISHED,
    )  # fmt: skip
    wanted = run.manifest["prepared"][PROTOCOL]["content_hash"]
    chosen = found.filter(
        manifest__prepared__protocol__content_hash=wanted, manifest__prepared__from_first__isnull=True
    )
    return chosen.select_related("dataset").order_by("-started_at").first()


@dataclass(frozen=True)
class _LeakDraws:
    """The draws of a run of `leak`: whether each is right, by problem (statement alone), and by problem and session."""

    address: str
    alone: Mapping[str, Sequence[bool]]
    shown: Mapping[tuple[str, str], Sequence[bool]]

    def leaks(self, sessions: Iterable[UUID] | None = None) -> MeasuredLeaks | None:
        """Return the leak index of these sessions, or of all; None without one."""
        wanted = None if sessions is None else {str(key) for key in sessions}
        of_problem: dict[str, list[float]] = defaultdict(list)
        for (problem, session), draws in sorted(self.shown.items()):
            if wanted is None or session in wanted:
                of_problem[problem].append(fmean(draws))
        index = leak_index({problem: fmean(draws) for problem, draws in self.alone.items()}, of_problem)
        return MeasuredLeaks(index, self.address) if index else None


def _leaks_of_people(run: Run) -> _LeakDraws | None:
    """Return the draws that measure the leaks of people with the run's student."""
    measured = Run.objects.filter(dataset=run.dataset, model_spec=run.model_spec)
    return _read_leaks(measured.exclude(parameters__of__startswith="run="))


def _read_leaks(found: QuerySet[Run]) -> _LeakDraws | None:
    """Return the draws of the latest finished of these runs."""
    run = found.filter(method=LEAK, state=Run.State.FINISHED).order_by("-started_at").first()
    if run is None:
        return None
    prepared = run.manifest["prepared"]
    kept = {
        str(key)
        for key in Session.objects.filter(
            pk__in=[UUID(one) for shown in prepared[LEAKS].values() for one in shown], invalidated=False
        ).values_list("pk", flat=True)
    }
    right = Generation.objects.filter(work_item=OuterRef("pk"), hidden_judgement__verdict=Verdict.AC)
    items = WorkItem.objects.filter(run=run, state=WorkItem.State.DONE).annotate(right=Exists(right))
    alone: dict[str, list[bool]] = defaultdict(list)
    shown: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for problem, chain, solved in items.order_by().values_list("problem__external_id", "chain", "right"):
        session = shown_session(prepared, problem, chain)
        if session is None:
            alone[problem].append(solved)
        elif session in kept:
            shown[problem, session].append(solved)
    return _LeakDraws(reverse("run", args=[run.pk]), alone, shown)


def _breaches(run: Run, rule_set: int) -> Rate | None:
    """Return the share of breaching sessions of the run among those with a decided review outcome."""
    found = Session.objects.filter(work_item__run=run, invalidated=False).annotate(
        found=Subquery(decided_outcome(rule_set).values("verdict")[:1])
    )
    rows = found.exclude(found=None).order_by().values_list("problem", "found")
    return _breach_rate([(problem, verdict == COMPLIANT) for problem, verdict in rows])


def _breach_rate(decided: Iterable[tuple[int, bool]]) -> Rate | None:
    """Return the share of breaching sessions, each given as its problem and whether it is compliant; None for none."""
    tallies: dict[int, ProblemTally] = {}
    for problem, compliant in decided:
        tally = tallies.setdefault(problem, ProblemTally())
        tally.sessions += 1
        tally.solved += not compliant
    return rate(tallies) if tallies else None


def _blinding(sessions: SessionQuerySet, rule_set: int) -> BlindingIndex | None:
    """Return the blinding index of the sessions' independent reviews by reviewers who were blind to the origin."""
    blind = AuditEntry.objects.filter(session__in=sessions, data__blind=True).values_list(
        "data__review", flat=True
    )
    reviews = Review.objects.filter(
        pk__in=[UUID(key) for key in blind if key], rule_set=rule_set, state=Review.State.SUBMITTED,
        slot__in=Review.INDEPENDENT, content__has_key="guess",
    )  # fmt: skip
    answers: dict[int, list[int]] = defaultdict(list)
    columns = ("session__problem", "session__origin", "content__guess")
    for problem, origin, guess in reviews.order_by().values_list(*columns):
        truth = "program" if origin == Session.Origin.AUTOMATIC else "person"
        answers[problem].append(0 if guess == "cannot tell" else 1 if guess == truth else -1)
    return blinding_index(answers)


@lru_cache(maxsize=24)
def _guard_counts(run: UUID, last_event: int) -> GuardCounts:  # noqa: ARG001  (new sessions append events)
    """Return the decisions of the guard in a run. They are cached until any session gets an event."""
    events = Event.objects.filter(
        session__work_item__run=run, session__invalidated=False,
        kind__in=[Event.Kind.MESSAGE, Event.Kind.EXECUTION], data__turn__isnull=False,
    )  # fmt: skip
    decisions: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    levels: Counter[int] = Counter()
    drafts = 0
    for turn in events.order_by().values_list("data__turn", flat=True):
        if turn is None:
            continue
        decisions[turn["guard"]] += 1
        drafts += len(turn["drafts"])
        if turn.get("level") is not None:
            levels[turn["level"]] += 1
        for draft in turn["drafts"]:
            refusals.update({one["clause"] for one in draft.get("refusals", ())})
            refusals["no JSON"] += bool(draft.get("fault"))
    return GuardCounts(
        dict(decisions), drafts, dict(sorted((+refusals).items())), dict(sorted(levels.items()))
    )


def _dollars(run: MeteredRun) -> float | None:
    cost = Account.of_run(run).microdollars(Spending.of_run(run))
    return None if cost is None else cost / MICRO


def _matrix(arms: Sequence[TutorArm]) -> GainMatrix:
    students = tuple(dict.fromkeys(arm.student for arm in arms))
    tutors = tuple(dict.fromkeys(arm.name for arm in arms))
    by_place = {(arm.student, arm.name): arm for arm in arms}
    cells = tuple(tuple(by_place.get((student, tutor)) for tutor in tutors) for student in students)
    gains = [[arm.gain.difference.mean if arm and arm.gain else None for arm in row] for row in cells]
    return GainMatrix(students, tutors, cells, additive_parts(gains))


def _warnings(arms: Sequence[TutorArm], *, simulated: bool) -> list[str]:
    warnings = []
    if simulated:
        warnings.append(
            "Simulated: students or tutors are not language models. These figures test the estimators and say nothing "
            "about any model."
        )
    for arm in arms:
        if arm.run is not None and arm.run.state != Run.State.FINISHED:
            warnings.append(f"{arm.name}: the run is {arm.run.get_state_display().lower()}, not finished.")
    if any(arm.gain is None for arm in arms):
        warnings.append(
            "A gain is unknown: there is no finished run of session-neutral with the same student, dataset and "
            "protocol, or it has no common problem."
        )
    if any(arm.leaks is None for arm in arms):
        warnings.append("A leak index is unknown: no finished run of the method leak measured it.")
    warnings.append("Exploratory: no frozen study names these figures.")
    return warnings
