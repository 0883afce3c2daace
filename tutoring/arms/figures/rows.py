"""The rows behind the figures of arms: outcomes of sessions by problem, and what is left out with its reason.

The number of queries depends on the number of runs alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import (
    BooleanField,
    Count,
    ExpressionWrapper,
    F,
    Func,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.urls import reverse

from benchmark.methods import METHODS, SettingsError
from benchmark.models import Judgement, Problem, Run, WorkItem
from benchmark.providers import is_scripted, parse_model_spec
from benchmark.providers.worlds import StoppingRule
from benchmark.runner.manifest import hash_of_problems
from tutoring.arms.figures.chains import (
    Chains,
    ChainsState,
    CountedChains,
    Counts,
    count_chains,
    read_chains,
    states_of_chains,
    states_of_items,
)
from tutoring.arms.human_sessions import matching_sessions, names_attempts, narrowed, uncounted_by
from tutoring.arms.methods import POLICIES, PREFIX
from tutoring.arms.recorded_starts import STARTS
from tutoring.arms.transcript import PROTOCOL
from tutoring.models import Event, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.content import COMPLIANT
from tutoring.review.solve_rates import ProblemTally, decided_outcome

PEOPLE = "people"
"""The name of the sessions of people beside the names of arms."""

YOKED = ", yoked"
"""The end of the name of an arm whose chains begin with the first program of a session of a person."""

_UNCOUNTED = "of a rehearsal, or of a study that still runs"
"""The reason of sessions that no page links to, because studies conceal them."""

LINKED_SESSIONS = 60
"""The most sessions that an address names."""


class ComparedProblem(NamedTuple):
    """The columns of a problem that the figures and their page need."""

    pk: int
    external_id: str
    title: str
    content_hash: str
    dataset: str
    """The name of the dataset."""
    samples_only: bool

    def __str__(self) -> str:
        return f"{self.dataset}/{self.external_id}"


class ArmsError(ValueError):
    """A request for figures that cannot be computed. The message says why and what to do."""


@dataclass(frozen=True)
class LeftOut:
    """Sessions, chains or problems that no figure counts. `address` shows them; blank if no page does."""

    arm: str
    what: str
    count: int
    reason: str
    address: str = ""

    @property
    def counted(self) -> str:
        """The number with its noun, for example "1 session"."""
        return f"{self.count:,} {self.what.removesuffix('s') if self.count == 1 else self.what}"


class HumanSession(NamedTuple):
    """A session of a person. `compliant` is None without a decided review outcome."""

    pk: UUID
    problem: int
    solved: bool
    generations: int
    compliant: bool | None


@dataclass
class ArmRows:
    """An arm: a run with its finished chains."""

    name: str
    policy: str
    run: Run
    simulated: bool
    counted: CountedChains

    @property
    def warning(self) -> str:
        """The method's warning."""
        return METHODS[self.run.method].warning

    @property
    def counts(self) -> Counts:
        """See `CountedChains.counts`."""
        return self.counted.counts

    @property
    def chains(self) -> Chains:
        """See `CountedChains.chains`."""
        return self.counted.chains

    @property
    def yoked(self) -> Mapping[UUID, tuple[int, str]]:
        """See `CountedChains.yoked`."""
        return self.counted.yoked

    def tallies(self, rule: StoppingRule) -> Mapping[int, ProblemTally]:
        """See `CountedChains.tallies`."""
        return self.counted.tallies(rule)

    @cached_property
    def address(self) -> str:
        """The address of the list of the run's chains."""
        return reverse("run_items", args=[self.run.pk])


@dataclass
class ComparedRows:
    """Sessions of people and of arms that differ in nothing but the tutor."""

    text: str
    protocol: str
    model: str
    people: list[HumanSession]
    arms: list[ArmRows]
    problems: dict[int, ComparedProblem]
    unpaired: Mapping[str, Sequence[UUID]]
    """The sessions of people that fit the text and are not compared, by reason."""
    left_out: list[LeftOut]

    @property
    def simulated(self) -> bool:
        """Whether the model is a scripted or simulated one."""
        return any(arm.simulated for arm in self.arms)


def sessions_address(sessions: Sequence[UUID], *, otherwise: str = "") -> str:
    """Return the address of the list of these sessions of people.

    Without sessions, or with too many for an address, return the address of those that fit `otherwise`, or blank.
    """
    if not sessions or len(sessions) > LINKED_SESSIONS:
        return filter_address(otherwise) if otherwise else ""
    return filter_address(f"session={'+'.join(map(str, sessions))}")


