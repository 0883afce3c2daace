"""The rows behind the figures of arms: outcomes of sessions by problem, and what is left out with its reason.

The number of queries depends on the number of runs alone: chains with equal outcomes are counted by the database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Max, Min, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.urls import reverse

from benchmark.methods import METHODS, SettingsError
from benchmark.models import Problem, Run, WorkItem
from benchmark.providers import is_scripted, parse_model_spec
from benchmark.providers.worlds import StoppingRule
from benchmark.runner.manifest import dataset_hash
from tutoring.arms.human_sessions import matching_sessions, names_attempts
from tutoring.arms.methods import POLICIES, PREFIX
from tutoring.arms.recorded_starts import STARTS
from tutoring.arms.stopping import is_solved
from tutoring.arms.transcript import PROTOCOL
from tutoring.models import Event, Session
from tutoring.review.content import COMPLIANT
from tutoring.review.solve_rates import decided_outcome

PEOPLE = "people"
"""The name of the sessions of people beside the names of arms."""

YOKED = ", yoked"
"""The end of the name of an arm whose chains begin with the first program of a session of a person."""

LINKED_SESSIONS = 60
"""Sessions that an address names at most."""


class ArmsError(ValueError):
    """A request for figures that cannot be made. The message says why and what to do."""


@dataclass(frozen=True)
class LeftOut:
    """Sessions, chains or problems that no figure counts. `address` shows them; blank if no page does."""

    arm: str
    what: str
    count: int
    reason: str
    address: str = ""


@dataclass(frozen=True)
class HumanSession:
    """A session of a person. `compliant` is None without a decided review outcome."""

    pk: UUID
    problem: int
    solved: bool
    generations: int
    compliant: bool | None


@dataclass
class ArmRows:
    """The finished chains of an arm's run: by problem, how many chains have which `Session.program_outcomes`."""

    name: str
    policy: str
    run: Run
    simulated: bool
    chains: dict[int, dict[str, int]] = field(default_factory=dict)
    yoked: dict[UUID, tuple[int, str]] = field(default_factory=dict)
    """Of a yoked run: problem and outcomes of the chain that begins with a session of a person."""

    @property
    def warning(self) -> str:
        """The method's warning."""
        return METHODS[self.run.method].warning

    def solved(self, problem: int, rule: StoppingRule) -> tuple[int, int]:
        """Return the numbers of solved and of all chains at a problem."""
        outcomes = self.chains[problem]
        return sum(count for text, count in outcomes.items() if is_solved(rule, text)), sum(outcomes.values())

    def address(self, problem: Problem | None = None) -> str:
        """Return the address of the list of the run's chains, or of those at one problem."""
        query = f"?{urlencode({'problem': problem.external_id})}" if problem else ""
        return self._items + query

    @cached_property
    def _items(self) -> str:
        return reverse("run_items", args=[self.run.pk])


@dataclass
class ComparedRows:
    """Sessions of people and of arms that differ in nothing but the tutor."""

    text: str
    protocol: str
    model: str
    people: list[HumanSession]
    arms: list[ArmRows]
    problems: dict[int, Problem]
    left_out: list[LeftOut]

    @property
    def simulated(self) -> bool:
        """Whether the model is a scripted or simulated one."""
        return any(arm.simulated for arm in self.arms)


def sessions_address(sessions: Sequence[UUID]) -> str:
    """Return the address of the list of these sessions of people; blank if they are too many for an address."""
    if not sessions or len(sessions) > LINKED_SESSIONS:
        return ""
    return filter_address(f"session={'+'.join(map(str, sessions))}")


def filter_address(text: str) -> str:
    """Return the address of the list of the sessions of people that fit the text."""
    return f"{reverse('trajectories')}?{urlencode({'people': text})}"


