"""The prompt of a question, and the letter in a reply (P-14: docs/spec.md 6)."""

import random
import re
from collections.abc import Sequence

from benchmark.datasets.question_sets import LETTERS, OPTIONS
from benchmark.prompts import Prompt, our_templates
from benchmark.providers import Message
from benchmark.representations import RepresentationKind

TEMPLATES = ("similarity/question", "similarity/option")
_LINE = re.compile(
    r"^[^\w\n]*(?i:(?:(?:the|my|final|correct)\s+)*answer)[^\w\n]*:[^\w\n]*([A-D])[^\w\n]*$", re.MULTILINE
)
"""A line of the form that the prompt demands."""
_ANSWER = re.compile(r"\b(?i:answer)\b[\s*_]*(?i:is|:)[\s*_:]*[(\[]?([A-D])(?![\w'’])")


def choice_prompt(kind: RepresentationKind, reference: str, options: Sequence[str]) -> Prompt:
    """Return the prompt. `options` are the texts in the order of the letters."""
    templates = our_templates()
    shown = [
        templates.render("similarity/option", letter=letter, text=text)
        for letter, text in zip(LETTERS, options, strict=True)
    ]
    text = templates.render(
        "similarity/question", noun=kind.noun, reference=reference, options="\n\n".join(shown)
    )
    return Prompt((Message("user", text),), templates.hash(*TEMPLATES))


def read_letter(reply: str) -> str | None:
    """Return the letter of the last line "Answer: X", or else the last capital letter after "answer is" or "answer:".

    None without one.
    """
    letters = _LINE.findall(reply) or _ANSWER.findall(reply)
    return letters[-1] if letters else None


def shown_order(number: int, right: int, shuffle: int | None = None, correct_at: str = "") -> list[int]:
    """Return the indices of the options in the order of the letters.

    The order is that of the question, or shuffled with the seed `shuffle`. If `correct_at` is given, the right option,
    with the index `right`, then swaps places with the option at this letter (docs/spec.md 4.3, position bias).
    """
    order = list(range(OPTIONS))
    if shuffle is not None:
        random.Random(f"{shuffle}/{number}").shuffle(order)  # noqa: S311 (reproducible order)
    if correct_at:
        here, there = order.index(right), LETTERS.index(correct_at)
        order[here], order[there] = order[there], order[here]
    return order
