"""Figures of slow programs: each arm paired with `slow-told` over the same start programs (docs/slow-programs.md)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, log
from typing import Any

from benchmark.growth import Growth, NoSizesError, growth_of, measured_curve
from benchmark.growth.contrasts import Pair, SlowContrast, mean_contrast, share_contrast
from benchmark.growth.measuring import Measured
from benchmark.judging import store_submission
from benchmark.methods.slow import PREFIX, STARTS
from benchmark.models import Generation, Run, SlowComparison, Submission, WorkItem
from benchmark.providers import is_scripted, parse_model_spec
from judge import Verdict

BASE = "slow-told"
"""The arm that the others are compared with."""

LOG_SPEED_RATIO = "speed ratio (log)"
"""The name of the figure whose values are logarithms. Its text shows them as factors."""

Key = tuple[str, int]
"""A start program: the id of its problem, and its submission."""


class SlowRunsError(Exception):
    """Runs that cannot be compared; the message names the reason."""


@dataclass(frozen=True)
class Repair:
    """A repair of a chain: its verdict and its tokens, input and output together (None: unknown)."""

    verdict: str
    tokens: int | None
    generation: int


@dataclass(frozen=True)
class SlowChain:
    """A finished chain: its start program, its repairs, and what is measured of start and last program."""

    item: int
    problem: str
    start: int
    right: bool
    """Whether the start program is right but slow; False: unknown."""
    repairs: tuple[Repair, ...]
    slope_change: float | None
    """Slope of the last program minus that of the start program."""
    speed_ratio: float | None
    """Time of the start program divided by that of the last one at the largest common size."""
    slow_is_wrong: bool
    """Whether a comparison showed that the start program is wrong."""

    @property
    def key(self) -> Key:
        """The start program."""
        return self.problem, self.start

    def verdict_within(self, tokens: float | None) -> str:
        """Return the verdict after the last repair within this number of tokens (None: all); TLE before the first."""
        spent, verdict = 0.0, Verdict.TLE.value
        for repair in self.repairs:
            spent += repair.tokens or 0
            if tokens is not None and spent > tokens:
                return verdict
            verdict = repair.verdict
        return verdict


@dataclass(frozen=True)
class SlowArm:
    """The chains of a run of one arm, and the number of those left out by reason."""

    run: Run
    chains: Mapping[Key, SlowChain]
    left_out: Mapping[str, int]

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.run.method


@dataclass(frozen=True)
class SlowFigure:
    """A named contrast of an arm with `slow-told`; None without a common start program that has the value."""

    name: str
    contrast: SlowContrast | None


@dataclass(frozen=True)
class SlowComparedArm:
    """The figures of an arm beside `slow-told`."""

    arm: str
    run: str
    figures: tuple[SlowFigure, ...]
    left_out: Mapping[str, int]
    wrong_oracles: int


@dataclass(frozen=True)
class SlowReport:
    """The figures of all arms. `simulated` means that no language model wrote the repairs."""

    base_run: str
    simulated: bool
    starts: int
    right: int
    base_left_out: Mapping[str, int]
    arms: tuple[SlowComparedArm, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return all figures by name."""
        return asdict(self)


def slow_report(runs: Sequence[Run], *, measure: bool) -> SlowReport:
    """Return the figures of runs of slow arms, one of which must be `slow-told`.

    With `measure`, start and last programs without a growth curve are measured in this process. Raises SlowRunsError.
    """
    base = _base(runs)
    told = _arm(base, measure=measure)
    others = [_arm(run, measure=measure) for run in runs if run.pk != base.pk]
    return SlowReport(
        base_run=str(base.pk),
        simulated=any(is_scripted(parse_model_spec(run.model_spec)) for run in runs),
        starts=len(told.chains),
        right=sum(chain.right for chain in told.chains.values()),
        base_left_out=told.left_out,
        arms=tuple(_compared(arm, told) for arm in others),
    )


