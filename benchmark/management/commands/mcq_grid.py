"""manage.py mcq_grid: run and report every representation with every scorer over a set of questions."""

import json
from collections.abc import Iterable, Sequence
from io import StringIO
from itertools import groupby
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_question_set, positive
from benchmark.management.encoding import add_encoding
from benchmark.management.model_options import (
    add_model_options,
    estimates_json,
    estimates_table,
    price_of,
    sampling,
)
from benchmark.model_calls import Price, Spending
from benchmark.models import SimilarityRun
from benchmark.providers import ModelSpecError, parse_model_spec
from benchmark.reports.formatting import percent
from benchmark.runner import CannotRunError, Estimate
from benchmark.similarity.estimates import estimate_run
from benchmark.similarity.grid import SCORERS, GridCell, grid_of
from benchmark.similarity.runs import Work
from judge.management.tables import aligned

_RUN_OPTIONS = (
    "temperature", "max_output_tokens", "concurrency", "requests_per_minute", "tokens_per_minute", "context_tokens",
    "price", "device", "batch_size", "trust_encoder",
)  # fmt: skip
_OF_NEW_RUNS = ("temperature", "max_output_tokens")
_BOUNDS = ("cost", "tokens", "calls")


class Command(BaseCommand):
    help = (
        "Run the grid of AlgoSimBench's tables over a set of questions: statements and solutions ranked by every "
        "scorer (T17), every representation chosen from by every model (T18), and generated representations ranked by "
        "every scorer (T19). Finished runs are reused and others are resumed; nothing is paid for twice. A cell that "
        "cannot be run is listed with its missing inputs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--questions", required=True, metavar="NAME", help="name of the question set")
        parser.add_argument(
            "--model", nargs="+", default=[], metavar="PROVIDER:MODEL", help="the models of T18 and T19"
        )
        parser.add_argument(
            "--scorer",
            nargs="+",
            default=list(SCORERS),
            metavar="SCORER",
            help="bm25, tfidf or encoder:NAME; default: the ten of T17",
        )
        parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
        parser.add_argument("--report", action="store_true", help="run nothing; show the stored results")
        add_encoding(parser)
        add_model_options(parser, "the runs of the grid, with all their resumptions, have")

    def handle(self, **options: Any) -> None:
        try:
            models = [parse_model_spec(name) for name in options["model"]]
            cells = grid_of(
                find_question_set(options["questions"]),
                models,
                options["scorer"],
                sampling(options),
                options["limit"],
            )
        except (CannotRunError, ModelSpecError, ValueError) as error:
            raise CommandError(str(error)) from None
        if options["dry_run"]:
            self._print_cost(cells, price_of(options, models[0] if models else None), options["json"])
            return
        stopped = "" if options["report"] else self._run(cells, options)
        self._print(cells, options["json"])
        if stopped:
            raise CommandError(
                f"{stopped}\nNot finished. Repeat the command to continue; where a bound was reached, set a higher one."
            )

    def _run(self, cells: Sequence[GridCell], options: dict[str, Any]) -> str:
        """Run the cells without a finished run; return the reason of a stop, or a blank text."""
        for cell in cells:
            if cell.finished or cell.plan is None:
                continue
            try:
                call_command(
                    "run_mcqs", **_options(cell, cells, options), stdout=StringIO(), stderr=self.stderr
                )
            except CommandError as error:
                cell.needs = str(error)
            cell.find_run()
            if cell.run is not None and cell.run.stop_reason:
                return f"Stopped: {cell.run.stop_reason}"
        return ""

    def _print_cost(self, cells: Sequence[GridCell], price: Price | None, as_json: bool) -> None:
        estimate = _estimate(cells)
        left = [cell for cell in cells if not cell.finished]
        if as_json:
            document = {"dry_run": True, "cells": [cell.to_json() for cell in cells]}
            self.stdout.write(json.dumps(document | {"estimates": estimates_json(estimate, price)}))
            return
        self.stdout.write(f"{len(left)} of {len(cells)} cells would be run. No call was made.")
        self._print_needs(left)
        self.stdout.write("\n".join(estimates_table(estimate, price)))

    def _print(self, cells: Sequence[GridCell], as_json: bool) -> None:
        documents = [cell.to_json() for cell in cells]
        if as_json:
            self.stdout.write(json.dumps({"cells": documents}, ensure_ascii=False))
            return
        for table, group in groupby(documents, key=lambda one: str(one["table"])):
            own = list(group)
            kinds = list(dict.fromkeys(one["representation"] for one in own))
            self.stdout.write(f"{table}: accuracy, MRR where options are ranked, and the published values")
            rows = [("", *kinds)]
            for name, of_row in groupby(own, key=_row_name):
                by_kind = {one["representation"]: _shown(one) for one in of_row}
                rows.append((name, *(by_kind.get(kind, "") for kind in kinds)))
            self.stdout.write("\n".join([*aligned(rows), ""]))
        self._print_needs([cell for cell in cells if not cell.finished])

    def _print_needs(self, cells: Iterable[GridCell]) -> None:
        for cell in cells:
            if cell.needs:
                name = " ".join(filter(None, (cell.table, cell.model, cell.scorer, cell.kind.name)))
                self.stdout.write(f"Missing: {name}: {cell.needs}")


