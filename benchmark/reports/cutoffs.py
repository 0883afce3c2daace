"""Until when a model has read, so that problems it cannot have seen are counted apart (docs/spec.md 13.5)."""

import tomllib
from datetime import date
from functools import cache
from pathlib import Path


def cutoff_of(model: str) -> date | None:
    """The last day of the model's training texts by its name; None where no source that states it was found."""
    known = known_cutoffs()
    names = [name for name in known if model.startswith(name)]
    return known[max(names, key=len)] if names else None


@cache
def known_cutoffs() -> dict[str, date]:
    """Every cutoff in the file. Raises KeyError for one whose source is not there."""
    document = tomllib.loads(Path(__file__).with_name("cutoffs.toml").read_text(encoding="utf-8"))
    sources = document["sources"]
    return {name: stated["until"] for name, stated in document["models"].items() if sources[stated["source"]]}
