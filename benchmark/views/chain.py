"""One chain of attempts at a problem: prompts, replies, changes of the program, and verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.methods import methods_scored_by, scoring_of
from benchmark.models import Generation, Judgement, WorkItem
from benchmark.rendering import highlight, program_diff, render_markdown

TITLES = {
    Generation.Purpose.DRAFT: "Draft (retrieval query)",
    Generation.Purpose.SOLVE: "Answer",
    Generation.Purpose.REPAIR: "Repair attempt",
    Generation.Purpose.REFLECT: "Answer after reflection",
    Generation.Purpose.CRITIQUE: "Critique (not an attempt)",
    Generation.Purpose.VERIFIER: "Verifier program (not an attempt)",
    Generation.Purpose.SESSION: "Reply in a session",
    Generation.Purpose.RECORDED: "Recorded reply (no call)",
    Generation.Purpose.TUTOR: "Draft of the tutor's model (not an attempt)",
}
"""The title of a reply by its purpose."""


@dataclass(frozen=True)
class ChainTestResult:
    """The result of a test. `message` is blank for hidden tests, because it may quote the test."""

    __test__ = False  # pytest collects classes of this name

    name: str
    sample: bool
    verdict: str
    time: float
    memory: int
    message: str


@dataclass(frozen=True)
class Step:
    """One reply of the chain.

    `title` names its purpose. `program` is HTML: the first program of the chain in full, later ones as a diff to the
    previous one. `followed_by` is the purpose of the next prompt, which holds the feedback; blank for the last reply.
    """

    generation: Generation
    title: str
    selected: bool
    reply: SafeString
    program: SafeString
    tests: tuple[ChainTestResult, ...]
    followed_by: str


@require_safe
@requires_role(Role.RESEARCHER)
def chain(request: HttpRequest, item_id: int) -> HttpResponse:
    """Show the chain with links to other chains at the problem."""
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
        .only(
            "chain",
            "state",
            "permanent",
            "run__method",
            "run__model_spec",
            "judgement__verdict",
            "judgement__near_limit",
        )
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
    """Return the replies in order, each program as a diff to the previous one."""
    language = str(item.run.parameters.get("language", ""))
    previous = ""
    found = []
    for generation, after in zip_longest(generations, generations[1:]):
        program = ""
        if generation.code:
            program = (
                program_diff(previous, generation.code) if previous else highlight(generation.code, language)
            )
            previous = generation.code
        found.append(
            Step(
                generation,
                TITLES[Generation.Purpose(generation.purpose)],
                generation.pk == item.selected_id,
                # The renderers escape or sanitise their input.
                mark_safe(render_markdown(generation.text, number=generation.pk)),  # noqa: S308
                mark_safe(program),  # noqa: S308
                shown_tests(generation.sample_judgement),
                after.purpose if after else "",
            )
        )
    return found


def shown_tests(judgement: Judgement | None) -> tuple[ChainTestResult, ...]:
    """Return the results of the tests without any text that may quote a hidden test."""
    result: dict[str, Any] = (judgement.result or {}) if judgement else {}
    return tuple(
        ChainTestResult(
            name=test["name"],
            sample=bool(test["sample"]),
            verdict=test["verdict"],
            time=test["time"],
            memory=test["memory"],
            message=test["message"] if test["sample"] else "",
        )
        for test in result.get("tests", ())
    )
