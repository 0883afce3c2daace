"""manage.py spending: list, set and remove spending caps, and show today's spending."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import dollars
from benchmark.model_calls import caps
from benchmark.model_calls.caps import CapError, CapState
from benchmark.model_calls.ledger import today
from benchmark.models import DailySpend, SpendingCap
from judge.management.tables import aligned


class Command(BaseCommand):
    help = (
        "List, set and remove spending caps. A cap limits the US dollars that the site, a model or a study spends, "
        "each day (UTC) or in all. Runs, sessions, tests of models and model checks stop before a call when a cap is "
        "reached."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the list as one JSON document")
        actions = parser.add_subparsers(dest="action", metavar="ACTION", help="default: list")
        listed = actions.add_parser("list", help="list the caps and today's spending")
        listed.add_argument("--json", action="store_true", help="print one JSON document to standard output")
        setter = actions.add_parser("set", help="set a cap of the site, or of a model or a study")
        _add_cap(setter)
        setter.add_argument("dollars", type=dollars, metavar="DOLLARS", help="maximum amount to spend")
        _add_target(setter)
        remover = actions.add_parser("remove", help="remove a cap")
        _add_cap(remover)
        _add_target(remover)

    def handle(self, **options: Any) -> None:
        try:
            match options["action"]:
                case "set":
                    cap = caps.set_cap(*_target(options), options["period"], options["dollars"])
                    self.stdout.write(f"The cap of {cap} is {cap.dollars:,.2f} US dollars.")
                case "remove":
                    cap = caps.find_cap(*_target(options), options["period"])
                    cap.delete()
                    self.stdout.write(f"The cap of {cap} is removed.")
                case _:
                    self._list(options["json"])
        except CapError as error:
            raise CommandError(str(error)) from None

    def _list(self, as_json: bool) -> None:
        states, rows = caps.states(), list(DailySpend.objects.filter(day=today()))
        without_price = caps.models_without_price()
        if as_json:
            document = {
                "caps": [_cap_json(state) for state in states],
                "day": today().isoformat(),
                "today": [_row_json(row) for row in rows],
                "models_without_price": [
                    {"label": row.label, "version": row.version, "model": row.spec} for row in without_price
                ],
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        if states:
            table = [("cap", "period", "US dollars", "spent", "share")]
            table += [
                (
                    state.cap.subject,
                    state.cap.get_period_display(),
                    f"{state.cap.dollars:,.2f}",
                    f"{state.dollars:,.2f}",
                    f"{state.percent} %",
                )
                for state in states
            ]
            self.stdout.write("\n".join(aligned(table)))
        else:
            self.stdout.write(
                "There is no spending cap. Set one with: manage.py spending set day|total DOLLARS"
            )
        if rows:
            today_table = [(f"{today()} (UTC)", "study", "purpose", "US dollars", "calls", "of unknown cost")]
            today_table += [
                (
                    row.model_spec,
                    row.study_key or "none",
                    row.get_purpose_display().lower(),
                    f"{row.dollars:,.2f}",
                    f"{row.calls:,}",
                    f"{row.calls_of_unknown_cost:,}",
                )
                for row in rows
            ]
            self.stdout.write("\n".join(["", *aligned(today_table)]))
        for row in without_price:
            self.stdout.write(
                f"The price of {row} ({row.spec}) is unknown: under a cap its calls are refused. Type a price on the "
                "model's page."
            )


def _add_cap(parser: CommandParser) -> None:
    parser.add_argument("period", choices=SpendingCap.Period.values, help="each day (UTC), or in all")


def _add_target(parser: CommandParser) -> None:
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--model", metavar="MODEL", help="PROVIDER:MODEL or a label; default: the site")
    target.add_argument("--study", metavar="NAME@VERSION", help="default: the site")


def _target(options: dict[str, Any]) -> tuple[str, str]:
    """Return the scope and the key that the options name."""
    if options["model"] is not None:
        return SpendingCap.Scope.MODEL, options["model"]
    if options["study"] is not None:
        return SpendingCap.Scope.STUDY, options["study"]
    return SpendingCap.Scope.SITE, ""


def _cap_json(state: CapState) -> dict[str, Any]:
    """Return a cap for --json."""
    cap = state.cap
    return {
        "scope": cap.scope,
        "key": cap.key,
        "period": cap.period,
        "dollars": cap.dollars,
        "spent": state.dollars,
        "reached": not state.left,
    }


def _row_json(row: DailySpend) -> dict[str, Any]:
    """Return a model's spending for --json."""
    return {
        "model": row.model_spec,
        "study": row.study_key,
        "purpose": row.purpose,
        "calls": row.calls,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cached_input_tokens": row.cached_input_tokens,
        "dollars": row.dollars,
        "calls_of_unknown_cost": row.calls_of_unknown_cost,
    }
