"""The figures of a run over questions (docs/spec.md 0.1, 4.3)."""

import json
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
"""The expected figures of random answers: 25.0 % and 52.08 %."""
LISTED = 10
"""Labels in each list of over- and under-represented labels."""


@dataclass(frozen=True)
class Position:
    """Counts for a letter: questions whose right option has it, those of them answered right, and its choices in all.

    Options tied for the first rank count with equal chances, so these numbers may be fractions.
    """

    letter: str
    right: int
    found: float
    chosen: float


@dataclass(frozen=True)
class LabelShare:
    """The share of a label among failed and among all questions. A question counts for each of its labels.

    With tied options, `failed` is an expected number.
    """

    label: str
    failed: float
    questions: int
    share_failed: float
    share_all: float

    @property
    def difference(self) -> float:
        """Return the share of failed questions minus the share of all questions."""
        return self.share_failed - self.share_all


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of the references' ratings and the chances of failure, over single questions."""

    r: float
    p: float
    questions: int


@dataclass(frozen=True)
class TokenCost:
    """Mean completion tokens of a question: for its five representations, and for the answer.

    Values are None if the provider does not report all tokens. `ratio` compares the total with the run by statement of
    the same model on the same questions; `written` is the sum over all representations, each counted once.
    """

    representations: float | None
    answer: float | None
    total: float | None
    ratio: float | None
    written: int | None


@dataclass(frozen=True)
class SimilarityFigures:
    """The figures of a run over questions.

    An unreadable answer counts as wrong; `unreadable` counts them. Questions without an answer are left out. With tied
    scores, `correct`, `accuracy` and `mrr` are expected values over random orders of the tied options; `tied` counts
    the rankings in which the right option is tied. `replies_repeated` counts replies that another run paid for.
    `spent` is the spend of this run, representations included.
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
        """Return the figures as a JSON document."""
        return asdict(self) | {"random_accuracy": RANDOM_ACCURACY, "random_mrr": RANDOM_MRR}


def measure(run: SimilarityRun) -> SimilarityFigures:
    """Measure the answers that the run has so far."""
    answers = list(run.answers.select_related("question__reference").defer("messages", "reply", "reasoning"))
    right = right_places(run.question_set)
    placings = {
        answer.pk: Placing.of(answer.scores, right[answer.question_id]) for answer in answers if answer.scores
    }
    chances = {answer.pk: chance_of(answer, right[answer.question_id]) for answer in answers}
    correct = sum(chances.values(), Fraction(0))
    ranks = [float(placing.reciprocal_rank) for placing in placings.values()]
    mrr_interval, mrr_method = mean_interval(ranks) if ranks else (None, "none")
    representations = _representations(answers)
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
        fallbacks=sum(not found for _, found in representations.values()),
        positions=_positions(answers, right, chances),
        over_represented=tuple(one for one in labels[:LISTED] if one.difference > 0),
        under_represented=tuple(one for one in labels[: -LISTED - 1 : -1] if one.difference < 0),
        rating=_correlation(answers, chances),
        tokens=_tokens(run, answers, representations),
    )


def right_places(question_set: QuestionSet) -> dict[int, int]:
    """Return the index of the right option of each question, by the question's id."""
    options = Option.objects.filter(question__question_set=question_set, similar=True)
    return dict(options.values_list("question", "place"))


def chance_of(answer: QuestionAnswer, right: int) -> Fraction:
    """Return the chance that the answer is right: 0 or 1, or between them with tied options."""
    return Placing.of(answer.scores, right).accuracy if answer.scores else Fraction(answer.correct)


def run_figures(run: SimilarityRun) -> dict[str, Any] | None:
    """Return the figures stored with the run, or measure those of a finished run without any. Writes nothing."""
    if run.figures is None and run.state == SimilarityRun.State.FINISHED:
        return measure(run).to_json()
    return run.figures


def store_figures(run: SimilarityRun) -> None:
    """Measure the run and store its figures with it."""
    run.figures = measure(run).to_json()
    run.save(update_fields=["figures"])


def runs_without_figures() -> QuerySet[SimilarityRun]:
    """Return the finished runs without stored figures."""
    return SimilarityRun.objects.filter(state=SimilarityRun.State.FINISHED, figures__isnull=True)


def _representations(answers: Iterable[QuestionAnswer]) -> dict[int, tuple[int | None, bool]]:
    """Return the completion tokens of the used representations and whether their section was found, by id."""
    used = {pk for answer in answers for pk in answer.representations}
    rows: QuerySet[Representation] = Representation.objects.filter(pk__in=used)
    return {
        pk: (tokens, found) for pk, tokens, found in rows.values_list("pk", "output_tokens", "section_found")
    }


Chances = dict[int, Fraction]
"""The chance that an answer is right, by its id: 0 or 1 without ties."""


def _number(value: Fraction) -> float:
    """Return an integer for a whole number, else a float."""
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
    """Return the labels of the references, the most over-represented among failures first; none without a failure."""
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
    """Return the correlation; None with fewer than three ratings, or if all ratings or all outcomes are equal."""
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
    run: SimilarityRun, answers: Sequence[QuestionAnswer], used: dict[int, tuple[int | None, bool]]
) -> TokenCost | None:
    """Return the token cost; None for a run without a model or without answers."""
    if not run.model_spec or not answers:
        return None
    representations = _mean(
        _sum(used[pk][0] if pk in used else None for pk in answer.representations) for answer in answers
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
        _sum(tokens for tokens, _ in used.values()),
    )


def _statement_baseline(run: SimilarityRun) -> float | None:
    """Return the mean tokens of the latest finished run by statement on these questions, under the same sampling."""
    baselines = SimilarityRun.objects.filter(
        question_set=run.question_set,
        model_spec=run.model_spec,
        task=SimilarityRun.Task.CHOOSE,
        representation="statement",
        state=SimilarityRun.State.FINISHED,
    )
    means = (
        _mean(one.answers.values_list("output_tokens", flat=True))
        for one in baselines
        if token_terms(one) == token_terms(run)
    )
    return next((mean for mean in means if mean is not None), None)


def token_terms(run: SimilarityRun) -> str:
    """Return a text that two runs have in common if their tokens may be compared: model, sampling and questions."""
    terms = [run.model_spec, run.parameters.get("sampling"), run.parameters.get("limit")]
    return json.dumps(terms, sort_keys=True)


def _sum(values: Iterable[int | None]) -> int | None:
    """Return the sum; None if a value is unknown."""
    numbers = list(values)
    known = [value for value in numbers if value is not None]
    return sum(known) if len(known) == len(numbers) else None


def _mean(values: Iterable[int | None]) -> float | None:
    """Return the mean; None if a value is unknown or there are no values."""
    numbers = list(values)
    known = [value for value in numbers if value is not None]
    return fmean(known) if known and len(known) == len(numbers) else None
