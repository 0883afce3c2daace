"""Runs compared: the first with each other, problem by problem (docs/spec.md 0.1; statistics: benchmark.metrics).

Only problems that both runs tried are compared; what is left out is counted. Verdicts, McNemar's test and the
matrix are of the first chains (chain 0), the difference is of all chains. A refine run is compared by its Refine@K.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from django.db.models import Q
from django.db.models.functions import MD5

from benchmark.methods import scoring_of
from benchmark.metrics import (
    SIGNIFICANCE,
    Interval,
    RatioSet,
    TooFewAttempts,
    holm,
    mcnemar,
    overlap,
    paired_difference,
    problems_needed,
    ratio_set,
    visible_difference,
)
from benchmark.models import Generation, Problem, Run, WorkItem
from benchmark.reports.formatting import label, percent
from benchmark.reports.refinement.curves import Beside, share_within
from benchmark.reports.refinement.runs import NotRefined, attempts_allowed, beside, chains_of
from judge import Verdict

NO_REPLY = "NO_REPLY"
"""Stands for the verdict of an attempt that failed permanently, where such attempts count as wrong."""

DIVERGENCES = ("same", "prompt", "reply", "length")


@dataclass(frozen=True)
class Divergence:
    """Where two chains at one problem part: at a prompt, at a reply to the same prompt, or because one goes on.

    `kind` is one of DIVERGENCES; `step` is None for chains that are the same.
    """

    problem: str
    kind: str
    step: int | None


@dataclass(frozen=True)
class Pair:
    """A run beside the first one. Differences are this run minus the first, as shares of problems.

    `holm` is p adjusted for all runs compared with the first. `inside_noise` says that it shows no difference, nor
    does the interval where there are several attempts a problem; `visible` is the difference that these problems
    would show with a power of 80 %, `needed` the problems that this difference would need. `interval_method` and
    `contest_interval_method` name the methods of the intervals (`benchmark.metrics.IntervalMethod`), or are "none".
    `first_figure` and `figure` name what the values are, "pass@1" or "Refine@5"; of a refine run `first_curve` or
    `curve` is Refine@1 … Refine@K over the problems compared. `resampling` compares a refine run with independent
    attempts, at equal attempts and at equal tokens; it is None for other pairs and for too few attempts. `rejected`
    counts attempts that failed permanently.
    """

    run: str
    label: str
    problems: int
    first_figure: str
    figure: str
    first_curve: tuple[float, ...]
    curve: tuple[float, ...]
    resampling: Beside | None
    rejected: dict[str, int]
    unpaired: dict[str, int]
    caveats: tuple[str, ...]
    first_value: float | None
    value: float | None
    difference: float | None
    standard_error: float | None
    interval: Interval | None
    interval_method: str
    contest_interval: Interval | None
    contest_interval_method: str
    only_first: tuple[str, ...]
    only_this: tuple[str, ...]
    p: float
    holm: float
    inside_noise: bool
    visible: float | None
    needed: int | None
    transitions: dict[str, dict[str, int]]
    divergences: tuple[Divergence, ...]

    @property
    def divergence_counts(self) -> dict[str, int]:
        """How many chains part where: "same", "prompt at step 0", …"""
        return {where: len(problems) for where, problems in self.parted.items()}

    @property
    def parted(self) -> dict[str, list[str]]:
        """The problems of the chains that part at each place, a problem once for each of its chains."""
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.divergences:
            found[one.kind if one.step is None else f"{one.kind} at step {one.step}"].append(one.problem)
        return dict(sorted(found.items()))

    @property
    def power_note(self) -> str:
        """What the comparison could have seen, where it saw nothing."""
        if not self.inside_noise or self.visible is None:
            return ""
        note = (
            f"Inside the noise: {self.problems} problems would show a difference of {100 * self.visible:.1f} points "
            "with a power of 80 %."
        )
        if self.needed:
            note += f" For this difference it takes about {self.needed:,} problems."
        return note


@dataclass(frozen=True)
class Overlap:
    """Of what `run` solves and the first run does not (`newly`), the share that `other` solves too."""

    run: str
    other: str
    newly: int
    share: float | None


@dataclass(frozen=True)
class PartOfBest:
    """What a run reaches of the best score but the first run's, and of its gain over the first; None of nothing.

    Over the problems that all runs tried. The sets hold the ratios that a t test on problems does not reject; the best
    run has none, since its ratio to itself is 1. The USACO paper gives such shares for smaller corpora ("% of maximum",
    its Table 7) and does not say which of the two they are.
    """

    run: str
    of_score: float | None
    of_gain: float | None
    of_score_set: RatioSet | None
    of_gain_set: RatioSet | None


@dataclass(frozen=True)
class Comparison:
    """`parts_of_best` is empty for fewer than three runs, and without a problem that all of them tried.

    `failures` says whether attempts that failed permanently are "wrong" or "excluded".
    """

    failures: str
    first: str
    first_label: str
    pairs: tuple[Pair, ...]
    overlaps: tuple[Overlap, ...]
    parts_of_best: tuple[PartOfBest, ...]


class NothingToCompare(ValueError):
    """Fewer than two different runs; the message says so."""


@dataclass(frozen=True)
class _Outcomes:
    """Of one run: verdicts of finished chains by problem, in the order of their chains.

    `accepted_at` holds, of a refine run alone, which attempt of each chain was accepted.
    """

    run: Run
    verdicts: Mapping[int, Mapping[int, str]]
    accepted_at: Mapping[int, Sequence[int | None]]
    rejected: int

    @property
    def k(self) -> int:
        """Attempts in a chain that the headline counts; 0 for independent attempts."""
        return attempts_allowed(self.run) if scoring_of(self.run.method) == "refine" else 0

    @property
    def figure(self) -> str:
        return f"Refine@{self.k}" if self.k else "pass@1"

    def value(self, problem: int) -> float:
        if self.k:
            return share_within(self.accepted_at[problem], self.k)
        attempts = self.verdicts[problem].values()
        return sum(verdict == Verdict.AC for verdict in attempts) / len(attempts)

    def curve(self, problems: Sequence[int]) -> tuple[float, ...]:
        """Return Refine@1 … Refine@K over the problems; nothing without problems or attempts in a row."""
        if not problems:
            return ()
        return tuple(
            fmean(share_within(self.accepted_at[problem], limit) for problem in problems)
            for limit in range(1, self.k + 1)
        )

    def first(self, problem: int) -> str | None:
        return self.verdicts[problem].get(0)


def compare(runs: Sequence[Run], *, divergence: bool = True, failures: str = "") -> Comparison:
    """Compare the first run with each of the others. `divergence=False` leaves the replies unread.

    `failures` says how attempts that failed permanently count; by default as the first run has stored. Raises
    NothingToCompare for fewer than two different runs, and for a run that makes no attempts.
    """
    if len({run.pk for run in runs}) < 2 or len({run.pk for run in runs}) < len(runs):
        raise NothingToCompare("A comparison needs two or more different runs.")
    if without := [run for run in runs if scoring_of(run.method) == "none"]:
        raise NothingToCompare(
            f"Run {without[0].pk} builds verifiers and makes no attempts: leave it out of the comparison."
        )
    failures = failures or runs[0].failures
    outcomes = [_outcomes(run, failures) for run in runs]
    problems = _problems(runs)
    first, others = outcomes[0], outcomes[1:]
    chains = [_chains(run) for run in runs] if divergence else []
    found = [
        _pair(
            first,
            other,
            problems,
            failures,
            _divergences(chains[0], chains[place], problems) if divergence else (),
        )
        for place, other in enumerate(others, 1)
    ]
    adjusted = holm([pair["p"] for pair in found])
    pairs = []
    for fields, corrected in zip(found, adjusted, strict=True):
        interval = fields["interval"] if fields.pop("several") else None
        seen = corrected < SIGNIFICANCE or (interval is not None and not interval.low <= 0 <= interval.high)
        pairs.append(Pair(**fields, holm=corrected, inside_noise=not seen))
    newly = {other.run.pk: _newly(first, other) for other in others}
    return Comparison(
        failures=failures,
        first=str(first.run.pk),
        first_label=label(first.run, of=first.run.dataset.name),
        pairs=tuple(pairs),
        overlaps=tuple(
            Overlap(str(one), str(other), len(newly[one]), overlap(newly[one], newly[other]))
            for one in newly
            for other in newly
            if one != other
        ),
        parts_of_best=_parts_of_best(first, others),
    )


def _outcomes(run: Run, failures: str) -> _Outcomes:
    verdicts: dict[int, dict[int, str]] = defaultdict(dict)
    accepted_at: dict[int, list[int | None]] = defaultdict(list)
    refined = chains_of(run) if scoring_of(run.method) == "refine" else {}
    rejected = 0
    rows = run.items.filter(Q(state=WorkItem.State.DONE) | Q(permanent=True)).order_by("chain")
    for item, problem, chain, permanent, verdict in rows.values_list(
        "pk", "problem_id", "chain", "permanent", "judgement__verdict"
    ):
        rejected += permanent
        if permanent and failures == "excluded":
            continue
        verdicts[problem][chain] = NO_REPLY if permanent else verdict or Verdict.NO_CODE.value
        if item in refined:
            accepted_at[problem].append(refined[item].accepted_at)
    return _Outcomes(run, verdicts, accepted_at, rejected)


def _problems(runs: Sequence[Run]) -> dict[int, tuple[str, str]]:
    """Id and contest of every problem of the runs' datasets."""
    rows = Problem.objects.filter(dataset__in={run.dataset_id for run in runs}).order_by("external_id")
    return {
        pk: (name, contest or str(day or ""))
        for pk, name, contest, day in rows.values_list("pk", "external_id", "contest", "contest_date")
    }


