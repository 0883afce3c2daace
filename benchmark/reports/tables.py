"""Reports for other programs."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from benchmark.reports.figures import RunFigures

_COLUMNS = ("run", "dataset", "model", "method", "complete", "figure", "group", "value", "low", "high", "n")


def as_json(runs: Sequence[RunFigures]) -> str:
    """{"runs": [...]}: every field of the figures by its name, `complete` and `caveats`."""
    documents = [
        asdict(figures) | {"complete": figures.complete, "caveats": figures.caveats} for figures in runs
    ]
    return json.dumps({"runs": documents}, ensure_ascii=False, indent=2)


def as_csv(runs: Sequence[RunFigures]) -> str:
    """One figure a row; `n` is the number of problems, attempts or generations it is over.

    The value of tokens is blank when not one generation says them, and else the known sum, of which `n`
    generations are the source.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for figures in runs:
        about = (figures.run, figures.dataset, figures.model, figures.method, figures.complete)
        writer.writerows((*about, *row) for row in _rows(figures))
    return file.getvalue().rstrip("\n")


def _rows(figures: RunFigures) -> Iterator[tuple[object, ...]]:
    for group in figures.groups:
        for figure in group.pass_at:
            yield f"pass@{figure.k}", group.name, figure.value, figure.low, figure.high, figure.problems
    for verdict, count in figures.verdicts.items():
        yield f"verdict {verdict}", "all", count / figures.done, None, None, figures.done
    for tokens in figures.tokens:
        known = figures.generations - tokens.unknown
        yield f"{tokens.kind} tokens", "all", tokens.known if known else None, None, None, known
    yield "failed items", "all", figures.failed, None, None, figures.total
