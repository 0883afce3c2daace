"""The runs that an address names.

Pages of runs are for researchers alone: prompts hold solutions of other problems.
"""

from typing import Any
from uuid import UUID

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.db.models.fields.json import KeyTransform
from django.http import Http404, HttpRequest

from accounts.roles import Person
from benchmark.methods import scoring_of
from benchmark.models import Run
from benchmark.models.signals import concealed_spending

MAXIMUM_RUNS = 8
"""Runs that fit side by side on a page."""

LISTED_RUNS = 50
"""Runs that the form of a comparison lists, the latest first."""


def find_run(pk: Any) -> Run:
    """Return the run with its dataset. Raises Http404."""
    try:
        return Run.objects.select_related("dataset").get(pk=pk)
    except Run.DoesNotExist:
        raise Http404(f"There is no run {pk}.") from None


def listed_runs(found: QuerySet[Run]) -> list[Run]:
    """Return the latest LISTED_RUNS of these runs, the newest first, for a list with their settings.

    The settings need only the profile of the manifest; the whole manifest of an arm may have megabytes.
    """
    rows = found.select_related("dataset").defer("manifest").order_by("-started_at")
    runs: list[Run] = []
    for run in rows.annotate(profile=KeyTransform("profile", "manifest"))[:LISTED_RUNS]:
        run.manifest = {"profile": run.profile}
        runs.append(run)
    return runs


def concealed_study_keys(person: Person) -> set[str]:
    """Return the keys of the studies whose models this person must not see, because the person is blind to them."""
    answers = concealed_spending.send(Run, person=person)
    return {str(key) for _, keys in answers if keys for key in keys}


def runs_from_query(request: HttpRequest) -> list[Run]:
    """Return the runs that `base` and `run` in the address name, each once and the base first.

    Raises BadRequest for a malformed id, too many runs, or a run without attempts, and Http404 for an unknown run.
    """
    base = [name for name in [request.GET.get("base", "")] if name]
    names = list(dict.fromkeys([*base, *request.GET.getlist("run")]))
    if len(names) > MAXIMUM_RUNS:
        raise BadRequest(f"At most {MAXIMUM_RUNS} runs fit side by side.")
    try:
        keys = [UUID(name) for name in names]
    except ValueError:
        raise BadRequest("The id of a run in the address is not a valid id.") from None
    found = Run.objects.select_related("dataset").in_bulk(keys)
    missing = [key for key in keys if key not in found]
    if missing:
        raise Http404(f"There is no run {missing[0]}.")
    if without := [run for run in found.values() if scoring_of(run.method) == "none"]:
        raise BadRequest(f"Run {without[0].pk} builds verifiers and makes no attempts. Leave it out.")
    return [found[key] for key in keys]