def _row_name(document: dict[str, Any]) -> str:
    return " ".join(filter(None, (document["model"], document["scorer"]))) or "a model"


def _shown(document: dict[str, Any]) -> str:
    if document["accuracy"] is None:
        return "missing"
    figures = [percent(document["accuracy"])]
    figures += [percent(document["mrr"])] if document["mrr"] is not None else []
    printed = [document[name] for name in ("published_accuracy", "published_mrr")]
    beside = " ".join(f"{value:.1f}" for value in printed if value is not None)
    partly = "" if document["needs"] is None else f" ({document['answered']} questions)"
    return " ".join(figures) + (f" [{beside}]" if beside else "") + partly


def _options(cell: GridCell, cells: Sequence[GridCell], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of run_mcqs for a cell; its bounds are those of the grid less the spending of other cells."""
    assert cell.plan is not None
    chosen: dict[str, Any] = {name: options[name] for name in _RUN_OPTIONS}
    others = sum((Spending.of_run(run) for run in _runs(cells) if run != cell.run), Spending())
    price = price_of(options, cell.plan.spec)
    spent = {
        "cost": others.cost(price) or 0,
        "tokens": others.input_tokens + others.output_tokens,
        "calls": others.calls,
    }
    for name in _BOUNDS:
        if options[f"max_{name}"] is not None:
            chosen[f"max_{name}"] = max(0, options[f"max_{name}"] - spent[name])
    if cell.run is not None:
        return {name: value for name, value in chosen.items() if name not in _OF_NEW_RUNS} | {
            "resume": str(cell.run.pk)
        }
    return chosen | {
        "questions": cell.plan.question_set.name,
        "task": cell.plan.task,
        "representation": cell.kind.name,
        "model": cell.model or None,
        "scorer": cell.scorer or None,
        "limit": cell.plan.limit,
    }


def _runs(cells: Iterable[GridCell]) -> list[SimilarityRun]:
    return [cell.run for cell in cells if cell.run is not None]


def _estimate(cells: Iterable[GridCell]) -> dict[str, Estimate]:
    """Return the total estimates of the cells in which a model chooses, so that each representation counts once."""
    total: dict[str, Estimate] = {}
    for cell in cells:
        if cell.table != "T18" or cell.finished or cell.plan is None:
            continue
        work = Work(cell.plan, cell.run)
        work.load()
        for name, one in estimate_run(work).items():
            before = total.get(name, Estimate(0, 0, 0))
            total[name] = Estimate(
                before.generations + one.generations,
                before.input_tokens + one.input_tokens,
                before.output_tokens + one.output_tokens,
            )
    return total