def _base(runs: Sequence[Run]) -> Run:
    if strange := [run for run in runs if not run.method.startswith(PREFIX)]:
        raise SlowRunsError(
            f"Run {strange[0].pk} has the method {strange[0].method}, which is no arm of slow programs."
        )
    bases = [run for run in runs if run.method == BASE]
    if len(bases) != 1 or len(runs) < 2:
        raise SlowRunsError(f"Name one run of {BASE}, and at least one run of another arm.")
    for name in ("dataset_id", "model_spec"):
        if len({getattr(run, name) for run in runs}) > 1:
            raise SlowRunsError("The runs must have one dataset and one model.")
    if len({(run.parameters.get("language"), run.parameters.get("r")) for run in runs}) > 1:
        raise SlowRunsError("The runs must have one language and the same number of repairs (r).")
    return bases[0]


def _arm(run: Run, *, measure: bool) -> SlowArm:
    starts = run.manifest["prepared"][STARTS]
    left_out: Counter[str] = Counter()
    chains = {}
    items = run.items.select_related("problem__dataset", "selected").order_by("problem_id", "chain")
    for item in items:
        if item.state != WorkItem.State.DONE:
            left_out[f"the chain is {item.get_state_display()}"] += 1
            continue
        start = starts[item.problem.external_id][item.chain]
        chain = _chain(run, item, start, measure=measure)
        chains[chain.key] = chain
    return SlowArm(run, chains, dict(left_out))


def _chain(run: Run, item: WorkItem, start: Mapping[str, Any], *, measure: bool) -> SlowChain:
    answers = item.generations.filter(purpose=Generation.Purpose.REPAIR).order_by("step")
    answers = answers.select_related("sample_judgement", "hidden_judgement")
    repairs = tuple(Repair(_verdict(one), _tokens(one), one.pk) for one in answers)
    slow = Submission.objects.select_related("problem__dataset").get(pk=start["submission"])
    before = _growth(slow, measure=measure)
    after, last = None, item.selected
    if last is not None and last.code:
        submission = store_submission(item.problem, last.code, str(run.parameters["language"]))
        after = _growth(submission, measure=measure)
    codes = [one.code for one in answers if one.code]
    wrong = SlowComparison.objects.filter(slow=slow, slow_is_wrong=True, candidate__source__in=codes).exists()
    change, ratio = _changes(before, after)
    return SlowChain(
        item.pk, item.problem.external_id, slow.pk, bool(start["right"]), repairs, change, ratio, wrong
    )


def _verdict(answer: Generation) -> str:
    """Return the verdict on all tests; on the samples where they stopped the judging; NO_CODE without a program."""
    judgement = answer.hidden_judgement or answer.sample_judgement
    return judgement.verdict if judgement else Verdict.NO_CODE.value


def _tokens(answer: Generation) -> int | None:
    known = [number for number in (answer.input_tokens, answer.output_tokens) if number is not None]
    return sum(known) if known else None


def _growth(submission: Submission, *, measure: bool) -> Growth | None:
    """Return the growth of the program: the stored one, or with `measure` the measured one; None if there is none."""
    if measure:
        try:
            return growth_of(measured_curve(submission))
        except NoSizesError:
            return None
    stored = submission.growth_curves.order_by("-pk").first()
    return growth_of(stored) if stored else None


def _changes(before: Growth | None, after: Growth | None) -> tuple[float | None, float | None]:
    """Return the change of the slope and the speed ratio, by the size argument with the start's largest slope."""
    if before is None or after is None:
        return None, None
    first = before.steepest
    second = next((one for one in after.series if one.parameter == first.parameter), None)
    if second is None:
        return None, None
    change = second.fit.slope - first.fit.slope if first.fit and second.fit else None
    return change, _speed_ratio(first, second)


def _speed_ratio(first: Measured, second: Measured) -> float | None:
    times = [{point.size: point.seconds for point in one.points} for one in (first, second)]
    common = times[0].keys() & times[1].keys()
    if not common:
        return None
    size = max(common)
    return times[0][size] / times[1][size] if times[1][size] > 0 else None


