"""The pages of the problem bank: the list with its filters, one problem, and its pictures."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_cache_control
from django.utils.http import urlencode
from django.views.decorators.http import condition, require_safe

from accounts.roles import Role, requires_role
from benchmark.models import Dataset, Figure, Problem, TestCase, blobs
from benchmark.models.problems import Tier

PAGE_LENGTH = 50
"""Problems on one page of the list."""

FIGURE_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of pictures that cannot hold a script, unlike SVG."""

LISTED_FIELDS = (
    "dataset__name",
    "external_id",
    "title",
    "tier",
    "tags",
    "time_limit",
    "memory_limit",
    "samples_only",
    "contest",
    "contest_date",
)


@dataclass(frozen=True)
class Choice:
    """A value of a filter with its label and the number of problems in the whole bank that have it."""

    value: str
    label: str
    count: int


@dataclass(frozen=True)
class Filters:
    """The filters in the address. An unknown tier or dataset matches no problem."""

    text: str
    tier: str
    dataset: str

    @classmethod
    def of(cls, request: HttpRequest) -> Filters:
        return cls(
            text=request.GET.get("text", "").strip()[:200],
            tier=request.GET.get("tier", "").strip(),
            dataset=request.GET.get("dataset", "").strip(),
        )

    def apply(self, problems: QuerySet[Problem]) -> QuerySet[Problem]:
        if self.tier:
            problems = problems.filter(tier=self.tier)
        if self.dataset:
            problems = problems.filter(dataset__name=self.dataset)
        for word in self.text.split():
            problems = problems.filter(
                Q(title__icontains=word) | Q(external_id__icontains=word) | Q(statement__icontains=word)
            )
        return problems

    @property
    def query(self) -> str:
        """Return the filters as a query string without the page number."""
        return urlencode({name: value for name, value in vars(self).items() if value})


@require_safe
@requires_role(*Role)
def problem_list(request: HttpRequest) -> HttpResponse:
    """Show the problems. Query: text, tier, dataset, page. No statement is read from the database."""
    filters = Filters.of(request)
    found = filters.apply(_bank().select_related("dataset").only(*LISTED_FIELDS))
    listed = found.annotate(hidden_tests=Coalesce(Subquery(_hidden_tests()), 0))
    page = Paginator(listed, PAGE_LENGTH).get_page(request.GET.get("page"))
    return render(
        request,
        "benchmark/problem_list.html",
        {
            "filters": filters,
            "page": page,
            "tiers": _tiers(),
            "datasets": _datasets(),
            "total": _bank().count(),
            "with_hidden_tests": found.filter(samples_only=False).count(),
        },
    )


def _bank() -> QuerySet[Problem]:
    """Return the problems with statements, which imported runs alone do not have."""
    return Problem.objects.filter(dataset__known_as="")


def _hidden_tests() -> QuerySet[TestCase, int]:
    """Return a subquery for the number of hidden tests of the outer query's problem; no row if it has none."""
    hidden = TestCase.objects.filter(problem=OuterRef("pk"), origin=TestCase.Origin.HIDDEN)
    return hidden.order_by().values("problem").annotate(number=Count("pk")).values_list("number", flat=True)


def _tiers() -> list[Choice]:
    counts = dict(_bank().order_by().values_list("tier").annotate(Count("pk")))
    return [Choice(tier.value, tier.label, counts[tier.value]) for tier in Tier if tier.value in counts]


def _datasets() -> list[Choice]:
    ordinary = Dataset.objects.filter(known_as="")
    counts = ordinary.annotate(count=Count("problems")).values_list("name", "count")
    return [Choice(name, name, count) for name, count in counts]


@require_safe
@requires_role(*Role)
def problem(request: HttpRequest, dataset: str, external_id: str) -> HttpResponse:
    """Show one problem with its samples, official analysis and reference solutions."""
    found = get_object_or_404(
        Problem.objects.select_related("dataset"), dataset__name=dataset, external_id=external_id
    )
    return render(request, "benchmark/problem.html", {"problem": found})


def _figure_etag(_request: HttpRequest, dataset: str, external_id: str, name: str) -> str | None:
    """Return the hash of the content, so that browsers do not download a picture again."""
    digest = _figures(dataset, external_id, name).values_list("content_hash", flat=True).first()
    return f'"{digest}"' if digest else None


def _figures(dataset: str, external_id: str, name: str) -> QuerySet[Figure]:
    return Figure.objects.filter(problem__dataset__name=dataset, problem__external_id=external_id, name=name)


@require_safe
@requires_role(*Role)
@condition(etag_func=_figure_etag)
def figure(_request: HttpRequest, dataset: str, external_id: str, name: str) -> HttpResponse:
    """Return the bytes of a picture. Raises Http404 for one that is unknown, not stored, or of an unsafe type."""
    found = get_object_or_404(_figures(dataset, external_id, name))
    if found.media_type not in FIGURE_MEDIA_TYPES:
        raise Http404(f"{found.media_type} cannot be shown as an image.")
    try:
        content = blobs.read(found.content_hash)
    except FileNotFoundError:
        raise Http404("This image is not stored on this server. Import the dataset again.") from None
    response = HttpResponse(content, content_type=found.media_type)
    response["X-Content-Type-Options"] = "nosniff"
    patch_cache_control(response, private=True, max_age=86_400)
    return response
