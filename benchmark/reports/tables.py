"""Reports for other programs: JSON and CSV."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from benchmark.reports.figures import RunFigures
from benchmark.reports.groups import GroupFigures, PassAtK
from benchmark.reports.steps import AfterReflections

_COLUMNS = (
    "run", "dataset", "model", "method", "complete", "figure", "by", "group", "value", "low", "high", "n",
    "interval_method",
)  # fmt: skip


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return CSV with a heading and a line for each row; a column that a row lacks is blank."""
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def as_json(runs: Sequence[RunFigures]) -> str:
    """Return {"runs": [...]}: all fields of the figures by name, `complete`, and the warnings as `caveats`."""
    documents = [
        asdict(figures) | {"complete": figures.complete, "caveats": figures.warnings} for figures in runs
    ]
    return json.dumps({"runs": documents}, ensure_ascii=False, indent=2, default=str)


def as_csv(runs: Sequence[RunFigures]) -> str:
    """Return CSV with a figure in each row; `n` is its number of problems, attempts or generations.

    A number of tokens is the sum over the `n` generations that report them, blank without any. `interval_method` is
    blank for figures without an interval.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for figures in runs:
        about = (figures.run, figures.dataset, figures.model, figures.method, figures.complete)
        for row in _rows(figures):
            blanks = [""] * (len(_COLUMNS) - len(about) - len(row))
            writer.writerow((*about, *row, *blanks))
    return file.getvalue().rstrip("\n")


Row = tuple[object, ...]
"""Figure, kind and name of the group, value, and if they apply bounds, n and method of the interval."""

_ALL = ("all", "all")


def _rows(figures: RunFigures) -> Iterator[Row]:
    for group in figures.groups:
        yield from _score_rows(figures, group)
    for one in figures.memory:
        yield "memory probes", "cutoff", one.group, one.value, one.low, one.high, one.problems, one.interval
    yield from _epoch_rows(figures)
    yield from _reflection_rows(figures)
    for name, value in figures.metrics.items():
        yield name, *_ALL, value
    yield from _count_rows(figures)
    yield from _usage_rows(figures)
    yield "failed items", *_ALL, figures.failed, None, None, figures.total
    yield "permanently failed items", *_ALL, figures.rejected, None, None, figures.total
    for row in figures.published:
        for column, printed in row.values.items():
            name = f"published {row.table}: {row.figure}"
            yield name, "published", f"{row.row}, {column}", printed, None, None, None


def _score_rows(figures: RunFigures, group: GroupFigures) -> Iterator[Row]:
    """Yield the scores of a group: over problems, over contests, of answered and planned items, and Tests@k."""
    of = (group.by, group.name)
    for point in group.points:
        name = figures.figure_name(point.k)
        yield name, *of, *_over_problems(point)
        yield f"{name} standard error", *of, point.standard_error, None, None, point.problems
        if point.contest_low is not None:
            bounds = (point.contest_low, point.contest_high, point.contests, point.contest_interval)
            yield f"{name} over contests", *of, point.value, *bounds
    for over, points in (("answered", group.answered_at), ("planned", group.planned_at)):
        for point in points if figures.rejected else ():
            yield f"{figures.figure_name(point.k)} of {over} items", *of, *_over_problems(point)
    for tests in group.tests_at:
        name = f"tests@{tests.k}" + " (at least)" * tests.at_least
        yield name, *of, tests.value, None, None, tests.problems


def _over_problems(point: PassAtK | AfterReflections) -> Row:
    return point.value, point.low, point.high, point.problems, point.interval


def _epoch_rows(figures: RunFigures) -> Iterator[Row]:
    for between in figures.between_epochs:
        name = figures.figure_name(between.k)
        for number, value in enumerate(between.values, 1):
            yield f"{name} of epoch {number}", *_ALL, value, None, None, between.problems
        error = between.standard_error
        yield f"{name} standard error between epochs", *_ALL, error, None, None, figures.epochs


def _reflection_rows(figures: RunFigures) -> Iterator[Row]:
    for after in figures.after:
        yield f"pass@1 after {after.i} reflections", *_ALL, *_over_problems(after)


def _count_rows(figures: RunFigures) -> Iterator[Row]:
    for verdict, count in figures.verdicts.items():
        yield f"verdict {verdict}", *_ALL, count / figures.done, None, None, figures.done
    for state, count in figures.verifiers.items():
        yield f"verifiers {state}", *_ALL, count, None, None, figures.done
    for kind, count in figures.finishes.items():
        yield f"replies {kind}", *_ALL, count, None, None, figures.generations


def _usage_rows(figures: RunFigures) -> Iterator[Row]:
    for tokens in figures.tokens:
        known = figures.generations - tokens.unknown
        yield f"{tokens.kind} tokens", *_ALL, tokens.known if known else None, None, None, known
    cost = "cost in US dollars" + " (at least)" * figures.cost_at_least
    yield cost, *_ALL, figures.cost, None, None, figures.generations
    yield "calls broken off, possibly billed", *_ALL, figures.calls_broken_off, None, None, None
    yield "replies repeated", *_ALL, figures.replies_repeated, None, None, figures.generations
    yield "seconds of calls", *_ALL, figures.seconds, None, None, figures.generations
