"""Runs compared: the first with each other, problem by problem (METHODS.md 0.1; statistics: benchmark.metrics).

Only problems that both runs tried are compared; what is left out is counted. Verdicts, McNemar's test and the
matrix are of the first attempts (chain 0), the difference is of all attempts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from django.db.models.functions import MD5

from benchmark.metrics import (
    SIGNIFICANCE,
    Interval,
    RatioSet,
    holm,
    mcnemar,
    overlap,
    paired_difference,
    problems_needed,
    ratio_set,
    visible_difference,
)
from benchmark.models import Generation, Problem, Run, WorkItem
from benchmark.reports.wording import label
from judge import Verdict

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
    """

    run: str
    label: str
    problems: int
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
    """`parts_of_best` is empty for fewer than three runs, and without a problem that all of them tried."""

    first: str
    first_label: str
    pairs: tuple[Pair, ...]
    overlaps: tuple[Overlap, ...]
    parts_of_best: tuple[PartOfBest, ...]


class NothingToCompare(ValueError):
    """Fewer than two different runs; the message says so."""


@dataclass(frozen=True)
class _Outcomes:
    """Of one run: verdicts of finished attempts by problem, in the order of their chains."""

    run: Run
    verdicts: Mapping[int, Mapping[int, str]]

    def value(self, problem: int) -> float:
        attempts = self.verdicts[problem].values()
        return sum(verdict == Verdict.AC for verdict in attempts) / len(attempts)

    def first(self, problem: int) -> str | None:
        return self.verdicts[problem].get(0)


def compare(runs: Sequence[Run], *, divergence: bool = True) -> Comparison:
    """The first run with each of the others. `divergence=False` leaves the replies unread.

    Raises NothingToCompare for fewer than two different runs.
    """
    if len({run.pk for run in runs}) < 2 or len({run.pk for run in runs}) < len(runs):
        raise NothingToCompare("A comparison needs two or more different runs.")
    outcomes = [_outcomes(run) for run in runs]
    problems = _problems(runs)
    first, others = outcomes[0], outcomes[1:]
    chains = [_chains(run) for run in runs] if divergence else []
    found = [
        _pair(
            first,
            other,
            problems,
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


def _outcomes(run: Run) -> _Outcomes:
    verdicts: dict[int, dict[int, str]] = defaultdict(dict)
    rows = run.items.filter(state=WorkItem.State.DONE).order_by("chain")
    for problem, chain, verdict in rows.values_list("problem_id", "chain", "judgement__verdict"):
        verdicts[problem][chain] = verdict or Verdict.NO_CODE.value
    return _Outcomes(run, verdicts)


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
        "unpaired": {
            "only in the first run": len(first.verdicts.keys() - other.verdicts.keys()),
            "only in this run": len(other.verdicts.keys() - first.verdicts.keys()),
        },
        "caveats": tuple(_caveats(first.run, other.run)),
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
