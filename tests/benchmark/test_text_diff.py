"""The diff of two texts: both texts can be read from it, and nothing escapes as HTML."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from benchmark.rendering import text_diff

TEXTS = st.lists(st.sampled_from(["a", "b", " ", "\n", "<b>", "&", "<del>", "ü"]), max_size=12).map("".join)


def test_words_that_went_and_came_are_marked() -> None:
    assert (
        text_diff("It <fails> on test 3.", "It fails.") == "It <del>&lt;</del>fails<del>&gt; on test 3</del>."
    )
    assert text_diff("the same", "the same") == "the same"


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read(before: str, after: str) -> None:
    page = text_diff(before, after)
    assert html.unescape(re.sub(r"<ins>.*?</ins>|</?del>", "", page, flags=re.DOTALL)) == before
    assert html.unescape(re.sub(r"<del>.*?</del>|</?ins>", "", page, flags=re.DOTALL)) == after
