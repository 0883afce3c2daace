"""The chains of a run of an arm of slow programs, read in a fixed number of queries."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmark.growth import Growth, growth_of, has_sizes, measured_curve
from benchmark.growth.measuring import MeasuredSeries
from benchmark.judging import source_hash, store_submission
from benchmark.methods.slow import STARTS
from benchmark.models import Generation, GrowthCurve, Run, SlowComparison, Submission, WorkItem
from judge import Verdict

Key = tuple[str, str]
"""A start program: the id of its problem, and the sha256 of the program as the prompts show it."""

Program = tuple[int, str]
"""A program of the run: the key of its problem, and the sha256 of its source."""


@dataclass(frozen=True)
class Repair:
    """A repair of a chain: its verdict and its tokens, input and output together (None: unknown)."""

    verdict: str
    tokens: int | None


@dataclass(frozen=True)
class SlowOutcome:
    """The outcome of one chain.

    `unmeasured` says why `slope_change` and `speed_ratio` are None; blank if at least one is known.
    """

    item: int
    verdict: str
    """The verdict on the last program."""
    repairs: int
    tokens: int | None
    """The input and output tokens of all repairs; None if a provider did not report them."""
    slope_change: float | None
    """Slope of the last program minus that of the start program."""
    speed_ratio: float | None
    """Time of the start program divided by that of the last one at the largest common size."""
    unmeasured: str
    start_is_wrong: bool
    """Whether a comparison showed that the start program is wrong."""
    verdict_at_equal_tokens: str | None = None
    """The verdict within the tokens of `slow-told`; None if they are unknown, and in the run of `slow-told`."""


@dataclass(frozen=True)
class SlowChain:
    """A finished chain: its start program, its repairs, and its outcome. `submission` is None if it is not stored."""

    problem: str
    title: str
    start: str
    submission: int | None
    right: bool
    """Whether the start program is right but slow; False: unknown."""
    repairs: tuple[Repair, ...]
    outcome: SlowOutcome

    @property
    def key(self) -> Key:
        """The start program."""
        return self.problem, self.start

    def verdict_within(self, tokens: float) -> str | None:
        """Return the verdict after the last repair within this number of tokens; TLE before the first.

        None if the tokens of a repair are unknown.
        """
        spent, verdict = 0.0, Verdict.TLE.value
        for repair in self.repairs:
            if repair.tokens is None:
                return None
            spent += repair.tokens
            if spent > tokens:
                break
            verdict = repair.verdict
        return verdict


@dataclass(frozen=True)
class SlowArm:
    """The chains of a run of one arm, and the number of those left out by reason."""

    run: Run
    chains: Mapping[Key, SlowChain]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class _Reply:
    """A reply of a chain, as the figures need it."""

    purpose: str
    code: str
    tokens: int | None
    verdict: str


def read_arm(run: Run) -> SlowArm:
    """Return the finished chains of the run with stored growth curves and comparisons. Writes nothing."""
    items = list(run.items.select_related("problem").order_by("problem_id", "chain"))
    left_out = Counter(
        f"the chain is {item.get_state_display().lower()}"
        for item in items
        if item.state != WorkItem.State.DONE
    )
    items = [item for item in items if item.state == WorkItem.State.DONE]
    replies = _replies(run)
    programs = _programs(run, items, replies)
    measured = _Measurements(programs.values())
    starts = run.manifest["prepared"][STARTS]
    chains = {}
    for item in items:
        right = bool(starts[item.problem.external_id][item.chain]["right"])
        chain = _chain(item, replies[item.pk], programs, measured, right=right)
        chains[chain.key] = chain
    return SlowArm(run, chains, dict(left_out))


def measure_programs(run: Run) -> None:
    """Measure the growth of the start and last programs of finished chains that have no curve, in this process."""
    replies, language = _replies(run), str(run.parameters["language"])
    for item in run.items.filter(state=WorkItem.State.DONE).select_related("problem__dataset"):
        if not has_sizes(item.problem):
            continue
        start, last = replies[item.pk][0].code, replies[item.pk][-1].code
        if run.source is None:
            start = Submission.objects.get(pk=_submission(run, item)).source
        for program in filter(None, (start, last)):
            measured_curve(store_submission(item.problem, program, language))


def _submission(run: Run, item: WorkItem) -> int:
    """Return the key of the submission of a chain's start program, in a run of this site."""
    return int(run.manifest["prepared"][STARTS][item.problem.external_id][item.chain]["submission"])


def _replies(run: Run) -> dict[int, list[_Reply]]:
    """Return the recorded start program and the repairs of each chain, in order.

    The verdict is that on all tests, that on the samples if they stopped the judging, or NO_CODE without a program.
    """
    found: dict[int, list[_Reply]] = defaultdict(list)
    rows = Generation.objects.filter(work_item__run=run).order_by("work_item", "step")
    for item, purpose, code, given, written, hidden, samples in rows.values_list(
        "work_item",
        "purpose",
        "code",
        "input_tokens",
        "output_tokens",
        "hidden_judgement__verdict",
        "sample_judgement__verdict",
    ):
        tokens = None if given is None or written is None else given + written
        found[item].append(_Reply(purpose, code, tokens, hidden or samples or Verdict.NO_CODE.value))
    return found


