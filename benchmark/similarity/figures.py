"""The figures of a run over questions (docs/spec.md 0.1, 4.3)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import fmean
from typing import Any

from django.db.models import QuerySet

from benchmark.datasets.question_sets import LETTERS, OPTIONS
from benchmark.metrics import Interval, mean_interval, wilson
from benchmark.model_calls.budget import Price, Spending
from benchmark.models import Option, QuestionAnswer, QuestionSet, Representation, SimilarityRun
from benchmark.models.finishes import count_finishes
from benchmark.similarity.labels import label
from benchmark.similarity.ties import Placing, tied_best
from benchmark.text.tags import readable_tags, tag_key

RANDOM_ACCURACY = 1 / OPTIONS
RANDOM_MRR = fmean(1 / rank for rank in range(1, OPTIONS + 1))
"""What drawing lots gets: 25.0 % and 52.08 %."""
LISTED = 10
"""Labels on each side of the comparison of failures."""


@dataclass(frozen=True)
class Position:
    """How often the right option stood at a letter, was then found, and how often the letter was chosen.

    Options that tie for the first place are each chosen with equal chance, so these numbers may be fractions.
    """

    letter: str
    right: int
    found: float
    chosen: float


@dataclass(frozen=True)
class LabelShare:
    """The share of a label among the failed questions, and among all; a question with several counts for each.

    `failed` is the expected number where options are tied.
    """

    label: str
    failed: float
    questions: int
    share_failed: float
    share_all: float

    @property
    def difference(self) -> float:
        return self.share_failed - self.share_all


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of the references' ratings and failures (0, 1, or the chance of it), over single questions."""

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

    Where scores are tied, `correct`, `accuracy` and `mrr` are expected values over random orders of the tied options;
    `tied` counts the rankings in which the right option is one of them.
    `replies_repeated` are those that another run paid for. `spent` is what the run itself has paid, representations
    included; what others had paid before is not in it.
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
    replies_repeated: int
    correct: float
    tied: int
    unreadable: int
    finishes: dict[str, int]
    accuracy: float | None
    accuracy_interval: Interval | None
    mrr: float | None
    mrr_interval: Interval | None
    mrr_interval_method: str
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
    right = right_places(run.question_set)
    placings = {
        answer.pk: Placing.of(answer.scores, right[answer.question_id]) for answer in answers if answer.scores
    }
    chances = {answer.pk: chance_of(answer, right[answer.question_id]) for answer in answers}
    correct = sum(chances.values(), Fraction(0))
    ranks = [float(placing.reciprocal_rank) for placing in placings.values()]
    mrr_interval, mrr_method = mean_interval(ranks) if ranks else (None, "none")
    made = _representations(answers)
    labels = _label_shares(answers, chances)
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
        spent=Spending.of_run(run).to_json(Price.of_run(run)),
        scripted_model=run.manifest["scripted_model"],
        questions=min(limit, questions) if limit else questions,
        answered=len(answers),
        replies_repeated=sum(answer.reused_id is not None for answer in answers),
        correct=_number(correct),
        tied=sum(placing.tied for placing in placings.values()),
        unreadable=sum(answer.chosen is None and not answer.scores for answer in answers),
        finishes=count_finishes(run.answers.all(), "reply") if run.task == run.Task.CHOOSE else {},
        accuracy=float(correct / len(answers)) if answers else None,
        accuracy_interval=wilson(float(correct), len(answers)) if answers else None,
        mrr=fmean(ranks) if ranks else None,
        mrr_interval=mrr_interval,
        mrr_interval_method=mrr_method,
        fallbacks=sum(not found for _, found in made.values()),
        positions=_positions(answers, right, chances),
        over_represented=tuple(one for one in labels[:LISTED] if one.difference > 0),
        under_represented=tuple(one for one in labels[: -LISTED - 1 : -1] if one.difference < 0),
        rating=_correlation(answers, chances),
        tokens=_tokens(run, answers, made),
    )


def right_places(question_set: QuestionSet) -> dict[int, int]:
    """Return the place of the right option of each question, by the question's id."""
    options = Option.objects.filter(question__question_set=question_set, similar=True)
    return dict(options.values_list("question", "place"))


def chance_of(answer: QuestionAnswer, right: int) -> Fraction:
    """Return the chance that the answer is right: 0 or 1, and in between where options are tied."""
    return Placing.of(answer.scores, right).accuracy if answer.scores else Fraction(answer.correct)


def kept_figures(run: SimilarityRun) -> dict[str, Any] | None:
    """Return the figures stored with the run; those of a finished run are measured and stored if they are missing."""
    if run.figures is None and run.state == SimilarityRun.State.FINISHED:
        run.figures = measure(run).to_json()
        run.save(update_fields=["figures"])
    return run.figures


def _representations(answers: Iterable[QuestionAnswer]) -> dict[int, tuple[int | None, bool]]:
    """Completion tokens of the representations used, and whether their section was found, by id."""
    used = {pk for answer in answers for pk in answer.representations}
    rows: QuerySet[Representation] = Representation.objects.filter(pk__in=used)
    return {
        pk: (tokens, found) for pk, tokens, found in rows.values_list("pk", "output_tokens", "section_found")
    }


Chances = dict[int, Fraction]
"""The chance that an answer is right, by its id: 0 or 1 without ties."""


def _number(value: Fraction) -> float:
    """Return a whole number as an integer."""
    return value.numerator if value.denominator == 1 else float(value)


def _positions(
    answers: Sequence[QuestionAnswer], right: dict[int, int], chances: Chances
) -> tuple[Position, ...]:
    stood: Counter[int] = Counter()
    found = dict.fromkeys(range(OPTIONS), Fraction(0))
    chosen = dict.fromkeys(range(OPTIONS), Fraction(0))
    for answer in answers:
        place = answer.order.index(right[answer.question_id])
        stood[place] += 1
        found[place] += chances[answer.pk]
        picked = tied_best(answer.scores) if answer.scores else [answer.chosen]
        for option in picked:
            if option is not None:
                chosen[answer.order.index(option)] += Fraction(1, len(picked))
    return tuple(
        Position(letter, stood[place], _number(found[place]), _number(chosen[place]))
        for place, letter in enumerate(LETTERS)
    )


def _label_shares(answers: Sequence[QuestionAnswer], chances: Chances) -> list[LabelShare]:
    """Return every label of the references, those first that failures hold too much of; none without a failure."""
    names = readable_tags(label(tag) for answer in answers for tag in answer.question.reference.tags)
    in_failed = dict.fromkeys(names, Fraction(0))
    in_all: Counter[str] = Counter()
    for answer in answers:
        for key in {tag_key(label(tag)) for tag in answer.question.reference.tags}:
            in_failed[key] += 1 - chances[answer.pk]
            in_all[key] += 1
    failed = sum(in_failed.values(), Fraction(0))
    if not failed:
        return []
    shares = [
        LabelShare(
            names[key], _number(in_failed[key]), count, float(in_failed[key] / failed), count / in_all.total()
        )
        for key, count in in_all.items()
    ]
    return sorted(shares, key=lambda share: (-share.difference, share.label))


def _correlation(answers: Sequence[QuestionAnswer], chances: Chances) -> Correlation | None:
    """None with fewer than three ratings, or where ratings or outcomes are all the same."""
    rated = [
        (rating, 1 - chances[answer.pk])
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
