"""Training cutoffs of models, which separate the problems that a model may have seen (docs/spec.md 13.5)."""

import tomllib
from datetime import date
from functools import cache
from pathlib import Path


def cutoff_of(model: str) -> date | None:
    """Return the last day of the model's training data by its name; None if no source states it."""
    known = known_cutoffs()
    names = [name for name in known if model.startswith(name)]
    return known[max(names, key=len)] if names else None


@cache
def known_cutoffs() -> dict[str, date]:
    """Return all cutoffs in the file by the beginning of the model's name. Raises KeyError for a missing source."""
    document = tomllib.loads(Path(__file__).with_name("cutoffs.toml").read_text(encoding="utf-8"))
    sources = document["sources"]
    return {name: stated["until"] for name, stated in document["models"].items() if sources[stated["source"]]}
