"""Highlighted program text as HTML with Pygments classes, and the style sheet for the classes."""

import html
import re
from functools import cache
from itertools import groupby

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.styles import get_style_by_name
from pygments.token import STANDARD_TYPES, Token, _TokenType

from benchmark.rendering.java_lexer import JavaLexer
from benchmark.rendering.python_lexer import FasterPythonLexer
from judge import FAMILIES, TAGS

MAXIMUM_HIGHLIGHTED = 40_000
"""Maximum length in characters; longer programs are not highlighted."""

# Only these and the judge's languages are highlighted: some of Pygments' lexers need quadratic time or worse on
# hostile text.
_OTHER_LANGUAGES = {
    "haskell": ("Haskell", "haskell", "hs"),
    "csharp": ("C#", "csharp", "c#", "cs"),
    "typescript": ("TypeScript", "typescript", "ts"),
    "bash": ("Shell", "bash", "sh", "shell", "console"),
    "json": ("JSON", "json"),
    "diff": ("Diff", "diff", "patch"),
    "sql": ("SQL", "sql"),
}
_OTHERS = {name: (lexer, names[0]) for lexer, names in _OTHER_LANGUAGES.items() for name in names[1:]}
_OWN_LEXERS: dict[str, type[Lexer]] = {"java": JavaLexer, "csharp": JavaLexer, "python": FasterPythonLexer}
_LEXERS: dict[str, Lexer] = {}
_BY_DAY, _BY_NIGHT = get_style_by_name("default"), get_style_by_name("github-dark")
_LABEL = re.compile(r"[\w+#.-]{1,24}")
_MAXIMUM_LINE = 5_000


def highlight(code: str, language: str) -> str:
    """Return `code` as <figure class="code"> with a label. Code in an unknown language is not highlighted."""
    lexer_name, label = _lexer_and_label(language.strip().lower())
    code = code.rstrip("\n") + "\n"
    if (
        lexer_name
        and len(code) <= MAXIMUM_HIGHLIGHTED
        and all(len(line) <= _MAXIMUM_LINE for line in code.split("\n"))
    ):
        body = _highlighted(code, _lexer(lexer_name))
    else:
        body = html.escape(code)
    if not label and _LABEL.fullmatch(language.strip()):
        label = language.strip()
    caption = f"<figcaption>{html.escape(label)}</figcaption>" if label else ""
    return f'<figure class="code">{caption}<pre tabindex="0"><code class="highlight">{body}</code></pre></figure>\n'


def _lexer_and_label(name: str) -> tuple[str, str]:
    """Return the name of the lexer and the label of a language, by a tag, a name or a header's suffix."""
    by_header = {suffix[1:]: family.name for family in FAMILIES.values() for suffix in family.headers}
    family_name = TAGS.get(name) or TAGS.get(name.rstrip("0123456789")) or by_header.get(name)
    if family_name is None:
        return _OTHERS.get(name, ("", ""))
    family = FAMILIES[family_name]
    return family.lexer, family.title


def _highlighted(code: str, lexer: Lexer) -> str:
    """Return spans for visible classes only: Pygments' own formatter makes pages twice as long."""
    parts = []
    for name, tokens in groupby(lexer.get_tokens(code), lambda token: _class_of(token[0])):
        text = html.escape("".join(value for _, value in tokens))
        parts.append(f'<span class="{name}">{text}</span>' if name else text)
    return "".join(parts)


@cache
def _class_of(token: _TokenType) -> str:
    """Return the class of the nearest token type that has one, or "" if `pygments_css` has no rule for it."""
    nearest = next(kind for kind in reversed(token.split()) if kind in STANDARD_TYPES)
    return STANDARD_TYPES[nearest] if _declarations(nearest) else ""


def _lexer(name: str) -> Lexer:
    if name not in _LEXERS:
        own = _OWN_LEXERS.get(name)
        _LEXERS[name] = own(stripnl=False) if own else get_lexer_by_name(name, stripnl=False)
    return _LEXERS[name]


def pygments_css() -> str:
    """Return the CSS rules for the classes of `highlight`, with light-dark() for light and dark pages.

    static/css/code.css contains the result. `python -m benchmark.rendering` prints it for a new version of Pygments.
    """
    rules = []
    for token, name in sorted(STANDARD_TYPES.items(), key=lambda pair: pair[1]):
        if declarations := _declarations(token):
            rules.append(f".highlight .{name} {{ {declarations} }}")
    return "\n".join(rules) + "\n"


def _declarations(token: _TokenType) -> str:
    """Return the declarations for a token type, "" for text, blanks and errors of the lexer."""
    name = STANDARD_TYPES[token]
    if not name or token is Token.Error or name.startswith("w"):
        return ""
    by_day, by_night = _BY_DAY.style_for_token(token), _BY_NIGHT.style_for_token(token)
    parts = []
    if by_day["color"] or by_night["color"]:
        day = f"#{by_day['color']}" if by_day["color"] else "inherit"
        night = f"#{by_night['color']}" if by_night["color"] else "inherit"
        if "inherit" not in (day, night):
            parts.append(f"color: light-dark({day}, {night});")
    if by_day["bold"]:
        parts.append("font-weight: 600;")
    if by_day["italic"]:
        parts.append("font-style: italic;")
    return " ".join(parts)
