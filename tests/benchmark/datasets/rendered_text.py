"""Comparing a plain text with its rendered HTML."""

import html
import re


def text_of(markup: str) -> str:
    """What a reader sees, with formulas as their LaTeX and language labels left out."""
    markup = re.sub(r"<figcaption>.*?</figcaption>", "", markup)
    markup = re.sub(
        r"<math.*?<annotation[^>]*>(.*?)</annotation></semantics></math>", r"\1", markup, flags=re.DOTALL
    )
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def significant(text: str) -> str:
    """The characters that rendering must keep, in order: no white space, no marks of lists, bold and formulas."""
    return re.sub(r"[\s$*:•\-\x00-\x20\xa0]", "", text).lower()


def assert_nothing_lost(text: str, markup: str) -> None:
    """The HTML shows every significant character of the text, in its order."""
    assert significant(text_of(markup)) == significant(text)