def read_rows(text: str, runs: Sequence[Run], rule_set: int) -> ComparedRows:
    """Return the rows of the runs and of the sessions of people that fit the text.

    `rule_set` is the version whose review outcomes say which sessions are compliant. The first run determines protocol
    and model. Raises ArmsError.
    """
    runs = list(dict.fromkeys(runs))
    _check(runs)
    left_out: list[LeftOut] = []
    changed = _changed_runs(runs)
    hashes = _problem_hashes(runs, changed)
    arms = [_arm(run) for run in runs]
    for arm in arms:
        if arm.run.pk in changed:
            _leave_out_changed_problems(arm, hashes, left_out)
        _leave_out_items(arm, left_out)
    in_arms = {problem for arm in arms for problem in arm.chains}
    try:
        people, not_compared = _people(text, runs[0], in_arms, hashes, rule_set)
    except SettingsError as error:
        raise ArmsError(str(error)) from None
    left_out += not_compared
    _leave_out_unpaired_starts(arms, people, left_out)
    if len([arm for arm in arms if arm.chains]) + bool(people) < 2:
        reasons = "; ".join(f"{one.arm}: {one.count} {one.what}, {one.reason}" for one in left_out)
        raise ArmsError(
            "There is nothing to compare: fewer than two of the arms, people included, have a session. "
            + (f"Left out: {reasons}." if reasons else f"No session of a person fits {text!r}.")
        )
    problems = Problem.objects.only("external_id", "title", "dataset__name").select_related("dataset")
    return ComparedRows(
        text=text,
        protocol=_protocol_name(runs[0]),
        model=runs[0].model_spec,
        people=people,
        arms=arms,
        problems=problems.in_bulk(in_arms | {session.problem for session in people}),
        left_out=left_out,
    )


