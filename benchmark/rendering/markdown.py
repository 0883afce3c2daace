"""Markdown with formulas and programs, for chat messages and Markdown statements."""

import html
from collections.abc import Mapping, Sequence
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote import footnote_plugin

from benchmark.rendering.highlighting import highlight
from benchmark.rendering.mathematics import MAXIMUM_FORMULA, formula, formula_at
from benchmark.rendering.outline import Outline
from benchmark.rendering.sanitising import footnote_prefix, plain, sanitise

MAXIMUM_MARKDOWN = 100_000
"""Characters; a longer text is cut to this length and shown as plain text below a notice."""

_MAXIMUM_FORMULA_LINES = 60
_REMEMBERED = 1_000
"""Cached rendered texts. Messages never change, and every page of a session shows them again."""
_LONGEST_REMEMBERED = 10_000
"""Maximum length of a cached text in characters, so that the cache stays below about 60 MB."""


def render_markdown(text: str, figures: Mapping[str, str] | None = None, *, number: int | None = None) -> str:
    r"""Return sanitised HTML of Markdown with $…$, $$…$$, \(…\), \[…\] formulas, fenced programs and footnotes.

    `figures` maps the names of allowed pictures to addresses on this site; any other picture
    becomes a link or a notice. `number` becomes a part of the footnotes' ids, so that identical messages on one page
    have different ids. Never raises; a formula that cannot be parsed is shown as code.
    """
    if "[^" not in text:
        number = None  # without footnotes, equal texts have equal HTML, which is cached once
    if figures or len(text) > _LONGEST_REMEMBERED:
        return _rendered(text, figures or {}, number)
    return _remembered(text, number)


def render_piece(text: str, outline: Outline) -> str:
    """Return sanitised HTML of the next blocks of a document, and add their headings to its outline."""
    return _rendered(text, {}, None, outline)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, number: int | None) -> str:
    return _rendered(text, {}, number)


def _rendered(
    text: str, figures: Mapping[str, str], number: int | None, outline: Outline | None = None
) -> str:
    if len(text) > MAXIMUM_MARKDOWN:
        notice = (
            f"Too long to format: the first {MAXIMUM_MARKDOWN:,} of {len(text):,} characters as plain text."
        )
        return plain(text[:MAXIMUM_MARKDOWN], notice)
    try:
        rendered = _parser.render(
            text, {"figures": figures, "footnote_prefix": footnote_prefix(text, number)}
        )
    except Exception as error:  # noqa: BLE001  (a message that the parser cannot handle is shown as plain text)
        return plain(text, f"This text could not be formatted ({type(error).__name__}).")
    return sanitise(rendered, figures, outline)


def _inline_formula(state: StateInline, silent: bool) -> bool:
    found = formula_at(state.src, state.pos)
    if found is None or found[2] > state.posMax:
        return False
    latex, display, end = found
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = latex
        token.meta = {"display": display}
    state.pos = end
    return True


def _block_formula(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    r"""Parse a display formula ($$ or \[) of whole lines, so that its lines are not read as lists or headings."""
    if state.is_code_block(start_line):
        return False
    position = state.bMarks[start_line] + state.tShift[start_line]
    opening = state.src[position : position + 2]
    closing = {"$$": "$$", "\\[": "\\]"}.get(opening)
    if closing is None:
        return False
    lines = _formula_lines(state, start_line, end_line, closing)
    if not "".join(lines).strip():
        return False
    end = start_line + len(lines)
    if not silent:
        token = state.push("formula_block", "math", 0)
        token.content = "\n".join(lines)
        token.map = [start_line, end]
    state.line = end
    return True


def _formula_lines(state: StateBlock, start_line: int, end_line: int, closing: str) -> list[str]:
    """Return the lines of the display formula without its delimiters, or no lines if it is not closed at a line end."""
    lines: list[str] = []
    size = 0
    for line in range(start_line, min(end_line, start_line + _MAXIMUM_FORMULA_LINES)):
        if line > start_line and (state.isEmpty(line) or state.sCount[line] < state.blkIndent):
            return []
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
        text = text[2:] if line == start_line else text
        size += len(text)
        if size > MAXIMUM_FORMULA:
            return []
        if closing in text:
            ends = text.endswith(closing) and text.index(closing) == len(text) - 2
            return [*lines, text[:-2]] if ends else []
        lines.append(text)
    return []


def _render_formula(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    token = tokens[index]
    return formula(token.content, token.meta["display"])


def _render_formula_block(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    return f"{formula(tokens[index].content, True)}\n"


def _render_code(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    token = tokens[index]
    words = token.info.split() if token.type == "fence" else []
    return highlight(token.content, words[0] if words else "")


def _render_picture(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    source = str(token.attrs.get("src", ""))
    label = renderer.renderInlineAsText(token.children, options, env) or source
    if source in env["figures"]:
        return f'<img src="{html.escape(source)}" alt="{html.escape(label)}">'
    if source.startswith(("http://", "https://")):
        return f'<a href="{html.escape(source)}">[picture: {html.escape(label)}]</a>'
    return f"[picture: {html.escape(label)}]"


def _render_footnote_link(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
) -> str:
    note, prefix = tokens[index].meta, env["footnote_prefix"]
    number = note["id"] + 1
    own_id = (
        f' id="{prefix}fnref{number}"' if note["subId"] == 0 else ""
    )  # the note links back to the first link
    return f'<sup><a href="#{prefix}fn{number}"{own_id}>[{number}]</a></sup>'


def _render_footnote_start(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
) -> str:
    return f'<li id="{env["footnote_prefix"]}fn{tokens[index].meta["id"] + 1}">'


def _render_way_back(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
) -> str:
    note = tokens[index].meta
    address = f"#{env['footnote_prefix']}fnref{note['id'] + 1}"
    return f' <a href="{address}" title="Back to the text">↩</a>' if note["subId"] == 0 else ""


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 30}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    # Inline footnotes are off, because ^[…] also occurs in formulas without delimiters.
    parser.use(footnote_plugin, inline=False)
    parser.add_render_rule("footnote_ref", _render_footnote_link)
    parser.add_render_rule("footnote_open", _render_footnote_start)
    parser.add_render_rule("footnote_anchor", _render_way_back)
    parser.inline.ruler.before("escape", "formula", _inline_formula)
    parser.block.ruler.before(
        "fence", "formula_block", _block_formula, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.add_render_rule("formula", _render_formula)
    parser.add_render_rule("formula_block", _render_formula_block)
    parser.add_render_rule("fence", _render_code)
    parser.add_render_rule("code_block", _render_code)
    parser.add_render_rule("image", _render_picture)
    return parser


_parser = _make_parser()
