"""The parts of a problem that people may read: statement, samples, official analysis and reference solutions.

This module never reads hidden tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from benchmark.models import Problem, TestCase, blobs
from benchmark.rendering import highlight

register = template.Library()

SAMPLE_BYTES_SHOWN = 20_000
"""Bytes of a sample's input or answer that a page shows; the page says if it truncates a text."""


@dataclass(frozen=True)
class ShownText:
    """The beginning of a stored text of `size` bytes."""

    text: str
    size: int
    cut: bool


@dataclass(frozen=True)
class Sample:
    """A sample. A text that is missing in the blob store is None."""

    number: int
    explanation: str
    input: ShownText | None
    answer: ShownText | None


@dataclass(frozen=True)
class Solution:
    """A reference solution with syntax highlighting."""

    number: int
    name: str
    html: SafeString


@register.inclusion_tag("benchmark/problem_tabs.html", takes_context=True)
def problem_tabs(
    context: dict[str, Any], problem: Problem, more_panels: str = "", view: object = None
) -> dict[str, Any]:
    """Return the problem as sections for tabs. `more_panels` names a template for more tabs, which gets `view`."""
    return {
        "problem": problem,
        "samples": samples_of(problem),
        "solutions": [
            # Pygments escapes the program.
            Solution(number, reference.name, mark_safe(highlight(reference.source, reference.language)))  # noqa: S308
            for number, reference in enumerate(problem.references.all(), start=1)
        ],
        "more_panels": more_panels,
        "view": view,
        "user": context["user"],
    }


def samples_of(problem: Problem) -> list[Sample]:
    """Return the samples of the problem in order."""
    tests = problem.tests.filter(origin=TestCase.Origin.SAMPLE)
    return [
        Sample(number, test.explanation, shown_text(test.input_hash), shown_text(test.answer_hash))
        for number, test in enumerate(tests, start=1)
    ]


def shown_text(digest: str) -> ShownText | None:
    """Return the first `SAMPLE_BYTES_SHOWN` bytes of a blob as text; None if the blob is missing."""
    try:
        content = blobs.read(digest)
    except FileNotFoundError:
        return None
    text = content[:SAMPLE_BYTES_SHOWN].decode("utf-8", errors="replace")
    return ShownText(text=text, size=len(content), cut=len(content) > SAMPLE_BYTES_SHOWN)