def filter_address(text: str) -> str:
    """Return the address of the list of the sessions of people that fit the text."""
    return f"{reverse('trajectories')}?{urlencode({'people': text})}"


def uncounted_sessions(text: str) -> list[LeftOut]:
    """Return the sessions that fit the text and are left out of `human_sessions`. Raises SettingsError."""
    matching = matching_sessions(text)
    invalidated = list(matching.filter(invalidated=True).values_list("pk", flat=True))
    concealed = matching.filter(invalidated=False, pk__in=uncounted_by(text)).count()
    found = [
        LeftOut(PEOPLE, "sessions", len(invalidated), "invalidated", sessions_address(invalidated)),
        LeftOut(PEOPLE, "sessions", concealed, _UNCOUNTED),
    ]
    return [one for one in found if one.count]


def later_attempts(text: str, sessions: SessionQuerySet) -> list[LeftOut]:
    """Return the later attempts among these sessions, which figures leave out unless the text names attempts."""
    count = sessions.filter(number__gt=1).count()
    reason = "a later attempt of the same person (attempt=any counts it)"
    address = filter_address(narrowed(text, "attempt=later"))
    return [LeftOut(PEOPLE, "sessions", count, reason, address)] if count else []


def no_sessions(text: str, left_out: Sequence[LeftOut]) -> str:
    """Return a sentence which says that no session of a person fits the text, and names those that were left out."""
    found = "; ".join(f"{one.counted} {one.reason}" for one in left_out)
    return f"No session of a person fits {text!r}.{f' Left out: {found}.' if found else ''}"


def read_rows(
    text: str, runs: Sequence[Run], rule_set: int, *, fewest: int = 2, protocols: Collection[str] = ()
) -> ComparedRows:
    """Return the rows of the runs and of the sessions of people that fit the text.

    `rule_set` is the version whose review outcomes say which sessions are compliant. The first run determines protocol
    and model; `protocols` are the hashes of further protocols of people. Raises ArmsError, also if fewer arms than
    `fewest`, people included, have a session.
    """
    runs = list(dict.fromkeys(runs))
    _check(runs)
    left_out: list[LeftOut] = []
    columns = ("pk", "external_id", "title", "content_hash", "dataset__name", "samples_only")
    rows = Problem.objects.filter(dataset__in={run.dataset_id for run in runs}).order_by()
    known = {row[0]: ComparedProblem(*row) for row in rows.values_list(*columns)}
    changed = _changed_runs(runs, known.values())
    hashes = _problem_hashes(runs, changed, known)
    states = _states_of_items(runs)
    chains = states_of_chains(states)
    arms = _arms(runs, chains)
    for arm in arms:
        _leave_out_items(arm, states[arm.run.pk], left_out)
        if changed:
            _leave_out_changed_problems(arm, hashes, left_out)
    in_arms = {problem for arm in arms for problem in arm.counts}
    try:
        people, unpaired, not_compared = _people(
            text, runs[0], in_arms, hashes, rule_set, protocols={_protocol_hash(runs[0]), *protocols}
        )
    except SettingsError as error:
        raise ArmsError(str(error)) from None
    left_out += not_compared
    _leave_out_unpaired_starts(arms, people, left_out)
    if len([arm for arm in arms if arm.counts]) + bool(people) < fewest:
        reasons = "; ".join(f"{one.arm}: {one.counted}, {one.reason}" for one in left_out)
        raise ArmsError(
            f"There is nothing to compare: {'none' if fewest == 1 else 'fewer than two'} of the arms, people included, "
            "have a session. "
            + (f"Left out: {reasons}." if reasons else f"No session of a person fits {text!r}.")
        )
    return ComparedRows(
        text=text,
        protocol=_protocol_name(runs[0]),
        model=runs[0].model_spec,
        people=people,
        arms=arms,
        problems={problem: known[problem] for problem in in_arms},
        unpaired=unpaired,
        left_out=left_out,
    )


