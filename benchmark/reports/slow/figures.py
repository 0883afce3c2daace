"""Contrasts of the arms of slow programs with `slow-told`, with what each contrast leaves out."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from math import log
from typing import Any, Literal
from uuid import UUID

from django.db.models import Count, Max

from benchmark.growth.contrasts import PairedValues, SlowContrast, mean_contrast, share_contrast
from benchmark.growth.starts import ARM_PREFIX
from benchmark.methods.slow import STARTS
from benchmark.metrics import holm
from benchmark.models import GrowthCurve, Run, SlowComparison
from benchmark.reports.cached_report import run_fingerprint
from benchmark.reports.slow.chains import Key, SlowArm, SlowChain, SlowOutcome, measure_programs, read_arm
from judge import Verdict

BASE = "slow-told"
"""The arm that the others are compared with."""

Kind = Literal["share", "slope", "log ratio"]
"""The unit of a figure: a share from 0 (or -1) to 1, a slope, or the natural logarithm of a ratio of times."""

Both = tuple[SlowChain, SlowChain]
"""The chains of an arm and of `slow-told` with one start program."""


class SlowRunsError(Exception):
    """Runs that cannot be compared; the message names the reason."""


@dataclass(frozen=True)
class SlowFigure:
    """A named contrast of an arm with `slow-told`; None without a common start program that has the value.

    `left_out` counts the common start programs that the contrast leaves out by reason. `holm` is p, corrected by Holm's
    method for the arms; None without a test.
    """

    name: str
    kind: Kind
    contrast: SlowContrast | None
    left_out: Mapping[str, int]
    holm: float | None = None


@dataclass(frozen=True)
class SlowComparedArm:
    """The figures of an arm beside `slow-told`. `left_out` counts chains, `wrong_oracles` wrong start programs."""

    arm: str
    run: str
    figures: tuple[SlowFigure, ...]
    left_out: Mapping[str, int]
    wrong_oracles: int


@dataclass(frozen=True)
class SlowRow:
    """A start program with the outcomes of its chains by run. `submission` is None if the program is not stored."""

    problem: str
    title: str
    submission: int | None
    right: bool
    outcomes: Mapping[str, SlowOutcome]


@dataclass(frozen=True)
class SlowReport:
    """The figures of all arms. `simulated` means that no language model wrote the repairs."""

    base_run: str
    simulated: bool
    starts: int
    right: int
    base_left_out: Mapping[str, int]
    arms: tuple[SlowComparedArm, ...]
    rows: tuple[SlowRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all figures by name."""
        return asdict(self)


def slow_report(runs: Sequence[Run], *, measure: bool = False) -> SlowReport:
    """Return the figures of runs of slow arms, one of which must be `slow-told`.

    With `measure`, start and last programs without a growth curve are measured in this process; otherwise nothing is
    written. Raises SlowRunsError.
    """
    base = _base(runs)
    if measure:
        for run in runs:
            measure_programs(run)
    told = read_arm(base)
    others = [_with_equal_tokens(read_arm(run), told) for run in runs if run.pk != base.pk]
    return SlowReport(
        base_run=str(base.pk),
        simulated=any(run.manifest.get("scripted_model", False) for run in runs),
        starts=len(told.chains),
        right=sum(chain.right for chain in told.chains.values()),
        base_left_out=told.left_out,
        arms=tuple(_corrected([_compared(arm, told) for arm in others])),
        rows=tuple(_rows([told, *others])),
    )


def shown_slow_report(runs: Sequence[Run]) -> SlowReport:
    """Return `slow_report` without new measurements, computed once in this process for each state of its rows."""
    curves = GrowthCurve.objects.filter(state=GrowthCurve.State.DONE).aggregate(
        Count("pk"), Max("finished_at")
    )
    comparisons = SlowComparison.objects.aggregate(Count("pk"), Max("pk"))
    state = tuple(map(run_fingerprint, runs)), tuple(curves.values()), tuple(comparisons.values())
    return _computed(tuple(run.pk for run in runs), state)


@lru_cache(maxsize=16)
def _computed(keys: tuple[UUID, ...], _state: Hashable) -> SlowReport:
    found = Run.objects.select_related("dataset").in_bulk(keys)
    return slow_report([found[key] for key in keys])


def _base(runs: Sequence[Run]) -> Run:
    if strange := [run for run in runs if not run.method.startswith(ARM_PREFIX)]:
        raise SlowRunsError(
            f"Run {strange[0].pk} has the method {strange[0].method}, which is not an arm of slow programs."
        )
    bases = [run for run in runs if run.method == BASE]
    if len(bases) != 1 or len(runs) < 2:
        raise SlowRunsError(f"Name one run of {BASE}, and at least one run of another arm.")
    for name in ("dataset_id", "model_spec"):
        if len({getattr(run, name) for run in runs}) > 1:
            raise SlowRunsError("The runs must have one dataset and one model.")
    names = {name for run in runs for name in run.parameters} - {"starts"}
    if differing := sorted(
        n for n in names if any(run.parameters.get(n) != bases[0].parameters.get(n) for run in runs)
    ):
        raise SlowRunsError(f"The runs must have the same settings. These differ: {', '.join(differing)}.")
    if without := [run for run in runs if STARTS not in run.manifest.get("prepared", {})]:
        raise SlowRunsError(f"Run {without[0].pk} has no record of its start programs.")
    return bases[0]


