"""Markdown that arrives in pieces: each block is rendered when it has ended, and all of them are the whole text."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmark.rendering import markdown_stream, render_markdown
from benchmark.rendering.markdown_stream import MarkdownStream
from benchmark.rendering.outline import Outline

END = "\n\nThe end.\n\n"
"""A paragraph that ends every block before it."""

REPLY = r"""The answer uses two sums. Let \(s_i = \sum_{j \le i} a_j\).

## Idea

1. Read the input.
2. Add it up:
   ```python
   total = sum(values)

   print(total)
   ```
3. Print it.

| n | sum |
| - | --- |
| 1 | 1 |
| 2 | 3 |

$$
s_n = \frac{n (n + 1)}{2}
$$

The program 🐄:
```python
for number in range(3):

    print(number)
```
That is all.
"""

PIECES = st.sampled_from(
    ["word ", "A **bold** line", "\n", "\n\n", "\n\n\n", "- item", "* ", "+ x\n", "1. one\n", "2) two", "10", ". ",
     "   ", "    code", "\t", "```\n", "```python\n", "~~~~\n", "````\n", "``", "`", "> quote\n", "# Head\n", "---\n",
     "===\n", "| a | b |\n| - | - |\n", "| 1 | 2 |\n", "$$\n", "x^2\n", "$$", r"\[", r"\]", "🐄", "\r\n", "  - inner\n",
     "   ```\n", "   text\n", "\u2028", "$5 "]
)  # fmt: skip


def blocks_of(text: str, sizes: list[int]) -> tuple[list[str], int]:
    """Return the blocks on a page that gets the text in pieces of these sizes, and the UTF-16 units they cover."""
    stream, shown, length, position, number = MarkdownStream(), list[str](), 0, 0, 0
    while position < len(text):
        size = sizes[number % len(sizes)]
        if stream.feed(text[position : position + size]) and (rendered := stream.render()):
            assert rendered.first <= len(shown)
            assert rendered.length >= length
            shown[rendered.first :] = rendered.html
            length = rendered.length
        position, number = position + size, number + 1
    return shown, length


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def elements(html: str) -> str:
    """Return the HTML without line breaks between elements, which browsers do not show."""
    return re.sub(r">\n<", "><", html).strip()


@pytest.mark.slow
@given(pieces=st.lists(PIECES, max_size=25), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5))
@example(pieces=[REPLY], sizes=[1])
@example(pieces=["- a\n\n- b\n\n10", ". ", "x\n"], sizes=[1])
@example(pieces=["text\n- a\n\n- b"], sizes=[3])
@example(pieces=["    code\n\n    more"], sizes=[4])
def test_blocks_are_the_rendering_of_the_whole_text(pieces: list[str], sizes: list[int]):
    text = "".join(pieces) + END
    shown, _ = blocks_of(text, sizes)
    whole = elements(render_markdown(text))
    if shown and "The end." in shown[-1]:
        assert elements("\n".join(block.strip() for block in shown)) == whole
    else:  # the text ends within a program or an indented line
        assert whole.startswith(elements("\n".join(block.strip() for block in shown[:-1])))


def test_blocks_appear_as_soon_as_they_have_ended():
    stream = MarkdownStream()

    def after(piece: str) -> list[str]:
        stream.feed(piece)
        rendered = stream.render()
        return [] if rendered is None else [words_of(block) for block in rendered.html]

    assert after("The first paragraph.") == []
    assert after("\n") == []
    assert after("\n") == ["The first paragraph."]
    assert after("The program:\n``") == []
    assert after("`python\nx = 1") == ["The program:"]
    assert after("\n\ny = 2\n```") == []
    assert after("\n") == ["Python x = 1 y = 2"]
    assert after("- one\n- two") == ["one"]
    assert after("\n\n- three\n\nA") == ["one two three"]
    assert after("fter.\n\n") == ["After."]


def test_length_counts_utf_16_units_as_browsers_do():
    text = "🐄🐄 moo.\n\nrest"
    shown, length = blocks_of(text, [2])
    assert len(shown) == 1
    assert text.encode("utf-16-le")[2 * length :].decode("utf-16-le") == "rest"


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{number}. An item of a list.\n" for number in range(2000)),
        "A paragraph of words.\n\n" * 2000,
        "```python\n" + "print(1)\n" * 4000 + "```\n",
        "".join(f"- item {number}\n\n  continued\n\n" for number in range(1000)),
    ],
)
def test_work_is_linear_in_the_length(text: str, monkeypatch: pytest.MonkeyPatch):
    rendered: list[int] = []

    def render(source: str, _: Outline) -> str:
        rendered.append(len(source))
        return "<p>x</p>"

    monkeypatch.setattr(markdown_stream, "render_piece", render)
    blocks_of(text + END, [12])
    assert sum(rendered) <= 6 * len(text)


def test_blocks_are_sanitised():
    shown, _ = blocks_of('<script>alert(1)</script> <img src="x" onerror="y()"> [a](javascript:x)\n\n', [3])
    [block] = shown
    assert "<script" not in block
    assert "<img" not in block
    assert 'href="javascript' not in block
