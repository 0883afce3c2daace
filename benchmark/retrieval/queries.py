"""What is searched for: the statement, alone or with what a model first made of it (docs/spec.md 1.2, 1.3 T8)."""

from typing import Literal, get_args

QueryKind = Literal["statement", "statement+code", "reply"]
QUERY_KINDS: tuple[str, ...] = get_args(QueryKind)


def make_query(kind: QueryKind, statement: str, *, reply: str = "", code: str = "") -> str:
    """The query text: the statement, then on a new line the program ("statement+code") or the whole reply."""
    match kind:
        case "statement":
            return statement
        case "statement+code":
            return f"{statement}\n{code}"
        case "reply":
            return f"{statement}\n{reply}"