def _with_equal_tokens(arm: SlowArm, told: SlowArm) -> SlowArm:
    """Return the arm with the verdicts of its chains within the tokens of `slow-told`."""
    r = int(told.run.parameters["r"])
    chains = {}
    for key, chain in arm.chains.items():
        budget = _token_budget(told.chains[key], r) if key in told.chains else None
        verdict = None if budget is None else chain.verdict_within(budget)
        chains[key] = replace(chain, outcome=replace(chain.outcome, verdict_at_equal_tokens=verdict))
    return replace(arm, chains=chains)


def _token_budget(told: SlowChain, r: int) -> float | None:
    """Return the tokens that `slow-told` uses for all r repairs at this start: the mean of its repairs times r."""
    tokens, repairs = told.outcome.tokens, told.outcome.repairs
    return None if tokens is None else tokens / repairs * r


def _compared(arm: SlowArm, told: SlowArm) -> SlowComparedArm:
    common = [(arm.chains[key], told.chains[key]) for key in told.chains if key in arm.chains]
    left_out = Counter(arm.left_out)
    if only := len(arm.chains.keys() - told.chains.keys()):
        left_out[f"the start program is not in the run of {BASE}"] += only
    if only := len(told.chains.keys() - arm.chains.keys()):
        left_out[f"the start program is only in the run of {BASE}"] += only
    figures = [
        *_verdict_figures("equal repairs", common, lambda chain: chain.outcome.verdict),
        *_verdict_figures("equal tokens", common, lambda chain: chain.outcome.verdict_at_equal_tokens),
        _mean_figure("change of slope", "slope", common, lambda chain: chain.outcome.slope_change),
        _mean_figure("speed ratio (log)", "log ratio", common, _log_ratio),
    ]
    wrong = sum(chain.outcome.start_is_wrong for chain in arm.chains.values())
    return SlowComparedArm(arm.run.method, str(arm.run.pk), tuple(figures), dict(left_out), wrong)


def _corrected(arms: Sequence[SlowComparedArm]) -> list[SlowComparedArm]:
    """Return the arms with each p corrected for the number of arms that test the same figure."""
    columns = []
    for figures in zip(*(arm.figures for arm in arms), strict=True):
        known = [one.contrast.p for one in figures if one.contrast and one.contrast.p is not None]
        adjusted = iter(holm(known))
        columns.append(
            [
                replace(one, holm=next(adjusted)) if one.contrast and one.contrast.p is not None else one
                for one in figures
            ]
        )
    return [replace(arm, figures=own) for arm, own in zip(arms, zip(*columns, strict=True), strict=True)]


def _verdict_figures(
    budget: str, common: Sequence[Both], verdict: Callable[[SlowChain], str | None]
) -> list[SlowFigure]:
    """Return conversion, regression and net.

    `verdict` returns the verdict of a chain of the arm; for a chain of `slow-told`, the last verdict is used.
    """
    known, unknown = [], 0
    for one, other in common:
        found = verdict(one)
        if found is None:
            unknown += 1
        else:
            known.append((one, found, other.outcome.verdict))
    left_out = {"the tokens of a repair are unknown": unknown} if unknown else {}
    right = [entry for entry in known if entry[0].right]
    without = len(known) - len(right)
    net_left_out = left_out | ({"the start program is not known to be right": without} if without else {})
    return [
        SlowFigure(f"conversion, {budget}", "share", _shares(known, _converted), left_out),
        SlowFigure(f"regression, {budget}", "share", _shares(known, _regressed), left_out),
        SlowFigure(
            f"net, right but slow, {budget}", "share", _shares(right, _net, lowest=-1.0), net_left_out
        ),
    ]


def _converted(verdict: str) -> float:
    return float(verdict == Verdict.AC)


def _regressed(verdict: str) -> float:
    return float(verdict == Verdict.WA)


def _net(verdict: str) -> float:
    return _converted(verdict) - _regressed(verdict)


def _log_ratio(chain: SlowChain) -> float | None:
    ratio = chain.outcome.speed_ratio
    return None if ratio is None else log(ratio)


def _shares(
    verdicts: Iterable[tuple[SlowChain, str, str]], value: Callable[[str], float], *, lowest: float = 0.0
) -> SlowContrast | None:
    pairs = [PairedValues(chain.problem, value(first), value(second)) for chain, first, second in verdicts]
    return share_contrast(pairs, lowest=lowest)


def _mean_figure(
    name: str, kind: Kind, common: Sequence[Both], value: Callable[[SlowChain], float | None]
) -> SlowFigure:
    pairs, left_out = [], Counter[str]()
    for one, other in common:
        first, second = value(one), value(other)
        if first is not None and second is not None:
            pairs.append(PairedValues(one.problem, first, second))
            continue
        missing = one if first is None else other
        left_out[missing.outcome.unmeasured or f"a program has no {name.removesuffix(' (log)')}"] += 1
    return SlowFigure(name, kind, mean_contrast(pairs), dict(left_out))


def _rows(arms: Sequence[SlowArm]) -> Iterable[SlowRow]:
    """Yield each start program of any arm with its outcomes, by problem."""
    chains: dict[Key, dict[str, SlowChain]] = {}
    for arm in arms:
        for key, chain in arm.chains.items():
            chains.setdefault(key, {})[str(arm.run.pk)] = chain
    for _, of_start in sorted(chains.items()):
        first = next(iter(of_start.values()))
        outcomes = {run: chain.outcome for run, chain in of_start.items()}
        yield SlowRow(first.problem, first.title, first.submission, first.right, outcomes)
