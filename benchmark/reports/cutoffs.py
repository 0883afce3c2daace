"""Until when a model has read, so that problems it cannot have seen are counted apart (METHODS.md 13.5)."""

import tomllib
from datetime import date
from functools import cache
from pathlib import Path


def cutoff_of(model: str) -> date | None:
    """The last day of the model's training texts by its name; None where nobody has written it down."""
    known = _known()
    names = [name for name in known if model.startswith(name)]
    return known[max(names, key=len)] if names else None


@cache
def _known() -> dict[str, date]:
    return dict(tomllib.loads(Path(__file__).with_name("cutoffs.toml").read_text(encoding="utf-8")))
