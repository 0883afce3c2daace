"""Questions about similar problems: the sets, one set with the figures of its runs, and one question."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import BadRequest
from django.core.paginator import Page, Paginator
from django.db.models import Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.datasets.question_sets import LETTERS
from benchmark.models import (
    Option,
    Problem,
    Question,
    QuestionAnswer,
    QuestionSet,
    Representation,
    SimilarityRun,
)
from benchmark.models.finishes import FINISHES, WARNED, finish_kind, finish_terms
from benchmark.rendering import render_markdown
from benchmark.similarity.figures import (
    RANDOM_ACCURACY,
    RANDOM_MRR,
    chance_of,
    right_places,
    run_figures,
    token_terms,
)
from benchmark.similarity.labels import label
from benchmark.similarity.ties import Placing

PAGE_LENGTH = 50
"""Questions on one page of a set."""
_LISTED = ("external_id", "title", "tags", "rating", "dataset__name")


@dataclass(frozen=True)
class SimilarityRunRow:
    """A run with its figures. `ratio` compares its tokens with those of the run by statement of the same model."""

    run: SimilarityRun
    figures: dict[str, Any]
    ratio: float | None

    @property
    def finishes(self) -> list[tuple[str, str, int]]:
        """Return kind, label and number of the ends of replies that deserve a warning."""
        counts = self.figures.get("finishes") or {}
        return [(kind, FINISHES[kind], counts[kind]) for kind in WARNED if counts.get(kind)]


@require_safe
@requires_role(Role.RESEARCHER)
def question_sets(request: HttpRequest) -> HttpResponse:
    """Show all sets."""
    rows = QuestionSet.objects.select_related("dataset").annotate(
        count=Count("questions", distinct=True), run_count=Count("runs", distinct=True)
    )
    return render(request, "benchmark/mcqs/sets.html", {"sets": rows})


@require_safe
@requires_role(Role.RESEARCHER)
def question_set(request: HttpRequest, name: str) -> HttpResponse:
    """Show the runs over a set, best first, and its questions.

    Query: page, run and finish (only questions to which the reply of this run ended in this way).
    """
    found = get_object_or_404(QuestionSet.objects.select_related("dataset"), name=name)
    questions = found.questions.select_related("reference__dataset").only(
        "number", "question_set", *(f"reference__{field}" for field in _LISTED)
    )
    finish = request.GET.get("finish", "")
    if finish:
        questions = questions.filter(pk__in=_ended(found, request.GET.get("run", ""), finish))
    page = Paginator(questions.order_by("number"), PAGE_LENGTH).get_page(request.GET.get("page"))
    chances = _chances(found, page)
    return render(
        request,
        "benchmark/mcqs/set.html",
        {
            "set": found,
            "runs": _rows(list(found.runs.all())),
            "page": page,
            "rows": [
                (
                    question,
                    [label(tag) for tag in question.reference.tags],
                    f"{float(sum(chances[question.pk])):g} of {len(chances[question.pk])}",
                )
                for question in page.object_list
            ],
            "finish": FINISHES.get(finish, ""),
            "query": urlencode(
                {name: request.GET[name] for name in ("run", "finish") if name in request.GET}
            ),
            "random_accuracy": RANDOM_ACCURACY,
            "random_mrr": RANDOM_MRR,
        },
    )


def _ended(found: QuestionSet, run: str, finish: str) -> list[int]:
    """Return the ids of the questions to which the reply of the run ended in this way. Raises BadRequest."""
    if finish not in FINISHES:
        raise BadRequest(f"The parameter finish must be one of: {', '.join(FINISHES)}.")
    try:
        answers = QuestionAnswer.objects.filter(run__question_set=found, run=UUID(run))
    except ValueError:
        raise BadRequest("The parameter run must be the id of a run over these questions.") from None
    kinds = answers.order_by().alias(**finish_terms("reply")).annotate(finish=finish_kind())
    return list(kinds.filter(finish=finish).values_list("question", flat=True))


def _chances(found: QuestionSet, page: Page[Question]) -> dict[int, list[Fraction]]:
    """Return the chance of each answer to be right, by the id of the question on the page."""
    right = right_places(found)
    chances: dict[int, list[Fraction]] = {question.pk: [] for question in page.object_list}
    answers = QuestionAnswer.objects.filter(question__in=list(chances)).only("question", "correct", "scores")
    for answer in answers.order_by():
        chances[answer.question_id].append(chance_of(answer, right[answer.question_id]))
    return chances


def _rows(runs: Sequence[SimilarityRun]) -> list[SimilarityRunRow]:
    measured = [(run, run_figures(run) or {}) for run in runs]
    baselines: dict[str, float] = {}
    for run, figures in measured:
        total = (figures.get("tokens") or {}).get("total")
        by_statement = run.task == SimilarityRun.Task.CHOOSE and run.representation == "statement"
        if by_statement and run.state == SimilarityRun.State.FINISHED and total is not None:
            baselines.setdefault(token_terms(run), total)
    rows = []
    for run, figures in measured:
        total = (figures.get("tokens") or {}).get("total")
        baseline = baselines.get(token_terms(run))
        ratio = total / baseline if total is not None and baseline else None
        rows.append(SimilarityRunRow(run, figures, ratio))
    return sorted(rows, key=lambda row: -(row.figures.get("accuracy") or 0))


@dataclass(frozen=True)
class OptionRow:
    """An option of a question with its letter and labels."""

    letter: str
    option: Option
    labels: list[str]


@dataclass(frozen=True)
class AnswerRow:
    """An answer with the chance that it is right.

    `shown` holds a letter or rank, an option, and its score or None: in the order of the letters, or of the scores for
    a ranking.
    """

    answer: QuestionAnswer
    shown: list[tuple[str, OptionRow, float | None]]
    chance: float
    chosen: str
    reply: SafeString
    representations: list[tuple[str, Representation]]


@require_safe
@requires_role(Role.RESEARCHER)
def question(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Show one question: its five problems, and the answer of each run."""
    problems = Problem.objects.select_related("dataset").defer("analysis", "analysis_html", "statement")
    found = get_object_or_404(
        Question.objects.select_related("question_set").prefetch_related(
            Prefetch("reference", problems),
            Prefetch("options", Option.objects.prefetch_related(Prefetch("problem", problems))),
        ),
        question_set__name=name,
        number=number,
    )
    options = [
        OptionRow(LETTERS[option.place], option, [label(tag) for tag in option.problem.tags])
        for option in found.options.all()
    ]
    answers = list(found.answers.select_related("run").defer("messages").order_by("-run__started_at"))
    used = Representation.objects.in_bulk({pk for answer in answers for pk in answer.representations})
    neighbours = set(
        found.question_set.questions.filter(number__in=(number - 1, number + 1)).values_list(
            "number", flat=True
        )
    )
    return render(
        request,
        "benchmark/mcqs/question.html",
        {
            "question": found,
            "labels": [label(tag) for tag in found.reference.tags],
            "options": options,
            "answers": [_answer(answer, options, used) for answer in answers],
            "previous": number - 1 if number - 1 in neighbours else None,
            "next": number + 1 if number + 1 in neighbours else None,
        },
    )


def _answer(
    answer: QuestionAnswer, options: Sequence[OptionRow], used: dict[int, Representation]
) -> AnswerRow:
    right = next(place for place, row in enumerate(options) if row.option.similar)
    shown: list[tuple[str, OptionRow, float | None]] = [
        (letter, options[place], None) for letter, place in zip(LETTERS, answer.order, strict=True)
    ]
    if scores := answer.scores:
        best_first = sorted(answer.order, key=lambda place: -scores[place])
        shown = [(_ranks(Placing.of(scores, place)), options[place], scores[place]) for place in best_first]
    names = ["reference", *(option.letter for option in options)]
    shown_texts = [
        (name, used[pk]) for name, pk in zip(names, answer.representations, strict=False) if pk in used
    ]
    chosen = "" if answer.chosen is None else LETTERS[answer.order.index(answer.chosen)]
    reply = mark_safe(render_markdown(answer.reply, number=answer.pk))  # noqa: S308
    return AnswerRow(answer, shown, float(chance_of(answer, right)), chosen, reply, shown_texts)


def _ranks(placing: Placing) -> str:
    return f"{placing.first}–{placing.last}" if placing.tied else str(placing.first)