def _newly(first: _Outcomes, other: _Outcomes) -> set[int]:
    """Problems whose first attempt only `other` solved."""
    return {
        problem
        for problem in first.verdicts.keys() & other.verdicts.keys()
        if other.first(problem) == Verdict.AC and first.first(problem) not in (None, Verdict.AC)
    }


def _parts_of_best(first: _Outcomes, others: Sequence[_Outcomes]) -> tuple[PartOfBest, ...]:
    tried = first.verdicts.keys() & set.intersection(*(set(other.verdicts) for other in others))
    if len(others) < 2 or not tried:
        return ()
    before, *values = ([one.value(problem) for problem in tried] for one in (first, *others))
    best = max(values, key=fmean)
    best_gain = _gains(best, before)
    parts = []
    for other, own in zip(others, values, strict=True):
        own_gain = _gains(own, before)
        parts.append(
            PartOfBest(
                str(other.run.pk),
                fmean(own) / fmean(best) if any(best) else None,
                fmean(own_gain) / fmean(best_gain) if fmean(best) > fmean(before) else None,
                ratio_set(own, best) if any(best) and own is not best else None,
                ratio_set(own_gain, best_gain) if fmean(best) > fmean(before) and own is not best else None,
            )
        )
    return tuple(parts)


def _gains(after: Sequence[float], before: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(after, before, strict=True)]


