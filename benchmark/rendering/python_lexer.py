"""A faster lexer for Python, with the same tokens as Pygments' in a third to two thirds of its time."""

from pygments.lexer import inherit, words
from pygments.lexers.python import PythonLexer
from pygments.token import Name, Operator, Punctuation, Text

_WORDS = {
    word
    for state in ("keywords", "expr-keywords", "builtins", "magicfuncs", "magicvars")
    for pattern, *_ in PythonLexer.tokens[state]
    if isinstance(pattern, words)
    for word in pattern.words
}
"""Words of Pygments' lists that are not plain names."""

_OTHER_WORDS = (
    "and", "in", "is", "not", "or", "def", "class", "from", "import", "lazy", "match", "case", "self", "cls",
    "Ellipsis", "NotImplemented",
)  # fmt: skip
"""Words of Pygments' other rules that are not always plain names."""

_STRING_PREFIX = r"""(?![a-zA-Z]{1,2}["'])"""


class FasterPythonLexer(PythonLexer):
    """A lexer that matches blanks, operators and plain names first, which are most of all tokens.

    Pygments tries forty rules before them.
    """

    tokens = {
        "root": [
            (r"(?<!^)[^\S\n]+", Text),
            (r"!=|==|<<|>>|:=|[-~+/*%=<>&^|]|\.(?!\d)", Operator),
            (r"[\]{}:(),;[]", Punctuation),
            (
                words(
                    sorted(_WORDS.union(_OTHER_WORDS)),
                    prefix="(?!",
                    suffix=rf"\b){_STRING_PREFIX}{PythonLexer.uni_name}",
                ),
                Name,
            ),
            inherit,
        ]
    }