def _check(runs: Sequence[Run]) -> None:
    if not runs:
        raise ArmsError("There is nothing to compare: name at least one run of an arm.")
    for run in runs:
        if run.method not in POLICIES:
            raise ArmsError(
                f"The run {run.pk} is a run of {run.method}, which is not an arm. The arms are: {', '.join(POLICIES)}."
            )
    first = runs[0]
    for run in runs[1:]:
        if _protocol_hash(run) != _protocol_hash(first):
            raise ArmsError(
                f"The runs have different protocols: {first.pk} has {_protocol_name(first)}, {run.pk} has "
                f"{_protocol_name(run)}. Compare runs of one protocol."
            )
        if not _same_model(run.model_spec, run.model.content_hash if run.model else None, first):
            raise ArmsError(
                f"The runs have different models or parameters: {first.pk} has {first.model or first.model_spec}, "
                f"{run.pk} has {run.model or run.model_spec}. Compare runs of one model."
            )
    names: dict[str, Run] = {}
    for run in runs:
        other = names.setdefault(_name(run), run)
        if other is not run:
            raise ArmsError(
                f"The runs {other.pk} and {run.pk} are both runs of {run.method}. Name one of them."
            )


def _name(run: Run) -> str:
    return run.method.removeprefix(PREFIX) + (YOKED if STARTS in run.manifest["prepared"] else "")


def _protocol_hash(run: Run) -> str:
    return str(run.manifest["prepared"][PROTOCOL]["content_hash"])


def _protocol_name(run: Run) -> str:
    protocol = run.manifest["prepared"][PROTOCOL]
    return f"{protocol['name']} v{protocol['version']}"


def _same_model(spec: str, content_hash: str | None, run: Run) -> bool:
    """Return whether model and parameters are those of the run; rows without a version are compared by name."""
    if content_hash and run.model:
        return content_hash == run.model.content_hash
    return spec == run.model_spec


def _changed_runs(runs: Sequence[Run], problems: Iterable[ComparedProblem]) -> frozenset[UUID]:
    """Return the runs whose dataset has changed since their start. `problems` are those of all their datasets."""
    rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for problem in problems:
        rows[problem.dataset].append((problem.external_id, problem.content_hash))
    current = {name: hash_of_problems(rows[name]) for name in {run.dataset.name for run in runs}}
    return frozenset(
        run.pk for run in runs if run.manifest["dataset"]["content_hash"] != current[run.dataset.name]
    )


def _problem_hashes(
    runs: Sequence[Run], changed: frozenset[UUID], problems: Mapping[int, ComparedProblem]
) -> dict[int, str]:
    """Return the content hash of each problem in the first run on it, which a changed run has from its verdicts.

    All problems of a run have the versions of its start. While the dataset is unchanged these are the current ones.
    """
    current = {problem.pk: problem.content_hash for problem in problems.values()}
    hashes: dict[int, str] = {}
    for run in runs if changed else ():
        if run.pk in changed:
            judged = _sessions_of(run).order_by().values("problem").annotate(hashed=Max(_JUDGED_HASH))
            known = {problem: hashed for problem, hashed in judged.values_list("problem", "hashed") if hashed}
        else:
            own = run.items.order_by().values_list("problem", flat=True).distinct()
            known = {problem: current[problem] for problem in own}
        hashes = known | hashes
    return current | hashes


_JUDGED_HASH = "judgement__problem_hash"


def _sessions_of(run: Run) -> QuerySet[Session]:
    return Session.objects.filter(work_item__run=run, invalidated=False)


def _arms(runs: Sequence[Run], states: Mapping[UUID, ChainsState]) -> list[ArmRows]:
    yoked = {run.pk: tuple(_starts(run).items()) for run in runs if STARTS in run.manifest["prepared"]}
    counted = _counted(tuple((run, state) for run, state in states.items() if run not in yoked))
    arms = []
    for run in runs:
        starts = yoked.get(run.pk)
        scripted = bool(run.manifest.get("scripted_model")) or is_scripted(parse_model_spec(run.model_spec))
        arms.append(
            ArmRows(
                name=_name(run),
                policy=run.method.removeprefix(PREFIX),
                run=run,
                simulated=scripted,
                counted=counted[run.pk] if starts is None else _counted_pairs(run.pk, starts, states[run.pk]),
            )
        )
    return arms


@lru_cache(maxsize=8)
def _counted(states: tuple[tuple[UUID, ChainsState], ...]) -> dict[UUID, CountedChains]:
    """Return the counted chains of runs. They are cached until the state of their chains changes."""
    return read_chains(dict(states))