def _compared(arm: SlowArm, told: SlowArm) -> SlowComparedArm:
    common = [(arm.chains[key], told.chains[key]) for key in told.chains if key in arm.chains]
    left_out = Counter(arm.left_out)
    if only := len(arm.chains.keys() - told.chains.keys()):
        left_out[f"the start program is not in the run of {BASE}"] += only
    if only := len(told.chains.keys() - arm.chains.keys()):
        left_out[f"the start program is only in the run of {BASE}"] += only
    figures = []
    r = int(told.run.parameters["r"])
    budgets: dict[str, list[float | None]] = {
        "equal repairs": [None for _ in common],
        "equal tokens": [_token_budget(other, r) for _, other in common],
    }
    for name, tokens in budgets.items():
        verdicts = [
            (one, one.verdict_within(most), other.verdict_within(None))
            for (one, other), most in zip(common, tokens, strict=True)
        ]
        figures += [
            SlowFigure(f"conversion, {name}", _shares(verdicts, _converted)),
            SlowFigure(f"regression, {name}", _shares(verdicts, _regressed)),
            SlowFigure(
                f"net, right but slow, {name}",
                _shares([one for one in verdicts if one[0].right], _net, lowest=-1.0),
            ),
        ]
    figures.append(SlowFigure("change of slope", _means(common, lambda chain: chain.slope_change)))
    figures.append(SlowFigure(LOG_SPEED_RATIO, _means(common, _log_ratio)))
    wrong = sum(chain.slow_is_wrong for chain in arm.chains.values())
    return SlowComparedArm(arm.name, str(arm.run.pk), tuple(figures), dict(left_out), wrong)


def _token_budget(told: SlowChain, r: int) -> float | None:
    """Return the tokens that `slow-told` uses for all r repairs at this start: the mean of its repairs times r."""
    known = [repair.tokens for repair in told.repairs if repair.tokens is not None]
    return sum(known) / len(known) * r if known else None


def _converted(verdict: str) -> float:
    return float(verdict == Verdict.AC)


def _regressed(verdict: str) -> float:
    return float(verdict == Verdict.WA)


def _net(verdict: str) -> float:
    return _converted(verdict) - _regressed(verdict)


def _log_ratio(chain: SlowChain) -> float | None:
    return None if chain.speed_ratio is None else log(chain.speed_ratio)


def _shares(
    verdicts: Sequence[tuple[SlowChain, str, str]], value: Callable[[str], float], *, lowest: float = 0.0
) -> SlowContrast | None:
    pairs = [Pair(chain.problem, value(first), value(second)) for chain, first, second in verdicts]
    return share_contrast(pairs, lowest=lowest)


def _means(
    common: Sequence[tuple[SlowChain, SlowChain]], value: Callable[[SlowChain], float | None]
) -> SlowContrast | None:
    pairs = []
    for one, other in common:
        first, second = value(one), value(other)
        if first is not None and second is not None:
            pairs.append(Pair(one.problem, first, second))
    return mean_contrast(pairs)


def slow_text(report: SlowReport) -> str:
    """Return the figures as text for a terminal."""
    lines = [
        f"{report.starts} start programs, {report.right} of them right but slow; the others are unknown."
    ]
    if report.simulated:
        lines.append("Simulated: a scripted or simulated student wrote the repairs.")
    lines += [f"{BASE}, left out: {reason} ({count})" for reason, count in report.base_left_out.items()]
    for arm in report.arms:
        lines += ["", f"{arm.arm} minus {BASE} (run {arm.run})"]
        lines += [f"  {figure.name}: {_contrast_text(figure)}" for figure in arm.figures]
        lines += [f"  left out: {reason} ({count})" for reason, count in arm.left_out.items()]
        if arm.wrong_oracles:
            lines.append(f"  {arm.wrong_oracles} start programs proved wrong on small inputs")
    lines.append("")
    lines.append("Exploratory, unless a frozen study names these figures. Problems have equal weight.")
    return "\n".join(lines)


def _contrast_text(figure: SlowFigure) -> str:
    found = figure.contrast
    if found is None:
        return "no common start program has it"
    if figure.name == LOG_SPEED_RATIO:
        values = [f"{exp(value):.3g}" for value in (found.first, found.second)]
        interval = (
            ""
            if found.low is None or found.high is None
            else f" [{exp(found.low):.3g}, {exp(found.high):.3g}]"
        )
        return f"{values[0]} times against {values[1]} times: factor {exp(found.difference):.3g}{interval}"
    interval = "" if found.low is None or found.high is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    test = f", p = {found.p:.3f}" if found.p is not None else ""
    return (
        f"{found.first:.2f} against {found.second:.2f}: {found.difference:+.2f}{interval} ({found.method}){test}, "
        f"{found.starts} starts, {found.problems} problems"
    )
