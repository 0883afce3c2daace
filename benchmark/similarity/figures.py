"""The figures of a run over questions (METHODS.md 0.1, 4.3)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from django.db.models import QuerySet

from benchmark.finishes import count_finishes
from benchmark.metrics import Interval, cluster_bootstrap, wilson
from benchmark.models import Option, QuestionAnswer, Representation, SimilarityRun
from benchmark.runner.budget import Price, Spent
from benchmark.similarity.labels import label
from benchmark.similarity.question_sets import LETTERS, OPTIONS

RANDOM_ACCURACY = 1 / OPTIONS
RANDOM_MRR = fmean(1 / rank for rank in range(1, OPTIONS + 1))
"""What drawing lots gets: 25.0 % and 52.08 %."""
LISTED = 10
"""Labels on each side of the comparison of failures."""


@dataclass(frozen=True)
class Position:
    """How often the right option stood at a letter, was then found, and how often the letter was chosen."""

    letter: str
    right: int
    found: int
    chosen: int


@dataclass(frozen=True)
class LabelShare:
    """The share of a label among the failed questions, and among all; a question with several counts for each."""

    label: str
    failed: int
    questions: int
    share_failed: float
    share_all: float

    @property
    def difference(self) -> float:
        return self.share_failed - self.share_all


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of the references' ratings and failures (0 or 1), over single questions."""

    r: float
    p: float
    questions: int


@dataclass(frozen=True)
class TokenCost:
    """Completion tokens a question, on average: for the five representations, and for the answer.

    None where the provider did not say all. `ratio` is to the run by statement of the same model on the same
    questions; `written` is what writing each representation once took, over all questions.
    """

    representations: float | None
    answer: float | None
    total: float | None
    ratio: float | None
    written: int | None


@dataclass(frozen=True)
class SimilarityFigures:
    """An unreadable answer counts as wrong, and is counted apart. Questions without an answer count nowhere.

    `spent` is what the run itself has paid, representations included; what others had paid before is not in it.
    """

    run: str
    question_set: str
    task: str
    representation: str
    model: str
    parameters: dict[str, Any]
    state: str
    stop_reason: str
    faults: list[dict[str, str]]
    spent: dict[str, Any]
    scripted_model: bool
    questions: int
    answered: int
    correct: int
    unreadable: int
    finishes: dict[str, int]
    accuracy: float | None
    accuracy_interval: Interval | None
    mrr: float | None
    mrr_interval: Interval | None
    fallbacks: int
    positions: tuple[Position, ...]
    over_represented: tuple[LabelShare, ...]
    under_represented: tuple[LabelShare, ...]
    rating: Correlation | None
    tokens: TokenCost | None

    def to_json(self) -> dict[str, Any]:
        """The document of one run."""
        return asdict(self) | {"random_accuracy": RANDOM_ACCURACY, "random_mrr": RANDOM_MRR}


def measure(run: SimilarityRun) -> SimilarityFigures:
    """The figures of what the run has answered so far."""
    answers = list(run.answers.select_related("question__reference").defer("messages", "reply", "reasoning"))
    right = dict(
        Option.objects.filter(question__question_set=run.question_set, similar=True).values_list(
            "question", "place"
        )
    )
    correct = sum(answer.correct for answer in answers)
    ranks = [1 / answer.rank for answer in answers if answer.rank]
    made = _representations(answers)
    failed = [answer for answer in answers if not answer.correct]
    labels = _label_shares(failed, answers)
    limit = run.parameters.get("limit")
    questions = run.question_set.questions.count()
    return SimilarityFigures(
        run=str(run.pk),
        question_set=run.question_set.name,
        task=run.task,
        representation=run.representation,
        model=run.model_spec,
        parameters=run.parameters,
        state=run.state,
        stop_reason=run.stop_reason,
        faults=run.faults,
        spent=Spent.of_run(run).to_json(Price.of_run(run)),
        scripted_model=run.manifest["scripted_model"],
        questions=min(limit, questions) if limit else questions,
        answered=len(answers),
        correct=correct,
        unreadable=sum(answer.chosen is None for answer in answers),
        finishes=count_finishes(run.answers.all(), "reply") if run.task == run.Task.CHOOSE else {},
        accuracy=correct / len(answers) if answers else None,
        accuracy_interval=wilson(correct, len(answers)) if answers else None,
        mrr=fmean(ranks) if ranks else None,
        mrr_interval=cluster_bootstrap(ranks) if ranks else None,
        fallbacks=sum(not found for _, found in made.values()),
        positions=_positions(answers, right),
        over_represented=tuple(one for one in labels[:LISTED] if one.difference > 0),
        under_represented=tuple(one for one in labels[: -LISTED - 1 : -1] if one.difference < 0),
        rating=_correlation(answers),
        tokens=_tokens(run, answers, made),
    )


