"""Reports for other programs."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from benchmark.reports.figures import RunFigures

_COLUMNS = (
    "run", "dataset", "model", "method", "complete", "figure", "by", "group", "value", "low", "high", "n",
    "interval_method",
)  # fmt: skip


def as_json(runs: Sequence[RunFigures]) -> str:
    """{"runs": [...]}: every field of the figures by its name, `complete` and `caveats`."""
    documents = [
        asdict(figures) | {"complete": figures.complete, "caveats": figures.caveats} for figures in runs
    ]
    return json.dumps({"runs": documents}, ensure_ascii=False, indent=2, default=str)


def as_csv(runs: Sequence[RunFigures]) -> str:
    """One figure a row; `n` is the number of problems, attempts or generations it is over.

    The value of tokens is blank when not one generation says them, and else the known sum, of which `n`
    generations are the source. `interval_method` is blank for figures without an interval.
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


def _rows(figures: RunFigures) -> Iterator[tuple[object, ...]]:
    for group in figures.groups:
        of = (group.by, group.name)
        for figure in group.points:
            name = figures.figure_name(figure.k)
            over_problems = (figure.low, figure.high, figure.problems, figure.interval)
            yield name, *of, figure.value, *over_problems
            yield f"{name} standard error", *of, figure.standard_error, None, None, figure.problems
            if figure.contest_low is not None:
                over_contests = (
                    figure.contest_low,
                    figure.contest_high,
                    figure.contests,
                    figure.contest_interval,
                )
                yield f"{name} over contests", *of, figure.value, *over_contests
        for over, points in (("answered", group.answered_at), ("planned", group.planned_at)):
            for figure in points if figures.rejected else ():
                name = f"{figures.figure_name(figure.k)} of {over} items"
                yield name, *of, figure.value, figure.low, figure.high, figure.problems, figure.interval
        for tests in group.tests_at:
            name = f"tests@{tests.k}" + " (at least)" * tests.at_least
            yield name, *of, tests.value, None, None, tests.problems
    every = ("all", "all")
    for between in figures.between_epochs:
        for number, of_epoch in enumerate(between.values, 1):
            yield (
                f"{figures.figure_name(between.k)} of epoch {number}",
                *every,
                of_epoch,
                None,
                None,
                between.problems,
            )
        name = f"{figures.figure_name(between.k)} standard error between epochs"
        yield name, *every, between.standard_error, None, None, figures.epochs
    for after in figures.after:
        yield (
            f"pass@1 after {after.i} reflections",
            *every,
            after.value,
            after.low,
            after.high,
            after.problems,
            after.interval,
        )
    for verdict, count in figures.verdicts.items():
        yield f"verdict {verdict}", *every, count / figures.done, None, None, figures.done
    for state, count in figures.verifiers.items():
        yield f"verifiers {state}", *every, count, None, None, figures.done
    for kind, count in figures.finishes.items():
        yield f"replies {kind}", *every, count, None, None, figures.generations
    for tokens in figures.tokens:
        known = figures.generations - tokens.unknown
        yield f"{tokens.kind} tokens", *every, tokens.known if known else None, None, None, known
    cost = "cost in US dollars" + " (at least)" * figures.cost_at_least
    yield cost, *every, figures.cost, None, None, figures.generations
    yield "calls broken off, possibly billed", *every, figures.calls_broken_off, None, None, None
    yield "replies repeated", *every, figures.replies_repeated, None, None, figures.generations
    yield "seconds of calls", *every, figures.seconds, None, None, figures.generations
    yield "failed items", *every, figures.failed, None, None, figures.total
    yield "permanently failed items", *every, figures.rejected, None, None, figures.total
    for one in figures.published:
        for column, value in one.values.items():
            name = f"published {one.table}: {one.figure}"
            yield name, "published", f"{one.row}, {column}", value, None, None, None
