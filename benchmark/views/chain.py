"""One chain at one problem: every question and reply, how the program changed, and what the judge said."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from benchmark.methods import methods_scored_by, scoring_of
from benchmark.models import Generation, Judgement, WorkItem
from benchmark.rendering import highlight, program_diff, render_markdown
from benchmark.views.access import for_researchers

TITLES = {
    Generation.Purpose.DRAFT: "Draft (retrieval query)",
    Generation.Purpose.SOLVE: "Answer",
    Generation.Purpose.REPAIR: "Repair attempt",
    Generation.Purpose.REFLECT: "Answer after reflection",
    Generation.Purpose.CRITIQUE: "Critique (not an attempt)",
    Generation.Purpose.VERIFIER: "Verifier program (not an attempt)",
}
"""What a reply is for."""


@dataclass(frozen=True)
class Test:
    """A test as it is shown. Messages may quote a test, so there is one only where the test is a sample."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    name: str
    sample: bool
    verdict: str
    time: float
    memory: int
    message: str


@dataclass(frozen=True)
class Step:
    """One reply. `title` says what it is for. `program` shows the first program whole and later ones as what changed.

    `followed_by` is the purpose of the question after it, blank for the last: what was told of it was told there.
    """

    generation: Generation
    title: str
    selected: bool
    reply: SafeString
    program: SafeString
    tests: tuple[Test, ...]
    followed_by: str


@require_safe
@for_researchers
def chain(request: HttpRequest, item_id: int) -> HttpResponse:
    """The page. `beside` in the address names another run, whose chain at the problem is linked."""
    item = get_object_or_404(
        WorkItem.objects.select_related("run__dataset", "problem__dataset", "judgement").defer(
            "problem__statement", "problem__statement_html", "problem__analysis", "problem__analysis_html"
        ),
        pk=item_id,
    )
    generations = list(
        item.generations.select_related("sample_judgement", "hidden_judgement").order_by("step")
    )
    others = (
        WorkItem.objects.filter(problem=item.problem_id)
        .exclude(pk=item.pk)
        .exclude(run__method__in=methods_scored_by("none"))
        .select_related("run", "judgement")
        .only("chain", "state", "permanent", "run__method", "run__model_spec", "judgement__verdict")
        .order_by("-run__started_at", "chain")[:20]
    )
    return render(
        request,
        "benchmark/runs/chain.html",
        {
            "item": item,
            "run": item.run,
            "without_attempts": scoring_of(item.run.method) == "none",
            "steps": steps(item, generations),
            "tests": shown_tests(item.judgement),
            "others": others,
        },
    )


def steps(item: WorkItem, generations: Sequence[Generation]) -> list[Step]:
    """The replies in order, each program beside the one before it."""
    language = str(item.run.parameters.get("language", ""))
    before = ""
    found = []
    for generation, after in zip_longest(generations, generations[1:]):
        program = ""
        if generation.code:
            program = (
                program_diff(before, generation.code) if before else highlight(generation.code, language)
            )
            before = generation.code
        found.append(
            Step(
                generation,
                TITLES[Generation.Purpose(generation.purpose)],
                generation.pk == item.selected_id,
                # The renderers escape or sanitise everything they are given.
                mark_safe(render_markdown(generation.text)),  # noqa: S308
                mark_safe(program),  # noqa: S308
                shown_tests(generation.sample_judgement),
                after.purpose if after else "",
            )
        )
    return found


def shown_tests(judgement: Judgement | None) -> tuple[Test, ...]:
    """The tests of a judgement without anything that quotes a hidden one."""
    result: dict[str, Any] = (judgement.result or {}) if judgement else {}
    return tuple(
        Test(
            name=test["name"],
            sample=bool(test["sample"]),
            verdict=test["verdict"],
            time=test["time"],
            memory=test["memory"],
            message=test["message"] if test["sample"] else "",
        )
        for test in result.get("tests", ())
    )
