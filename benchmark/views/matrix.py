"""The matrix of problems and runs: which run solved which problem."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import Count, Max, Min, Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.paging import query_without_page
from accounts.roles import Role, requires_role
from benchmark.models import Problem, Run, WorkItem
from benchmark.plots import HeatMap, HeatRow, heat_level
from benchmark.reports.comparison import NO_REPLY, SameProblems, same_problems
from benchmark.reports.formatting import label
from benchmark.views.access import runs_from_query
from benchmark.views.plots import PagePlots
from judge import Verdict

PAGE_LENGTH = 50


@dataclass(frozen=True)
class MatrixCell:
    """The outcome of a problem in a run: the verdict of a single chain, or "accepted of finished" chains."""

    item: int
    text: str
    share: float

    @property
    def level(self) -> str:
        """The level of the heat map."""
        return heat_level(self.share)


@require_safe
@requires_role(Role.RESEARCHER)
def matrix(request: HttpRequest) -> HttpResponse:
    """Show the table.

    Query: run (several), differing (only problems with different outcomes), both (only problems that all runs
    tried), failures (excluded leaves out permanent failures; default: the choice stored with the first run), first and
    second (only problems whose first chains have these verdicts in the first two runs), only (first or second: only
    problems whose first chain this run alone solves).
    """
    runs = runs_from_query(request)
    accepted = Q(judgement__verdict=Verdict.AC)
    failures = request.GET.get("failures") or (runs[0].failures if runs else "wrong")
    tried = Q(state=WorkItem.State.DONE)
    if failures == "wrong":
        tried |= Q(permanent=True)
    rows = (
        WorkItem.objects.filter(tried, run__in=runs)
        .order_by()
        .values_list("problem_id", "run_id")
        .annotate(
            first=Min("pk"),
            attempts=Count("pk"),
            solved=Count("pk", filter=accepted),
            rejected=Count("pk", filter=Q(permanent=True)),
            verdict=Max("judgement__verdict"),
        )
    )
    same = same_problems(runs) if runs else {}
    cells: dict[int, dict[object, MatrixCell]] = {}
    for problem, run, item, attempts, solved, rejected, verdict in rows:
        only = NO_REPLY if rejected else verdict or Verdict.NO_CODE.value
        text = only if attempts == 1 else f"{solved} of {attempts}"
        cells.setdefault(same.get(problem, problem), {})[run] = MatrixCell(item, text, solved / attempts)
    chosen = set(cells)
    if "differing" in request.GET:
        chosen = {problem for problem, row in cells.items() if len({cell.text for cell in row.values()}) > 1}
    for name, run in zip(("first", "second"), runs, strict=False):
        if request.GET.get(name):
            chosen &= _mapped(_with_verdict(run, request.GET[name]), same)
    if "both" in request.GET:
        chosen = {problem for problem in chosen if len(cells[problem]) == len(runs)}
    if (only := request.GET.get("only", "")) and len(runs) > 1:
        one, other = runs[:2] if only == "first" else runs[1::-1]
        chosen &= _accepted_only(tried, one, other, same)
    problems = (
        Problem.objects.filter(pk__in=chosen).only("external_id", "title", "tier").order_by("external_id")
    )
    page = Paginator(problems, PAGE_LENGTH).get_page(request.GET.get("page"))
    query = query_without_page(request)
    plots = PagePlots(request)
    heat = _heat_map(runs, dict(problems.values_list("pk", "external_id")), cells)
    return plots.render(
        "benchmark/runs/matrix.html",
        {
            "runs": runs,
            "page": page,
            "query": query.urlencode(),
            "failures": failures,
            "differing": "differing" in request.GET,
            "rows": [
                (problem, [(run, cells[problem.pk].get(run.pk)) for run in runs])
                for problem in page.object_list
            ],
            "total": len(cells),
            "heat": plots.show(heat) if chosen else None,
        },
    )


def _heat_map(
    runs: Sequence[Run], names: dict[int, str], cells: dict[int, dict[object, MatrixCell]]
) -> HeatMap:
    """Return the shares of solved attempts at all problems; `names` has the names of the problems by primary key."""
    return HeatMap(
        name="problems-by-run",
        title="Share of attempts that solve each problem, by run",
        columns=list(names.values()),
        heat_rows=[
            HeatRow(label(run), [cell.share if (cell := cells[pk].get(run.pk)) else None for pk in names])
            for run in runs
        ],
    )


def _mapped(problems: set[int], same: SameProblems) -> set[int]:
    return {same.get(problem, problem) for problem in problems}


def _accepted_only(tried: Q, run: Run, other: Run, same: SameProblems) -> set[int]:
    """Return the problems whose first chain is accepted in the run, and `tried` but not accepted in the other."""
    missed = other.items.filter(tried, chain=0).exclude(judgement__verdict=Verdict.AC)
    missing = set(missed.order_by().values_list("problem_id", flat=True))
    return _mapped(_with_verdict(run, Verdict.AC), same) & _mapped(missing, same)


def _with_verdict(run: Run, verdict: str) -> set[int]:
    """Return the problems whose first chain in the run has the verdict."""
    first = run.items.filter(chain=0).order_by()
    if verdict == NO_REPLY:
        return set(first.filter(permanent=True).values_list("problem_id", flat=True))
    first = first.filter(state=WorkItem.State.DONE)
    judged = Q(judgement=None) if verdict == Verdict.NO_CODE else Q(judgement__verdict=verdict)
    return set(first.filter(judged).values_list("problem_id", flat=True))