@lru_cache(maxsize=8)
def _counted_pairs(
    run: UUID, starts: tuple[tuple[tuple[int, int], UUID], ...], _state: ChainsState
) -> CountedChains:
    """Return the counted chains of a yoked run. They are cached until their state changes."""
    session_of = dict(starts)
    sessions = Session.objects.filter(work_item__run=run, invalidated=False).order_by()
    rows = sessions.values_list("problem", "work_item__chain", "program_outcomes")
    yoked = {session_of[problem, chain]: (problem, outcomes) for problem, chain, outcomes in rows}
    return CountedChains.of(count_chains(run), yoked)


def _starts(run: Run) -> dict[tuple[int, int], UUID]:
    """Return the session that each chain of a yoked run begins with, by problem and chain."""
    keys = dict(run.dataset.problems.order_by().values_list("external_id", "pk"))
    starts: Mapping[str, Sequence[Mapping[str, str]]] = run.manifest["prepared"][STARTS]
    return {
        (keys[name], chain): UUID(start["session"])
        for name, of_problem in starts.items()
        for chain, start in enumerate(of_problem)
    }


def _leave_out_changed_problems(arm: ArmRows, hashes: Mapping[int, str], left_out: list[LeftOut]) -> None:
    """Leave out chains whose problem has another version than in the first run on it."""
    judged = _sessions_of(arm.run).order_by().values("problem")
    versions = judged.annotate(least=Min(_JUDGED_HASH), most=Max(_JUDGED_HASH))
    other = {
        problem
        for problem, least, most in versions.values_list("problem", "least", "most")
        if {least, most} - {None} - {hashes.get(problem)}
    }
    if count := sum(arm.counts[problem][0] for problem in other if problem in arm.counts):
        reason = "the problem has another version than in the first run"
        left_out.append(LeftOut(arm.name, "chains", count, reason, arm.address))
        kept = {problem: outcomes for problem, outcomes in arm.chains.items() if problem not in other}
        yoked = {session: chain for session, chain in arm.yoked.items() if chain[0] not in other}
        arm.counted = CountedChains.of(kept, yoked)


_PERMANENT = "permanent"
"""The state of failed work items that are not retried."""


def _states_of_items(runs: Sequence[Run]) -> dict[UUID, Counter[str]]:
    """Return the number of work items of each run in each state; permanent failures have a state of their own.

    An index holds run and state, so the rows of items are read for failures alone.
    """
    found = states_of_items(runs)
    failing = [run for run, states in found.items() if states[WorkItem.State.FAILED]]
    items = WorkItem.objects.filter(run__in=failing)  # without a failure, no query
    failed = items.filter(state=WorkItem.State.FAILED, permanent=True).order_by("run")
    for run, count in failed.values_list("run").annotate(Count("pk")):
        found[run][_PERMANENT] = count
        found[run][WorkItem.State.FAILED] -= count
    return found


def _leave_out_items(arm: ArmRows, states: Counter[str], left_out: list[LeftOut]) -> None:
    """Count the chains without a session, invalidated sessions, and the problems that the run left out."""
    run, address = arm.run, arm.address
    done = states[WorkItem.State.DONE]
    for state, count in states.items():
        if state == WorkItem.State.DONE or not count:
            continue
        if state == _PERMANENT:
            reason, query = "the provider rejects the request", "?permanent=1"
        elif state == WorkItem.State.FAILED:
            reason, query = "a fault of the provider or the judge", "?state=failed"
        else:
            reason, query = "not finished yet", f"?state={state}"
        left_out.append(LeftOut(arm.name, "chains", count, reason, address + query))
    # Every finished chain has a session, so the others are invalidated.
    if invalidated := done - sum(numbers[0] for numbers in arm.counts.values()):
        query = f"?{urlencode({'run': str(run.pk), 'invalidated': 1})}"
        left_out.append(
            LeftOut(arm.name, "sessions", invalidated, "invalidated", reverse("trajectories") + query)
        )
    reasons: dict[str, int] = defaultdict(int)
    for one in run.manifest.get("left_out", []):
        reasons[one["reason"]] += 1
    for reason, count in reasons.items():
        left_out.append(LeftOut(arm.name, "problems", count, reason, reverse("run", args=[run.pk])))