def _programs(
    run: Run, items: Sequence[WorkItem], replies: Mapping[int, Sequence[_Reply]]
) -> dict[Program, int]:
    """Return the keys of the stored submissions of the programs of the chains."""
    wanted = {
        (item.problem_id, source_hash(one.code)) for item in items for one in replies[item.pk] if one.code
    }
    rows = Submission.objects.filter(
        problem__in={problem for problem, _ in wanted},
        language=str(run.parameters["language"]),
        source_hash__in={source for _, source in wanted},
    )
    found = {
        (problem, source): pk for pk, problem, source in rows.values_list("pk", "problem", "source_hash")
    }
    if run.source is None:
        # A prompt shows a start program without blank lines at its ends, so its recorded reply may differ from it.
        for item in items:
            found[item.problem_id, source_hash(replies[item.pk][0].code)] = _submission(run, item)
    return found


class _Measurements:
    """The stored growth curves and comparisons of programs."""

    def __init__(self, submissions: Iterable[int]) -> None:
        numbers = set(submissions)
        self._curves: dict[int, dict[tuple[str, str, str], GrowthCurve]] = defaultdict(dict)
        rows = GrowthCurve.objects.filter(submission__in=numbers, state=GrowthCurve.State.DONE)
        for curve in rows.order_by("pk"):
            self._curves[curve.submission_id][curve.recipe_hash, curve.judge_version, curve.host] = curve
        self._wrong = set(
            SlowComparison.objects.filter(slow__in=numbers, slow_is_wrong=True).values_list(
                "slow", "candidate"
            )
        )

    def growths(self, start: int | None, last: int | None) -> tuple[Growth, Growth] | str:
        """Return both growths by the newest measurement with equal recipe, judge and machine, or why there is none."""
        for name, number in (("start", start), ("last", last)):
            if number is None or number not in self._curves:
                return f"the growth of the {name} program is not measured"
        assert start is not None
        assert last is not None
        for key, curve in reversed(self._curves[start].items()):
            other = self._curves[last].get(key)
            both = [growth_of(one) for one in (curve, other) if one is not None]
            if len(both) == 2 and both[0] and both[1]:
                return both[0], both[1]
        return "its programs were measured with different generators, judges or machines"

    def is_wrong(self, start: int | None, candidates: Iterable[int | None]) -> bool:
        """Return whether a comparison with one of the candidates showed that the start program is wrong."""
        return any((start, candidate) in self._wrong for candidate in candidates)


def _chain(
    item: WorkItem,
    replies: Sequence[_Reply],
    programs: Mapping[Program, int],
    measured: _Measurements,
    *,
    right: bool,
) -> SlowChain:
    first, repairs = replies[0], [one for one in replies if one.purpose == Generation.Purpose.REPAIR]

    def submission(reply: _Reply) -> int | None:
        return programs.get((item.problem_id, source_hash(reply.code))) if reply.code else None

    last = repairs[-1]
    change, ratio, unmeasured = None, None, "its last reply has no program"
    if last.code:
        growths = measured.growths(submission(first), submission(last))
        if isinstance(growths, str):
            unmeasured = growths
        else:
            change, ratio = _changes(*growths)
            unmeasured = (
                "" if change is not None or ratio is not None else "its programs have no common sizes"
            )
    known = [one.tokens for one in repairs if one.tokens is not None]
    outcome = SlowOutcome(
        item=item.pk,
        verdict=last.verdict,
        repairs=len(repairs),
        tokens=sum(known) if len(known) == len(repairs) else None,
        slope_change=change,
        speed_ratio=ratio,
        unmeasured=unmeasured,
        start_is_wrong=measured.is_wrong(submission(first), map(submission, repairs)),
    )
    return SlowChain(
        item.problem.external_id,
        item.problem.title,
        source_hash(first.code),
        submission(first),
        right,
        tuple(Repair(one.verdict, one.tokens) for one in repairs),
        outcome,
    )


def _changes(before: Growth, after: Growth) -> tuple[float | None, float | None]:
    """Return the change of the slope and the speed ratio, for the size argument with the start's largest slope."""
    first = before.steepest
    second = next((one for one in after.series if one.parameter == first.parameter), None)
    if second is None:
        return None, None
    change = second.fit.slope - first.fit.slope if first.fit and second.fit else None
    return change, _speed_ratio(first, second)


def _speed_ratio(first: MeasuredSeries, second: MeasuredSeries) -> float | None:
    times = [{point.size: point.seconds for point in one.points} for one in (first, second)]
    common = times[0].keys() & times[1].keys()
    if not common:
        return None
    size = max(common)
    return times[0][size] / times[1][size] if times[1][size] > 0 else None
