"""Scores after fewer reflections, computed from the answers of a run (docs/spec.md 7.3)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Q

from benchmark.methods import METHODS, ReflexionSettings, RetrySettings, Selection, select_answer
from benchmark.metrics import pass_at_k, rate_interval
from benchmark.models import Generation, Run, WorkItem
from judge import Verdict

ANSWERS = (Generation.Purpose.SOLVE, Generation.Purpose.REFLECT)
"""Purposes of replies that may be an attempt; drafts and critiques are not."""


@dataclass(frozen=True)
class AfterReflections:
    """pass@1 with at most `i` reflections in each chain, over the `problems` with a finished chain.

    In `unjudged` chains the answer that counts was never judged on all tests; if there are any, there is no value. The
    95 % interval is computed as for pass@1; `interval` names its method.
    """

    i: int
    problems: int
    unjudged: int
    value: float | None
    low: float | None
    high: float | None
    interval: str


@dataclass(frozen=True)
class ChainAnswer:
    """An answer of a chain: whether it passed the tests of the feedback, and all tests (None: not judged)."""

    passed: bool
    accepted: bool | None


_REJECTED = ChainAnswer(passed=False, accepted=False)
"""The end of a chain whose next request the provider rejected."""


def after_reflections(run: Run, failures: str) -> tuple[AfterReflections, ...]:
    """Return the scores after 0 … i reflections; empty for a method that does not select among answers.

    With `failures="wrong"` a chain that failed permanently is wrong from the rejected reflection on. An answer that
    fails a sample also fails the whole suite, which begins with the samples. Any other answer that is not the attempt
    needs a judgement on all tests (`manage.py judge_answers`).
    """
    method = METHODS.get(run.method)
    if method is None or not issubclass(method.settings, ReflexionSettings | RetrySettings):
        return ()
    chains: dict[int, dict[int, list[ChainAnswer]]] = defaultdict(lambda: defaultdict(list))
    ended = Q(work_item__state=WorkItem.State.DONE)
    rejected = run.items.filter(permanent=True) if failures == "wrong" else WorkItem.objects.none()
    if failures == "wrong":
        ended |= Q(work_item__permanent=True)
    rows = (
        Generation.objects.filter(ended, work_item__run=run, purpose__in=ANSWERS)
        .order_by("work_item", "step")
        .annotate(
            program=~Q(code=""),
            attempt=Q(pk=F("work_item__selected")),
        )
    )
    counted = run.parameters.get("feedback") == "samples+hidden_count"
    for problem, item, program, samples, hidden, attempt, verdict in rows.values_list(
        "work_item__problem_id",
        "work_item_id",
        "program",
        "sample_judgement__verdict",
        "hidden_judgement__verdict",
        "attempt",
        "work_item__judgement__verdict",
    ):
        # A problem without samples has no sample judgement: every program passes.
        passed = program and samples in (None, Verdict.AC)
        known = (verdict if attempt else None) or hidden
        accepted = known == Verdict.AC if known or not passed else None
        chains[problem][item].append(ChainAnswer(passed and (accepted is True or not counted), accepted))
    for problem, item in rejected.values_list("problem_id", "pk"):
        chains[problem][item].append(_REJECTED)
    allowed = range(int(run.parameters["i"]) + 1 if chains else 0)
    by_problem = [list(of_problem.values()) for of_problem in chains.values()]
    return tuple(_after(i, by_problem, run.parameters["selection"], run.attempts) for i in allowed)


def _after(
    i: int, by_problem: Sequence[Sequence[Sequence[ChainAnswer]]], selection: Selection, attempts: int
) -> AfterReflections:
    selected = [[_selected(chain[: i + 1], selection) for chain in chains] for chains in by_problem]
    unjudged = sum(answer.accepted is None for chains in selected for answer in chains)
    if unjudged:
        return AfterReflections(i, len(selected), unjudged, None, None, None, "none")
    counts = [(len(chains), sum(answer.accepted is True for answer in chains)) for chains in selected]
    values = [pass_at_k(number, accepted, 1) for number, accepted in counts]
    interval, method = rate_interval(values, single=attempts == 1)
    return AfterReflections(i, len(values), 0, sum(values) / len(values), *interval, method)


def _selected(chain: Sequence[ChainAnswer], selection: Selection) -> ChainAnswer:
    if chain[-1] is _REJECTED:
        return _REJECTED
    return chain[select_answer([answer.passed for answer in chain], selection)]
