"""Sanitising of all rendered HTML by an allow-list of elements, attributes and classes.

Model output and imported files are untrusted. Sanitised HTML contains no script, no inline style, no event
attribute, no form, only the caller's pictures, and only http, https and mailto addresses.
"""

import hashlib
import html
import re
from collections.abc import Mapping

import nh3
from pygments.token import STANDARD_TYPES

from benchmark.rendering.outline import Outline

MATHEMATICS = {
    "annotation", "math", "menclose", "merror", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
    "mphantom", "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup",
    "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "none", "semantics",
}  # fmt: skip
"""MathML's presentation elements, and the annotation with a formula's LaTeX source."""

TEXT = {
    "a", "abbr", "b", "blockquote", "br", "code", "col", "colgroup", "dd", "del", "div", "dl", "dt", "em",
    "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "ol", "p",
    "pre", "q", "s", "section", "small", "span", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "u", "ul", "var",
}  # fmt: skip

_MATHEMATICS_ATTRIBUTES = {
    "accent", "columnalign", "columnspacing", "columnlines", "depth", "display", "displaystyle", "encoding",
    "fence", "form", "frame", "height", "linethickness", "lspace", "mathsize", "mathvariant", "maxsize", "minsize",
    "movablelimits", "notation", "rowalign", "rowlines", "rowspacing", "rspace", "scriptlevel", "separator",
    "stretchy", "symmetric", "voffset", "width",
}  # fmt: skip

_ATTRIBUTES: dict[str, set[str]] = dict.fromkeys(MATHEMATICS, _MATHEMATICS_ATTRIBUTES) | {
    "a": {"href", "title", "id"},
    "li": {"id"},
    "img": {"src", "alt", "title", "width"},
    "ol": {"start", "type"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan", "scope"},
}

_CLASSES = {
    "figure": {"code"},
    "p": {"notice"},
    "pre": {"literal", "sample"},
    "section": {"footnotes"},
    "code": {"math-source", "highlight"},
    "span": {"math-display", *filter(None, STANDARD_TYPES.values())},
}

_PICTURE = re.compile(r"<img\b[^>]*>")
_WORDS = re.compile(r"\salt=")
_PICTURE_SOURCE = re.compile(r'\bsrc="([^"]*)"')


def footnote_prefix(text: str, number: int | None = None) -> str:
    """Return a prefix for the footnote ids of a text, so that two texts on one page have different ids.

    `number` distinguishes identical texts.
    """
    prefix = f"t{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}-"
    return prefix if number is None else f"{prefix}{number}-"


_FOOTNOTE = re.compile(r"(?:t[0-9a-f]{8}-(?:\d+-)?)?fn(?:ref)?\d+")
_FOOTNOTE_LINK = re.compile(f"#{_FOOTNOTE.pattern}")


def sanitise(markup: str, pictures: Mapping[str, str] | None = None, outline: Outline | None = None) -> str:
    """Return `markup` without anything outside the allow-list, its headings below those of the page. Never raises.

    `pictures` maps the source of an <img> to the address of our own copy; any other picture becomes a notice.
    Links lead to other sites or to footnotes, never to pages of this one, and element ids are kept only for
    footnotes, so a document can neither pose as a part of the page around it nor send a click into the site.
    `outline` has the headings of the document before this piece; by default, `markup` is a whole document.
    """
    markup = markup.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be encoded
    known = pictures or {}
    cleaner = _cleaner(frozenset(known.values())) if known else _WITHOUT_PICTURES
    clean = cleaner.clean(_PICTURE.sub(lambda match: _own_picture(match[0], known), markup))
    return (outline or Outline()).renumbered(clean)


def _cleaner(own: frozenset[str]) -> nh3.Cleaner:
    """Return a cleaner that allows pictures at the addresses `own`. Building it costs as much as using it once."""

    def filter_attribute(_tag: str, attribute: str, value: str) -> str | None:
        if attribute == "src":
            return value if value in own else None
        if attribute == "id":
            return value if _FOOTNOTE.fullmatch(value) else None
        return value

    def keep_relative(address: str) -> str | None:
        return address if address in own or _FOOTNOTE_LINK.fullmatch(address) else None

    return nh3.Cleaner(
        tags=TEXT | MATHEMATICS,
        clean_content_tags={"script", "style", "template", "iframe", "object", "noscript", "title"},
        attributes=_ATTRIBUTES,
        attribute_filter=filter_attribute,
        allowed_classes=_CLASSES,
        url_schemes={"http", "https", "mailto"},
        url_relative=keep_relative,
        link_rel="noopener noreferrer nofollow",
    )


_WITHOUT_PICTURES = _cleaner(frozenset())


def _own_picture(tag: str, pictures: Mapping[str, str]) -> str:
    """Return the <img> with the address of the site's own copy, or a notice if there is none."""
    source = _PICTURE_SOURCE.search(tag)
    name = html.unescape(source[1]) if source else ""
    address = pictures.get(name)
    if source and address:
        own = tag[: source.start(1)] + html.escape(address) + tag[source.end(1) :]
        # An empty alternative text keeps screen readers from reading the file name (LaTeX has only captions).
        return own if _WORDS.search(tag) else own.replace("<img", '<img alt=""', 1)
    return f"<em>[picture {html.escape(name)} is not shown]</em>"


def notice_above(text: str) -> str:
    """Return the HTML of a notice above a rendered text; "" without a text."""
    return f'<p class="notice">{html.escape(text)}</p>\n' if text else ""


def plain(text: str, notice: str = "") -> str:
    """Return `text` as preformatted text below a notice, for text that cannot be rendered."""
    return f'{notice_above(notice)}<pre class="literal">{html.escape(text)}</pre>\n'