def _representations(answers: Iterable[QuestionAnswer]) -> dict[int, tuple[int | None, bool]]:
    """Completion tokens of the representations used, and whether their section was found, by id."""
    used = {pk for answer in answers for pk in answer.representations}
    rows: QuerySet[Representation] = Representation.objects.filter(pk__in=used)
    return {
        pk: (tokens, found) for pk, tokens, found in rows.values_list("pk", "output_tokens", "section_found")
    }


def _positions(answers: Sequence[QuestionAnswer], right: dict[int, int]) -> tuple[Position, ...]:
    stood: Counter[int] = Counter()
    found: Counter[int] = Counter()
    chosen: Counter[int] = Counter()
    for answer in answers:
        place = answer.order.index(right[answer.question_id])
        stood[place] += 1
        found[place] += answer.correct
        if answer.chosen is not None:
            chosen[answer.order.index(answer.chosen)] += 1
    return tuple(
        Position(letter, stood[place], found[place], chosen[place]) for place, letter in enumerate(LETTERS)
    )


def _label_shares(failed: Sequence[QuestionAnswer], answers: Sequence[QuestionAnswer]) -> list[LabelShare]:
    """Every label of the references, those first that failures hold too much of."""
    in_failed = Counter(label(tag) for answer in failed for tag in answer.question.reference.tags)
    in_all = Counter(label(tag) for answer in answers for tag in answer.question.reference.tags)
    shares = [
        LabelShare(
            name,
            in_failed[name],
            count,
            in_failed[name] / max(in_failed.total(), 1),
            count / in_all.total(),
        )
        for name, count in in_all.items()
    ]
    return sorted(shares, key=lambda share: (-share.difference, share.label)) if failed else []


def _correlation(answers: Sequence[QuestionAnswer]) -> Correlation | None:
    """None with fewer than three ratings, or where ratings or outcomes are all the same."""
    rated = [
        (rating, not answer.correct)
        for answer in answers
        if (rating := answer.question.reference.rating) is not None
    ]
    ratings, failures = [float(rating) for rating, _ in rated], [float(wrong) for _, wrong in rated]
    if len(rated) < 3 or len(set(ratings)) < 2 or len(set(failures)) < 2:
        return None
    from scipy.stats import pearsonr

    result = pearsonr(ratings, failures)
    return Correlation(float(result.statistic), float(result.pvalue), len(rated))


def _tokens(
    run: SimilarityRun, answers: Sequence[QuestionAnswer], made: dict[int, tuple[int | None, bool]]
) -> TokenCost | None:
    """None for a run that asked no model, or has no answer yet."""
    if not run.model_spec or not answers:
        return None
    representations = _mean(
        _sum(made[pk][0] if pk in made else None for pk in answer.representations) for answer in answers
    )
    answer_tokens = _mean(
        answer.output_tokens if run.task == SimilarityRun.Task.CHOOSE else 0 for answer in answers
    )
    total = None if representations is None or answer_tokens is None else representations + answer_tokens
    baseline = _statement_baseline(run)
    return TokenCost(
        representations,
        answer_tokens,
        total,
        total / baseline if total is not None and baseline else None,
        _sum(tokens for tokens, _ in made.values()),
    )


def _statement_baseline(run: SimilarityRun) -> float | None:
    """Tokens a question of the latest finished run by statement with this model on these questions."""
    baseline = SimilarityRun.objects.filter(
        question_set=run.question_set,
        model_spec=run.model_spec,
        task=SimilarityRun.Task.CHOOSE,
        representation="statement",
        state=SimilarityRun.State.FINISHED,
    ).first()
    return _mean(baseline.answers.values_list("output_tokens", flat=True)) if baseline else None


def _sum(values: Iterable[int | None]) -> int | None:
    """None when one of them is unknown."""
    numbers = list(values)
    known = [value for value in numbers if value is not None]
    return sum(known) if len(known) == len(numbers) else None


def _mean(values: Iterable[int | None]) -> float | None:
    """None when one of them is unknown, or there is none."""
    numbers = list(values)
    known = [value for value in numbers if value is not None]
    return fmean(known) if known and len(known) == len(numbers) else None
