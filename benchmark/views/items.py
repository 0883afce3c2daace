"""The work items behind a number: every count of a run links to this list with its filter."""

from datetime import date
from uuid import UUID

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.paging import query_without_page
from accounts.roles import Role, requires_role
from benchmark.methods import scoring_of
from benchmark.models import Problem, Run, WorkItem
from benchmark.models.faults import FAULTS, of_kind
from benchmark.models.finishes import finish_kind, finish_terms
from benchmark.reports.usage import replies_of
from benchmark.text.tags import tag_key, tag_keys
from benchmark.views.access import find_run

PAGE_LENGTH = 50


@require_safe
@requires_role(Role.RESEARCHER)
def items(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the items.

    Query: state, verdict, near (verdicts near the time limit), fault, kind (of a fault, a key of FAULTS), permanent,
    finish (how a reply ended), problem (an id), by and name (a group of the report), cutoff (a date, for groups by
    cutoff).
    """
    run = find_run(run_id)
    found = filtered(run, request)
    rows = (
        found.order_by("problem__external_id", "chain")
        .select_related("problem__dataset", "judgement")
        .only(
            "chain", "state", "fault", "permanent", "run_id", "problem__external_id", "problem__title", "problem__tier",
            "problem__dataset__name", "judgement__verdict", "judgement__passed", "judgement__total",
            "judgement__near_limit",
        )
    )  # fmt: skip
    query = query_without_page(request)
    return render(
        request,
        "benchmark/runs/items.html",
        {
            "run": run,
            "without_attempts": scoring_of(run.method) == "none",
            "page": Paginator(rows, PAGE_LENGTH).get_page(request.GET.get("page")),
            "query": query.urlencode(),
            "filters": [(name, value) for name, value in query.items() if value],
        },
    )


def filtered(run: Run, request: HttpRequest) -> QuerySet[WorkItem]:
    """Return the items of the run that match the query."""
    asked = request.GET
    found = run.items.all()
    if asked.get("state"):
        found = found.filter(state=asked["state"])
    if asked.get("verdict"):
        found = found.filter(state=WorkItem.State.DONE)
        no_code = (
            Q(judgement=None) if asked["verdict"] == "NO_CODE" else Q(judgement__verdict=asked["verdict"])
        )
        found = found.filter(no_code)
    if asked.get("near"):
        found = found.filter(state=WorkItem.State.DONE, judgement__near_limit=True)
    if asked.get("fault"):
        found = found.filter(fault=asked["fault"])
    if asked.get("kind"):
        found = found.filter(_of_kind(asked["kind"]))
    if asked.get("permanent"):
        found = found.filter(permanent=True)
    if asked.get("finish"):
        replies = replies_of(run).alias(**finish_terms(), finish=finish_kind())
        found = found.filter(pk__in=replies.filter(finish=asked["finish"]).values("work_item"))
    if asked.get("problem"):
        found = found.filter(problem__external_id=asked["problem"])
    return _of_group(found, run, asked.get("by", "all"), asked.get("name", ""), asked.get("cutoff", ""))


def _of_kind(kind: str) -> Q:
    if kind not in FAULTS:
        raise BadRequest(f"The parameter kind must be one of: {', '.join(FAULTS)}.")
    return of_kind(kind)


def _of_group(found: QuerySet[WorkItem], run: Run, by: str, name: str, cutoff: str) -> QuerySet[WorkItem]:
    match by:
        case "all":
            return found
        case "tier":
            return found.filter(problem__tier="" if name == "no tier" else name)
        case "year" if name.isdecimal() and len(name) == 4 and int(name):
            return found.filter(problem__contest_date__year=int(name))
        case "cutoff":
            return found.filter(_side(name, cutoff))
        case "tag":
            tags = Problem.objects.filter(dataset=run.dataset_id).order_by().values_list("pk", "tags")
            wanted = tag_key(name)
            return found.filter(problem__in=[pk for pk, own in tags if wanted in tag_keys(own)])
    raise BadRequest(f"The run has no group {by} {name}.")


def _side(name: str, cutoff: str) -> Q:
    if name == "no date":
        return Q(problem__contest_date=None)
    try:
        day = date.fromisoformat(cutoff)
    except ValueError:
        raise BadRequest("The cutoff must be a date, YYYY-MM-DD.") from None
    return Q(problem__contest_date__lte=day) if name == "before" else Q(problem__contest_date__gt=day)
