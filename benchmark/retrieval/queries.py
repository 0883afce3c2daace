"""Query texts: the statement, alone or with a model's first reply or program (docs/spec.md 1.2, 1.3 T8)."""

from typing import Literal, get_args

QueryKind = Literal["statement", "statement+code", "reply"]
QUERY_KINDS: tuple[str, ...] = get_args(QueryKind)


def make_query(kind: QueryKind, statement: str, *, reply: str = "", code: str = "") -> str:
    """Return the statement, followed on a new line by the program ("statement+code") or the whole reply."""
    match kind:
        case "statement":
            return statement
        case "statement+code":
            return f"{statement}\n{code}"
        case "reply":
            return f"{statement}\n{reply}"
