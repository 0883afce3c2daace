"""HTML of the plain text of USACO statements and analyses."""

import html
import re
from collections.abc import Iterator
from itertools import groupby, pairwise

from benchmark.rendering.highlighting import highlight
from benchmark.rendering.mathematics import formula, formula_at
from benchmark.rendering.sanitising import plain, sanitise
from benchmark.rendering.usaco_blocks import BYLINE, BlockKind, StatementBlock, split_blocks
from benchmark.rendering.usaco_samples import SECTION
from benchmark.text.program_lines import guess_language

MAXIMUM_TEXT = 200_000
"""Maximum length in characters; the longest real analysis has 36 000."""

_BOLD = re.compile(r"\*\*(?=\S)([^*]+?)(?<=\S)\*\*")
_ADDRESS = re.compile(r"https?://[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]")
_TITLE = re.compile(r"(?:Problem \d+: .+\[.+\]|Analysis: .+|Solution Notes:?)$")
_CREDITS = re.compile(r"Problem credits?:")
_SUBTASK = re.compile(r"(?<=[^\s(])(?=(?:In )?(?:[Ii]nputs?|[Tt]est ?cases?) \d)")
_SHORT = 56
"""Maximum columns of intended line breaks: a paragraph of only such short lines keeps its breaks."""

_ITEM_MARK = re.compile(r"[*•-] +")


def render_usaco(text: str) -> str:
    """Return sanitised HTML with every word of the text: headings, paragraphs, lists, formulas, programs.

    Never raises; a text beyond MAXIMUM_TEXT is shown unformatted.
    """
    if len(text) > MAXIMUM_TEXT:
        return plain(
            text[:MAXIMUM_TEXT],
            f"Too long to format: the first {MAXIMUM_TEXT:,} of {len(text):,} characters.",
        )
    parts = []
    for is_item, blocks in groupby(split_blocks(text), key=lambda block: block.kind is BlockKind.ITEM):
        rendered = [_render(block) for block in blocks]
        parts.append(f"<ul>\n{''.join(rendered)}</ul>\n" if is_item else "".join(rendered))
    return sanitise("".join(parts))


def _render(block: StatementBlock) -> str:
    match block.kind:
        case BlockKind.HEADING:
            return _heading(block.text)
        case BlockKind.SAMPLE:
            return f'<pre class="sample">{html.escape(block.text)}</pre>\n'
        case BlockKind.LITERAL:
            return f'<pre class="literal">{html.escape(block.text)}</pre>\n'
        case BlockKind.PROGRAM:
            return highlight(block.text, guess_language(block.text))
        case BlockKind.ITEM:
            return f"<li>{_inline(_ITEM_MARK.sub('', block.text, count=1))}</li>\n"
        case BlockKind.PARAGRAPH:
            return _paragraph(block.text)


def _heading(line: str) -> str:
    match = SECTION.match(line)
    if match is None:
        return f"<p>{_inline(line)}</p>\n"
    name, remark, rest = match[1].capitalize(), match[2] or "", match[3].strip()
    if name == "Problem name":
        return f"<p><small>{name}: <code>{html.escape(rest)}</code></small></p>\n"
    remark = f" <small>{html.escape(remark.strip())}</small>" if remark else ""
    if not rest:
        return f"<h4>{name}{remark}</h4>\n"
    if name.startswith("Sample"):
        return f'<h4>{name}{remark}</h4>\n<pre class="sample">{html.escape(rest)}</pre>\n'
    return f"<h4>{name}{remark}</h4>\n<p>{_inline(rest)}</p>\n"


def _paragraph(text: str) -> str:
    if _TITLE.fullmatch(text):
        return f"<h4>{_inline(text)}</h4>\n"
    if BYLINE.fullmatch(text) or _CREDITS.match(text):
        return f"<p><small>{_inline(text)}</small></p>\n"
    subtasks = _SUBTASK.split(text)
    if len(subtasks) > 1:  # the source lacks the line breaks of its list of subtasks
        return "<ul>\n" + "".join(f"<li>{_inline(subtask)}</li>\n" for subtask in subtasks) + "</ul>\n"
    return f"<p>{_with_breaks(text)}</p>\n"


def _with_breaks(text: str) -> str:
    """Return the paragraph, with the line breaks of short lines without formulas that end early."""
    lines = text.split("\n")
    if "$" in text or max(map(len, lines)) > _SHORT:
        return _inline(text)
    parts = [_inline(lines[0])]
    for before, line in pairwise(lines):
        fits = len(before) + 1 + len(line.split(maxsplit=1)[0]) <= _SHORT
        parts.append(f"{'<br>' if fits else ''}\n{_inline(line)}")
    return "".join(parts)


def _inline(text: str) -> str:
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """Yield formulas as MathML, and the text between them escaped, with bold text and links."""
    start = position = 0
    while (position := text.find("$", position)) >= 0:
        found = formula_at(text, position)
        if found is None:
            position += 2 if text.startswith("$$", position) else 1
            continue
        latex, display, end = found
        yield _marked(text[start:position])
        yield formula(latex, display)
        start = position = end
    yield _marked(text[start:])


def _marked(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = _ADDRESS.sub(lambda match: f'<a href="{match[0].replace(chr(34), "")}">{match[0]}</a>', escaped)
    return _BOLD.sub(r"<strong>\1</strong>", escaped)
