"""A lexer for Java and C# that needs time linear in the length of the text.

Pygments' lexers match method definitions with nested repetition. On text such as "a a a a …", which a model may write,
they need exponential time.
"""

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

_DECLARATIONS = (
    "abstract", "class", "const", "enum", "extends", "final", "implements", "import", "interface", "namespace",
    "native", "override", "package", "private", "protected", "public", "readonly", "record", "sealed", "static",
    "struct", "synchronized", "throws", "transient", "using", "virtual", "volatile",
)  # fmt: skip
_STATEMENTS = (
    "as", "assert", "base", "break", "case", "catch", "continue", "default", "do", "else", "finally", "for", "foreach",
    "goto", "if", "in", "instanceof", "is", "new", "out", "ref", "return", "super", "switch", "this", "throw", "try",
    "while", "yield",
)  # fmt: skip
_TYPES = (
    "bool", "boolean", "byte", "char", "decimal", "double", "float", "int", "long", "object", "short", "string", "uint",
    "ulong", "var", "void",
)  # fmt: skip


class JavaLexer(RegexLexer):
    """A lexer of Java and C# that distinguishes comments, strings, numbers, keywords and calls."""

    name = "Java and C#"
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'"(?:\\.|[^"\\\n])*"?', String),
            (r"'(?:\\.|[^'\\\n]){1,6}'", String.Char),
            (r"@\w+", Name.Decorator),
            (r"\d[\w.]*", Number),
            (words(_DECLARATIONS, suffix=r"\b"), Keyword.Declaration),
            (words(_STATEMENTS, suffix=r"\b"), Keyword),
            (words(_TYPES, suffix=r"\b"), Keyword.Type),
            (words(("true", "false", "null"), suffix=r"\b"), Keyword.Constant),
            (r"[^\W\d]\w*(?=\()", Name.Function),
            (r"[A-Z]\w*", Name.Class),
            (r"[^\W\d]\w*", Name),
            (r"[-+*/%&|^~!=<>?:]+", Operator),
            (r"[{}()\[\];,.]+", Punctuation),
            (r".", Punctuation),
        ],
        "comment": [
            (r"[^*]+", Comment.Multiline),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"\*", Comment.Multiline),
        ],
    }
