"""The page of one problem, and its pictures."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import condition, require_safe

from accounts.roles import Role, requires_role
from benchmark.models import Figure, Problem, blobs

FIGURE_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of pictures that cannot hold a script, unlike SVG."""


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