def _pair(
    first: _Outcomes,
    other: _Outcomes,
    problems: Mapping[int, tuple[str, str]],
    failures: str,
    divergences: tuple[Divergence, ...],
) -> dict[str, Any]:
    both = [problem for problem in problems if problem in first.verdicts and problem in other.verdicts]
    known = [problem for problem in both if first.first(problem) and other.first(problem)]
    only_first = [p for p in known if first.first(p) == Verdict.AC != other.first(p)]
    only_this = [p for p in known if other.first(p) == Verdict.AC != first.first(p)]
    before = [first.value(problem) for problem in both]
    after = [other.value(problem) for problem in both]
    binary = all(len(one.verdicts[problem]) == 1 for one in (first, other) for problem in both)
    difference = paired_difference(after, before, binary=binary) if both else None
    contests = [problems[problem][1] for problem in both]
    by_contest = None
    if all(contests) and len(set(contests)) > 1:
        by_contest = paired_difference(after, before, contests)
    discordant = (len(only_first) + len(only_this)) / len(known) if known else 0.0
    transitions: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for problem in known:
        transitions[str(first.first(problem))][str(other.first(problem))] += 1
    return {
        "run": str(other.run.pk),
        "label": label(other.run, of=other.run.dataset.name),
        "several": max(first.run.attempts, other.run.attempts) > 1,
        "problems": len(both),
        "first_figure": first.figure,
        "figure": other.figure,
        "first_curve": first.curve(both),
        "curve": other.curve(both),
        "resampling": _resampling(first, other, failures),
        "rejected": {"first": first.rejected, "this": other.rejected},
        "unpaired": {
            "only in the first run": len(first.verdicts.keys() - other.verdicts.keys()),
            "only in this run": len(other.verdicts.keys() - first.verdicts.keys()),
        },
        "caveats": (
            *_caveats(first.run, other.run),
            *_about_attempts(first, other),
            *_about_rejected(first, other, failures),
        ),
        "first_value": sum(before) / len(both) if both else None,
        "value": sum(after) / len(both) if both else None,
        "difference": difference.mean if difference else None,
        "standard_error": difference.standard_error if difference else None,
        "interval": difference.interval if difference else None,
        "interval_method": difference.method if difference else "none",
        "contest_interval": by_contest.interval if by_contest else None,
        "contest_interval_method": by_contest.method if by_contest else "none",
        "only_first": tuple(problems[problem][0] for problem in only_first),
        "only_this": tuple(problems[problem][0] for problem in only_this),
        "p": mcnemar(len(only_first), len(only_this)),
        "visible": visible_difference(len(known), discordant) if known else None,
        "needed": problems_needed(difference.mean, max(discordant, abs(difference.mean)))
        if difference
        else None,
        "transitions": {one: dict(row) for one, row in transitions.items()},
        "divergences": divergences,
    }


