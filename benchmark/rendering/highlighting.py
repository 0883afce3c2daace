"""Program text to HTML with Pygments classes, and the style sheet that colours them."""

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

MAXIMUM_HIGHLIGHTED = 40_000
"""Characters; longer programs are shown without colours."""

_LANGUAGES = {
    "python": ("Python", "python", "py", "python3", "py3", "pypy", "pypy3"),
    "cpp": ("C++", "cpp", "c++", "cc", "cxx", "cpp17", "cpp20", "cpp23", "h", "hpp"),
    "c": ("C", "c"),
    "java": ("Java", "java"),
    "kotlin": ("Kotlin", "kotlin", "kt"),
    "rust": ("Rust", "rust", "rs"),
    "go": ("Go", "go", "golang"),
    "haskell": ("Haskell", "haskell", "hs"),
    "csharp": ("C#", "csharp", "c#", "cs"),
    "javascript": ("JavaScript", "javascript", "js"),
    "typescript": ("TypeScript", "typescript", "ts"),
    "bash": ("Shell", "bash", "sh", "shell", "console"),
    "json": ("JSON", "json"),
    "diff": ("Diff", "diff", "patch"),
    "sql": ("SQL", "sql"),
}
# Only these are ever lexed: among Pygments' hundreds of lexers some need quadratic time or worse on hostile text.
_BY_NAME = {name: (lexer, names[0]) for lexer, names in _LANGUAGES.items() for name in names[1:]}
_OWN_LEXERS: dict[str, type[Lexer]] = {"java": JavaLexer, "csharp": JavaLexer, "python": FasterPythonLexer}
_LEXERS: dict[str, Lexer] = {}
_BY_DAY, _BY_NIGHT = get_style_by_name("default"), get_style_by_name("github-dark")
_LABEL = re.compile(r"[\w+#.-]{1,24}")
_MAXIMUM_LINE = 5_000


def highlight(code: str, language: str) -> str:
    """`code` as <figure class="code"> with a label and coloured spans; an unknown language has no colours."""
    lexer_name, label = _BY_NAME.get(language.strip().lower(), ("", ""))
    code = code.rstrip("\n") + "\n"
    if (
        lexer_name
        and len(code) <= MAXIMUM_HIGHLIGHTED
        and all(len(line) <= _MAXIMUM_LINE for line in code.split("\n"))
    ):
        body = _coloured(code, _lexer(lexer_name))
    else:
        body = html.escape(code)
    if not label and _LABEL.fullmatch(language.strip()):
        label = language.strip()
    caption = f"<figcaption>{html.escape(label)}</figcaption>" if label else ""
    return f'<figure class="code">{caption}<pre tabindex="0"><code class="highlight">{body}</code></pre></figure>\n'


def _coloured(code: str, lexer: Lexer) -> str:
    """Spans only for what looks different: Pygments' own formatter makes pages twice as long."""
    parts = []
    for name, tokens in groupby(lexer.get_tokens(code), lambda token: _class_of(token[0])):
        text = html.escape("".join(value for _, value in tokens))
        parts.append(f'<span class="{name}">{text}</span>' if name else text)
    return "".join(parts)


@cache
def _class_of(token: _TokenType) -> str:
    """The class of the nearest kind of token that has one; nothing where no rule of `pygments_css` is about it."""
    nearest = next(kind for kind in reversed(token.split()) if kind in STANDARD_TYPES)
    return STANDARD_TYPES[nearest] if _declarations(nearest) else ""


def _lexer(name: str) -> Lexer:
    if name not in _LEXERS:
        own = _OWN_LEXERS.get(name)
        _LEXERS[name] = own(stripnl=False) if own else get_lexer_by_name(name, stripnl=False)
    return _LEXERS[name]


def pygments_css() -> str:
    """Rules for the classes of `highlight`, for light and dark pages at once through light-dark().

    static/css/code.css holds the result; `python -m benchmark.rendering` prints it again after Pygments changed.
    """
    rules = []
    for token, name in sorted(STANDARD_TYPES.items(), key=lambda pair: pair[1]):
        if declarations := _declarations(token):
            rules.append(f".highlight .{name} {{ {declarations} }}")
    return "\n".join(rules) + "\n"


def _declarations(token: _TokenType) -> str:
    """How the token looks; nothing for text, blanks and what a lexer did not understand."""
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
