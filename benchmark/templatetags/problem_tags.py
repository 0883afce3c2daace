"""The parts of a problem that people may read: statement, samples, official analysis and reference solutions.

This module never reads hidden tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from benchmark.models import Problem, TestCase, blobs
from benchmark.models.problems import TextFormat
from benchmark.rendering import highlight, render
from benchmark.rendering.usaco_samples import find_samples

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
    """A sample with its explanation as sanitised HTML. A text that is missing in the blob store is None."""

    number: int
    explanation: SafeString
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
        "samples": samples_beside_statement(problem),
        "solutions": [
            # Pygments escapes the program.
            Solution(number, reference.name, mark_safe(highlight(reference.source, reference.language)))  # noqa: S308
            for number, reference in enumerate(problem.references.all(), start=1)
        ],
        "more_panels": more_panels,
        "view": view,
        "user": context["user"],
    }


def samples_beside_statement(problem: Problem) -> list[Sample]:
    """Return the samples of the problem that its statement does not contain, in order."""
    within = _samples_within(problem)
    samples = []
    for number, test in enumerate(problem.tests.filter(origin=TestCase.Origin.SAMPLE), start=1):
        shown = shown_text(test.input_hash), shown_text(test.answer_hash)
        texts = [(text.text.split(), text.cut) for text in shown if text is not None]
        if any(_is_sample(texts, given, expected) for given, expected in within):
            continue
        explanation = render(test.explanation, problem.statement_format) if test.explanation else ""
        samples.append(Sample(number, mark_safe(explanation), *shown))  # noqa: S308  (rendering sanitises)
    return samples


def _samples_within(problem: Problem) -> list[tuple[list[str], list[str]]]:
    """Return the words of the input and output of each sample in the text of the statement."""
    if problem.statement_format != TextFormat.USACO:
        return []
    return [(sample.input.split(), sample.output.split()) for sample in find_samples(problem.statement)]


def _is_sample(texts: list[tuple[list[str], bool]], given: list[str], expected: list[str]) -> bool:
    """Return whether input and output of a stored sample are these words; of a truncated text, its beginning counts."""
    found = (given, expected)
    return len(texts) == len(found) and all(
        words[:-1] == other[: len(words) - 1] if cut else words == other
        for (words, cut), other in zip(texts, found, strict=True)
    )


def shown_text(digest: str) -> ShownText | None:
    """Return the first `SAMPLE_BYTES_SHOWN` bytes of a blob as text; None if the blob is missing."""
    try:
        content = blobs.read(digest)
    except FileNotFoundError:
        return None
    text = content[:SAMPLE_BYTES_SHOWN].decode("utf-8", errors="replace")
    return ShownText(text=text, size=len(content), cut=len(content) > SAMPLE_BYTES_SHOWN)