def _check(runs: Sequence[Run]) -> None:
    if not runs:
        raise ArmsError("There is nothing to compare: name at least one run of an arm.")
    for run in runs:
        if run.method not in POLICIES:
            raise ArmsError(
                f"The run {run.pk} is a run of {run.method}, which is no arm. The arms are: {', '.join(POLICIES)}."
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


def _changed_runs(runs: Sequence[Run]) -> frozenset[UUID]:
    """Return the runs whose dataset has changed since their start."""
    current = {dataset: dataset_hash(dataset) for dataset in {run.dataset for run in runs}}
    return frozenset(
        run.pk for run in runs if run.manifest["dataset"]["content_hash"] != current[run.dataset]
    )


def _problem_hashes(runs: Sequence[Run], changed: frozenset[UUID]) -> dict[int, str]:
    """Return the content hash of each problem in the first run that has sessions on it.

    All problems of a run have the versions of its start. While the dataset is unchanged these are the current ones.
    """
    hashes: dict[int, str] = {}
    for run in runs:
        if run.pk in changed:
            judged = _sessions_of(run).order_by().values("problem").annotate(hashed=Max(_JUDGED_HASH))
            known = {problem: hashed for problem, hashed in judged.values_list("problem", "hashed") if hashed}
        else:
            known = dict(run.dataset.problems.order_by().values_list("pk", "content_hash"))
        hashes = known | hashes
    return hashes


_JUDGED_HASH = "judgement__problem_hash"


def _sessions_of(run: Run) -> QuerySet[Session]:
    return Session.objects.filter(work_item__run=run, invalidated=False)


def _arm(run: Run) -> ArmRows:
    name = _name(run)
    scripted = bool(run.manifest.get("scripted_model")) or is_scripted(parse_model_spec(run.model_spec))
    arm = ArmRows(name=name, policy=run.method.removeprefix(PREFIX), run=run, simulated=scripted)
    chains: dict[int, dict[str, int]] = defaultdict(dict)
    if name.endswith(YOKED):
        starts = _starts(run)
        rows = _sessions_of(run).order_by().values_list("problem", "work_item__chain", "program_outcomes")
        for problem, chain, outcomes in rows:
            chains[problem][outcomes] = chains[problem].get(outcomes, 0) + 1
            arm.yoked[starts[problem, chain]] = (problem, outcomes)
    else:
        counted = _sessions_of(run).order_by().values_list("problem", "program_outcomes")
        for problem, outcomes, count in counted.annotate(chains=Count("pk")):
            chains[problem][outcomes] = count
    arm.chains = dict(chains)
    return arm


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
    """Leave out chains whose problem has another version than in the other runs."""
    judged = _sessions_of(arm.run).order_by().values("problem")
    for problem, least, most in judged.annotate(least=Min(_JUDGED_HASH), most=Max(_JUDGED_HASH)).values_list(
        "problem", "least", "most"
    ):
        if problem in arm.chains and {least, most} - {None} - {hashes.get(problem)}:
            count = sum(arm.chains.pop(problem).values())
            reason = "the problem has another version than in the first run"
            left_out.append(LeftOut(arm.name, "chains", count, reason, arm.address()))


def _leave_out_items(arm: ArmRows, left_out: list[LeftOut]) -> None:
    """Count the chains without a session, invalidated sessions, and the problems that the run left out."""
    run, address = arm.run, arm.address()
    states = run.items.exclude(state=WorkItem.State.DONE).order_by().values_list("state", "permanent")
    for state, permanent, count in states.annotate(chains=Count("pk")):
        if permanent:
            reason, query = "the provider rejects the request", "?permanent=1"
        elif state == WorkItem.State.FAILED:
            reason, query = "a fault of the provider or the judge", "?state=failed"
        else:
            reason, query = "not finished yet", f"?state={state}"
        left_out.append(LeftOut(arm.name, "chains", count, reason, address + query))
    invalidated = Session.objects.filter(work_item__run=run, invalidated=True).count()
    if invalidated:
        query = f"?{urlencode({'run': str(run.pk), 'invalidated': 1})}"
        left_out.append(
            LeftOut(arm.name, "sessions", invalidated, "invalidated", reverse("trajectories") + query)
        )
    reasons: dict[str, int] = defaultdict(int)
    for one in run.manifest.get("left_out", []):
        reasons[one["reason"]] += 1
    for reason, count in reasons.items():
        left_out.append(LeftOut(arm.name, "problems", count, reason, reverse("run", args=[run.pk])))


def _people(
    text: str, run: Run, in_arms: set[int], hashes: Mapping[int, str], rule_set: int
) -> tuple[list[HumanSession], list[LeftOut]]:
    """Return the sessions that may be paired with the run's, and the others by reason. Raises SettingsError."""
    first_only = not names_attempts(text)
    opened = Event.objects.filter(session=OuterRef("pk"), kind=Event.Kind.OPENED)
    rows = (
        matching_sessions(text)
        .order_by("problem_id", "opened_at", "pk")
        .annotate(
            problem_hash=Subquery(opened.values(hashed=KeyTextTransform("problem_hash", "data"))[:1]),
            found=Subquery(decided_outcome(rule_set).values("verdict")[:1]),
        )
        .values_list(
            "pk", "problem_id", "outcome", "code_generations", "number", "invalidated", "model_spec",
            "model__content_hash", "protocol__content_hash", "problem_hash", "found",
        )
    )  # fmt: skip
    people: list[HumanSession] = []
    without: dict[str, list[UUID]] = defaultdict(list)
    for pk, problem, outcome, used, number, invalid, spec, model, protocol, hashed, found in rows:
        if invalid:
            reason = "invalidated"
        elif protocol != _protocol_hash(run):
            reason = f"another protocol than {_protocol_name(run)}"
        elif not _same_model(spec, model, run):
            reason = f"another model or other parameters than {run.model or run.model_spec}"
        elif first_only and number != 1:
            reason = "a later attempt of the same person (attempt=any counts it)"
        elif problem not in in_arms:
            reason = "no run has a session on the problem"
        elif hashed != hashes.get(problem):
            reason = "the problem has another version than in the runs"
        else:
            compliant = None if found is None else found == COMPLIANT
            solved = outcome == Session.Outcome.SOLVED
            people.append(HumanSession(pk, problem, solved, used, compliant))
            continue
        without[reason].append(pk)
    return people, [
        LeftOut(PEOPLE, "sessions", len(sessions), reason, sessions_address(sessions))
        for reason, sessions in without.items()
    ]


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
