"""Who may see runs. Prompts hold solutions of other problems, so tutors and reviewers may not."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from benchmark.methods import scoring_of
from benchmark.models import Run

READERS = ("researcher", "admin")

View = Callable[..., HttpResponse]


def for_researchers(view: View) -> View:
    """403 for everybody but researchers, admins and superusers."""

    @wraps(view)
    def checked(request: HttpRequest, *arguments: Any, **keywords: Any) -> HttpResponse:
        person = request.user
        if not isinstance(person, User) or not (
            person.is_superuser or person.groups.filter(name__in=READERS).exists()
        ):
            raise PermissionDenied(f"This page requires one of these roles: {', '.join(READERS)}.")
        return view(request, *arguments, **keywords)

    return checked


def find_run(pk: Any) -> Run:
    """The run with its dataset; 404 without."""
    try:
        return Run.objects.select_related("dataset").get(pk=pk)
    except Run.DoesNotExist:
        raise Http404(f"There is no run {pk}.") from None


MOST = 8
"""Runs side by side at most."""


def asked_runs(request: HttpRequest) -> list[Run]:
    """Return the runs named in the address, each once: the base, if one is named, then the others in its order.

    400 for an id that is none and for a run without attempts, 404 for an unknown one.
    """
    base = [name for name in [request.GET.get("base", "")] if name]
    names = list(dict.fromkeys([*base, *request.GET.getlist("run")]))
    if len(names) > MOST:
        raise BadRequest(f"Too many runs: at most {MOST} can be compared.")
    try:
        keys = [UUID(name) for name in names]
    except ValueError:
        raise BadRequest("The id of a run in the address is not a valid id.") from None
    found = Run.objects.select_related("dataset").in_bulk(keys)
    missing = [key for key in keys if key not in found]
    if missing:
        raise Http404(f"There is no run {missing[0]}.")
    if without := [run for run in found.values() if scoring_of(run.method) == "none"]:
        raise BadRequest(
            f"Run {without[0].pk} builds verifiers and makes no attempts, so it cannot be compared. Deselect it."
        )
    return [found[key] for key in keys]
