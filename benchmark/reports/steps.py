"""What a run would have scored with fewer reflections: every smaller `i` from its own answers (docs/spec.md 7.3)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Q

from benchmark.methods import METHODS, ReflexionSettings, RetrySettings, Selection, select_answer
from benchmark.metrics import pass_at_k, rate_interval
from benchmark.models import Generation, Run, WorkItem
from judge import Verdict

ANSWERS = (Generation.Purpose.SOLVE, Generation.Purpose.REFLECT)
"""What may be an attempt; a draft and a critique never are."""


@dataclass(frozen=True)
class AfterReflections:
    """pass@1 had every chain been allowed `i` reflections, over the `problems` with a finished chain.

    In `unjudged` chains the answer that would count then was never judged on all tests; there is no value while there
    are any. The 95 % interval is made as that of pass@1; `interval` names its method.
    """

    i: int
    problems: int
    unjudged: int
    value: float | None
    low: float | None
    high: float | None
    interval: str


@dataclass(frozen=True)
class Answer:
    """An answer of a chain: whether it passed what is told of it, and the whole of its tests (None: not judged)."""

    passed: bool
    accepted: bool | None


_REJECTED = Answer(passed=False, accepted=False)
"""Stands at the end of a chain whose next request the provider rejected."""


def after_reflections(run: Run, failures: str) -> tuple[AfterReflections, ...]:
    """Return the scores after 0 … i reflections; empty for a method that selects among no answers.

    With `failures="wrong"` a chain that failed permanently is wrong from the reflection on that was rejected.
    An answer that fails a sample fails the whole of the tests, of which the samples are the first; any other that is
    not the attempt must have been judged (`manage.py judge_answers`).
    """
    method = METHODS.get(run.method)
    if method is None or not issubclass(method.settings, ReflexionSettings | RetrySettings):
        return ()
    chains: dict[int, dict[int, list[Answer]]] = defaultdict(lambda: defaultdict(list))
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
        # Of a problem without samples every program passes all of none.
        passed = program and samples in (None, Verdict.AC)
        known = (verdict if attempt else None) or hidden
        accepted = known == Verdict.AC if known or not passed else None
        chains[problem][item].append(Answer(passed and (accepted is True or not counted), accepted))
    for problem, item in rejected.values_list("problem_id", "pk"):
        chains[problem][item].append(_REJECTED)
    allowed = range(int(run.parameters["i"]) + 1 if chains else 0)
    by_problem = [list(of_problem.values()) for of_problem in chains.values()]
    return tuple(_after(i, by_problem, run.parameters["selection"], run.attempts) for i in allowed)


def _after(
    i: int, by_problem: Sequence[Sequence[Sequence[Answer]]], selection: Selection, attempts: int
) -> AfterReflections:
    selected = [[_selected(chain[: i + 1], selection) for chain in chains] for chains in by_problem]
    unjudged = sum(answer.accepted is None for chains in selected for answer in chains)
    if unjudged:
        return AfterReflections(i, len(selected), unjudged, None, None, None, "none")
    counts = [(len(chains), sum(answer.accepted is True for answer in chains)) for chains in selected]
    values = [pass_at_k(number, accepted, 1) for number, accepted in counts]
    interval, method = rate_interval(values, single=attempts == 1)
    return AfterReflections(i, len(values), 0, sum(values) / len(values), *interval, method)


def _selected(chain: Sequence[Answer], selection: Selection) -> Answer:
    if chain[-1] is _REJECTED:
        return _REJECTED
    return chain[select_answer([answer.passed for answer in chain], selection)]
