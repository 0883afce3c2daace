"""Comparison of a plain text with its rendered HTML."""

import html
import re


def text_of(markup: str) -> str:
    """Return the visible text, with formulas as LaTeX and without language labels."""
    markup = re.sub(r"<figcaption>.*?</figcaption>", "", markup)
    markup = re.sub(
        r"<math.*?<annotation[^>]*>(.*?)</annotation></semantics></math>", r"\1", markup, flags=re.DOTALL
    )
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def significant(text: str) -> str:
    """Return the characters that rendering must keep in order, without white space and markup."""
    return re.sub(r"[\s$*:•\-\x00-\x20\xa0]", "", text).lower()


def assert_nothing_lost(text: str, markup: str) -> None:
    """Assert that the HTML shows every significant character of the text in order."""
    assert significant(text_of(markup)) == significant(text)