_OPENED_HASH = Func(
    F("data"),
    Value("problem_hash"),
    arg_joiner=" ->> ",
    template="(%(expressions)s)",
    output_field=TextField(),
)
"""The hash in the data of an opening event. Django's transform parses the data three times in SQLite."""


def _people(
    text: str,
    run: Run,
    in_arms: set[int],
    hashes: Mapping[int, str],
    rule_set: int,
    *,
    protocols: Collection[str],
) -> tuple[list[HumanSession], Mapping[str, list[UUID]], list[LeftOut]]:
    """Return the sessions under the protocols that may be paired with the run's, and the others by reason.

    Raises SettingsError.
    """
    matching, left_out = matching_sessions(text), []
    if not names_attempts(text):
        left_out += later_attempts(text, matching)
        matching = matching.filter(number=1)
    # The order lets the database stop at the first event instead of sorting all of them.
    opened = Event.objects.filter(session=OuterRef("pk"), kind=Event.Kind.OPENED).order_by("seq")
    # Sorted here: the order would lead the database to read the sessions of every problem by an index.
    rows = sorted(
        matching.order_by()
        .annotate(
            uncounted=ExpressionWrapper(Q(pk__in=uncounted_by(text)), output_field=BooleanField()),
            problem_hash=Subquery(opened.values(hashed=_OPENED_HASH)[:1]),
            found=Subquery(decided_outcome(rule_set).values("verdict")[:1]),
        )
        .values_list(
            "problem_id", "pk", "uncounted", "outcome", "code_generations", "invalidated", "model_spec",
            "model__content_hash", "protocol__content_hash", "problem_hash", "judgement", "judgement__problem_hash",
            "judgement__replaces", "found",
        ),
        key=lambda row: (row[0], row[1].int),  # numbers are compared faster than ids
    )  # fmt: skip
    replaced = cache(partial(_replaced_hashes, hashes))  # few comparisons need it
    people: list[HumanSession] = []
    without: dict[str, list[UUID]] = defaultdict(list, {_UNCOUNTED: []})
    for (
        problem, pk, of_study, outcome, used, invalid, spec, model_hash, held_under, opened_with, judgement,
        judged_with, former, found
    ) in rows:  # fmt: skip
        hashed = judged_with if former else opened_with
        if of_study:
            reason = _UNCOUNTED
        elif invalid:
            reason = "invalidated"
        elif held_under not in protocols:
            reason = f"another protocol than {_protocol_name(run)}"
        elif not _same_model(spec, model_hash, run):
            reason = f"another model or other parameters than {run.model or run.model_spec}"
        elif problem not in in_arms:
            reason = "no run has a session on the problem"
        elif hashed != hashes.get(problem) and (judgement or (problem, hashed) not in replaced()):
            reason = "the problem has another version than in the runs"
        else:
            compliant = None if found is None else found == COMPLIANT
            solved = outcome == Session.Outcome.SOLVED
            people.append(HumanSession(pk, problem, solved, used, compliant))
            continue
        without[reason].append(pk)
    left_out += [
        LeftOut(
            PEOPLE,
            "sessions",
            len(sessions),
            reason,
            sessions_address(sessions) if reason != _UNCOUNTED else "",
        )
        for reason, sessions in without.items()
        if sessions
    ]
    return people, without, left_out


def _replaced_hashes(hashes: Mapping[int, str]) -> set[tuple[int, str]]:
    """Return the former hashes of problems whose chains were judged again with the hashes given.

    A session without an execution depends on no test, so it fits chains that were judged again.
    """
    rows = Judgement.objects.filter(replaces__isnull=False, counts=True).order_by()
    columns = ("submission__problem", "problem_hash", "replaces__problem_hash")
    return {
        (problem, former)
        for problem, present, former in rows.values_list(*columns).distinct()
        if hashes.get(problem) == present
    }


def _leave_out_unpaired_starts(
    arms: Sequence[ArmRows], people: Sequence[HumanSession], left_out: list[LeftOut]
) -> None:
    """Count the chains of yoked runs that begin with a session that is not compared."""
    compared = {session.pk for session in people}
    for arm in arms:
        unpaired = [session for session in arm.yoked if session not in compared]
        if unpaired:
            reason = "the session that the chain begins with is not compared"
            left_out.append(LeftOut(arm.name, "chains", len(unpaired), reason, sessions_address(unpaired)))
