"""Pygments' lexer for Python with the same tokens in little more than half of the time."""

from pygments.lexer import inherit
from pygments.lexers.python import PythonLexer
from pygments.token import Operator, Punctuation, Text


class FasterPythonLexer(PythonLexer):
    """Half of all tokens are blanks and signs, for which Pygments tries some forty other rules first."""

    tokens = {
        "root": [
            (r"(?<!^)[^\S\n]+", Text),
            (r"!=|==|<<|>>|:=|[-~+/*%=<>&^|]|\.(?!\d)", Operator),
            (r"[\]{}:(),;[]", Punctuation),
            inherit,
        ]
    }