def _resampling(first: _Outcomes, other: _Outcomes, failures: str) -> Beside | None:
    """Return a refine run's Refine@K at equal attempts and at equal tokens, where the other run has K attempts."""
    if bool(first.k) == bool(other.k):
        return None
    refined, independent = (first, other) if first.k else (other, first)
    try:
        return beside(refined.run, independent.run, failures=failures)
    except (NotRefined, TooFewAttempts, ValueError):
        return None


def _about_attempts(first: _Outcomes, other: _Outcomes) -> list[str]:
    """Say where the two runs allow different numbers of attempts."""
    if first.figure == other.figure:
        return []
    said = f"{first.figure} is compared with {other.figure}, which allow different numbers of attempts"
    both = sorted({first.k or 1, other.k or 1})
    return [
        f"{said}. At {both[0]} attempt{'s' if both[0] > 1 else ''} each: {_at_equal(first, other, both[0])}."
    ]


def _at_equal(first: _Outcomes, other: _Outcomes, k: int) -> str:
    problems = [problem for problem in first.verdicts if problem in other.verdicts]
    said = []
    for one in (first, other):
        curve = one.curve(problems)
        value = curve[k - 1] if curve else fmean(map(one.value, problems)) if problems else None
        said.append(f"{'Refine' if one.k else 'pass'}@{k} {percent(value)}")
    return " and ".join(said)


def _about_rejected(first: _Outcomes, other: _Outcomes, failures: str) -> list[str]:
    """Say how attempts that failed permanently count."""
    treated = "counted as wrong" if failures == "wrong" else "left out"
    return [
        f"{one.rejected} attempt{'s' if one.rejected > 1 else ''} of {name} failed permanently: {treated} (--failures)."
        for one, name in ((first, "the first run"), (other, "this run"))
        if one.rejected
    ]


_COMPARED = {
    ("dataset", "content_hash"): "The problems changed between the runs",
    ("policy",): "The runs were judged under different policies",
    ("environment", "judge_version"): "The runs were judged by different versions of the judge",
    ("environment", "compiler"): "The runs were judged with different compilers",
}


def _caveats(first: Run, other: Run) -> list[str]:
    """What besides the method differs between two runs."""
    said = []
    if first.dataset_id != other.dataset_id:
        said.append("The runs are on different datasets: no problem is in both.")
    else:
        for path, words in _COMPARED.items():
            one, two = _at(first.manifest, path), _at(other.manifest, path)
            if one != two:
                said.append(words + (f": {one} and {two}." if len(str(one)) < 60 else "."))
    first_replies, other_replies = (_paid_replies(run) for run in (first, other))
    if other_replies and other_replies <= first_replies:
        said.append(
            "This run repeats stored replies of the first run: the variance between them is zero by construction."
        )
    for run, name in ((first, "The first run"), (other, "This run")):
        if run.state != Run.State.FINISHED:
            said.append(f"{name} is not finished: only its finished attempts are compared.")
        if run.manifest.get("scripted_model"):
            said.append(f"{name} has scripted replies: its figures say nothing about any model.")
    return said


def _paid_replies(run: Run) -> set[int]:
    """Return the keys of the paid replies that the run's own or repeated replies are."""
    rows = Generation.objects.filter(work_item__run=run).order_by()
    return {reused or pk for pk, reused in rows.values_list("pk", "reused_id")}


def _at(manifest: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = manifest
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


_Steps = list[tuple[str, str]]


def _chains(run: Run) -> dict[tuple[int, int], _Steps]:
    """The hashes of prompt and reply of each step, by problem and chain. The database hashes the replies."""
    chains: dict[tuple[int, int], _Steps] = defaultdict(list)
    rows = (
        Generation.objects.filter(work_item__run=run, work_item__state=WorkItem.State.DONE)
        .order_by("work_item", "step")
        .values_list("work_item__problem_id", "work_item__chain", "prompt_hash", MD5("text"))
    )
    for problem, chain, prompt, reply in rows:
        chains[problem, chain].append((prompt, reply))
    return chains


def _divergences(
    first: Mapping[tuple[int, int], _Steps],
    other: Mapping[tuple[int, int], _Steps],
    problems: Mapping[int, tuple[str, str]],
) -> tuple[Divergence, ...]:
    return tuple(
        Divergence(problems[key[0]][0], *_parting(first[key], other[key]))
        for key in sorted(first.keys() & other.keys(), key=lambda key: (problems[key[0]][0], key[1]))
    )


def _parting(first: _Steps, other: _Steps) -> tuple[str, int | None]:
    for step, (one, two) in enumerate(zip(first, other, strict=False)):
        if one[0] != two[0]:
            return "prompt", step
        if one[1] != two[1]:
            return "reply", step
    return ("same", None) if len(first) == len(other) else ("length", min(len(first), len(other)))
