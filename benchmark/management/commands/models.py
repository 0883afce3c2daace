"""manage.py models: list, add, change and test the models that sessions, runs and studies name."""

from __future__ import annotations

import asyncio
import json
from argparse import BooleanOptionalAction
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.roles import Role
from benchmark.management.arguments import day, dollars, positive
from benchmark.model_calls import catalogue
from benchmark.model_calls.caps import CapReachedError
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.model_tests import ask_model, open_account, record_cost
from benchmark.models import LanguageModel
from benchmark.providers import ModelSpecError, ProviderError
from judge.management.tables import aligned

_NUMBERS: dict[str, Callable[[str], float]] = {
    "temperature": float, "top_p": float, "max_output_tokens": int, "seed": int,
}  # fmt: skip


class Command(BaseCommand):
    help = (
        "List, add, change and test models. A model is a row with a provider, parameters, price and limits. After its "
        "first use its content no longer changes; a change is a new version. Keys and addresses stay in the "
        "environment (docs/models.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the list as one JSON document")
        actions = parser.add_subparsers(dest="action", metavar="ACTION", help="default: list all models")
        add = actions.add_parser("add", help="add a model")
        add.add_argument("label", metavar="LABEL", help="name for researchers")
        add.add_argument("spec", metavar="PROVIDER:MODEL", help="or PROVIDER@ENDPOINT:MODEL")
        version = actions.add_parser("new-version", help="copy a model with changes")
        _add_model(version)
        version.add_argument("--spec", metavar="PROVIDER:MODEL", help="default: as before")
        for changed in (add, version):
            _add_fields(changed)
        for name, help in (
            ("activate", "allow a model for new sessions, runs and studies"),
            ("deactivate", "refuse a model for new sessions, runs and studies"),
        ):
            _add_model(actions.add_parser(name, help=help))
        test = actions.add_parser(
            "test", help="ask a model one question, in this process; the call is paid for"
        )
        _add_model(test)
        test.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        act = {
            None: self._list,
            "add": self._add,
            "new-version": self._new_version,
            "activate": self._activate,
            "deactivate": self._activate,
            "test": self._test,
        }[options["action"]]
        try:
            act(options)
        except (CapReachedError, CatalogueError, ModelSpecError, ProviderError) as error:
            raise CommandError(str(error)) from None

    def _list(self, options: dict[str, Any]) -> None:
        rows = list(LanguageModel.objects.prefetch_related("tutors"))
        if options["json"]:
            self.stdout.write(json.dumps({"models": [_document(row) for row in rows]}, ensure_ascii=False))
            return
        if not rows:
            self.stdout.write(
                "There is no model yet. Add one with: manage.py models add LABEL PROVIDER:MODEL"
            )
            return
        table = [("label", "version", "model", "parameters", "price", "context", "cutoff", "state")]
        for row in rows:
            table.append(
                (
                    row.label,
                    str(row.version),
                    row.spec,
                    " ".join(f"{name}={_plain(value)}" for name, value in row.parameters.items())
                    or "default",
                    _price_text(row),
                    str(row.context_tokens or "unknown"),
                    str(row.cutoff or "unknown"),
                    ", ".join(_states(row)),
                )
            )
        self.stdout.write("\n".join(aligned(table)))

    def _add(self, options: dict[str, Any]) -> None:
        row = LanguageModel(label=options["label"], spec=options["spec"], **_fields(options, {}))
        with transaction.atomic():
            catalogue.add(row)
            if options["tutors"] is not None:
                row.tutors.set(_tutors(options["tutors"]))
        self.stdout.write(f"{row} is added.")

    def _new_version(self, options: dict[str, Any]) -> None:
        former = catalogue.find(options["model"])
        changes = _fields(options, former.parameters)
        if options["spec"]:
            changes["spec"] = options["spec"]
        with transaction.atomic():
            row = catalogue.new_version(former, **changes)
            if options["tutors"] is not None:
                row.tutors.set(_tutors(options["tutors"]))
        self.stdout.write(f"{row} is added. {former} stays as it is.")

    def _activate(self, options: dict[str, Any]) -> None:
        row = catalogue.find(options["model"])
        row.active = options["action"] == "activate"
        row.save(update_fields=["active"])
        self.stdout.write(f"{row} is {'active' if row.active else 'inactive'}.")

    def _test(self, options: dict[str, Any]) -> None:
        row = catalogue.find(options["model"])
        account = open_account(row)
        try:
            result = asyncio.run(ask_model(row, account.price))
        except ProviderError as error:
            record_cost(account, error)
            raise
        record_cost(account, result)
        if options["json"]:
            self.stdout.write(json.dumps(asdict(result), ensure_ascii=False))
            return
        first = "no text" if result.first_text is None else f"first text after {result.first_text:.2f} s"
        lines = [
            f"Reply: {result.text!r}",
            f"Time: {first}, {result.seconds:.2f} s in all",
            f"Tokens: {_known(result.input_tokens)} input, {_known(result.output_tokens)} output, "
            f"{_known(result.reasoning_tokens)} of them reasoning",
            f"Finish reason: {result.finish_reason}",
            f"Returned model: {result.model}",
            f"Cost: {'unknown' if result.cost is None else f'{result.cost:.6f} US dollars'}",
        ]
        self.stdout.write("\n".join(lines))


def _add_model(parser: CommandParser) -> None:
    parser.add_argument("model", metavar="LABEL[@VERSION]", help="default version: the newest")


def _add_fields(parser: CommandParser) -> None:
    """Add the options of a model's fields."""
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help=f"parameters: {', '.join(_NUMBERS)}, reasoning; none uses the provider's default",
    )
    parser.add_argument(
        "--extra", metavar="JSON", help="JSON object of further request fields; {} removes them"
    )
    parser.add_argument(
        "--context-tokens", type=positive, metavar="N", help="prompt and reply together, in tokens"
    )
    parser.add_argument(
        "--price",
        nargs=2,
        type=dollars,
        metavar=("INPUT", "OUTPUT"),
        help="US dollars for a million tokens; default: the listed price",
    )
    parser.add_argument(
        "--cached-price", type=dollars, metavar="INPUT", help="price of cached input; needs --price"
    )
    parser.add_argument("--cutoff", type=day, metavar="YYYY-MM-DD", help="last day of the training data")
    parser.add_argument(
        "--for-sessions",
        action=BooleanOptionalAction,
        default=None,
        help="whether sessions outside studies use it, if it is the newest such model",
    )
    parser.add_argument(
        "--tutors",
        nargs="*",
        metavar="USER",
        help="only the sessions of these tutors use it; none named: all",
    )


def _fields(options: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that the options set. Raises CommandError."""
    changed = dict(parameters)
    for assignment in options["set"]:
        name, value = _parameter(assignment)
        changed[name] = value
    if options["extra"] is not None:
        try:
            extra = json.loads(options["extra"])
        except ValueError as error:
            raise CommandError(f"--extra is not JSON: {error}.") from None
        changed["extra"] = None if extra == {} else extra
    columns: dict[str, Any] = {
        "parameters": {name: value for name, value in changed.items() if value is not None}
    }
    if options["cached_price"] is not None and options["price"] is None:
        raise CommandError("--cached-price needs --price INPUT OUTPUT.")
    if options["price"] is not None:
        typed = {"input": options["price"][0], "output": options["price"][1]}
        cached = options["cached_price"]
        columns["price"] = typed if cached is None else {**typed, "cached_input": cached}
    names = ("context_tokens", "cutoff", "for_sessions")
    return columns | {name: options[name] for name in names if options[name] is not None}


def _parameter(assignment: str) -> tuple[str, Any]:
    """Return name and value of a `name=value` text; None for the value `none`. Raises CommandError."""
    name, equals, text = assignment.partition("=")
    names = (*_NUMBERS, "reasoning")
    if not equals or name not in names:
        raise CommandError(f"{assignment!r} is not a parameter: write NAME=VALUE with {', '.join(names)}.")
    if text.lower() == "none":
        return name, None
    if name == "reasoning":
        return name, int(text) if text.isdecimal() else text
    try:
        return name, _NUMBERS[name](text)
    except ValueError:
        raise CommandError(f"{assignment}: {text!r} is not a number, or none.") from None


def _tutors(names: list[str]) -> list[User]:
    """Return the tutors of these user names. Raises CommandError."""
    found = {
        user.get_username(): user for user in User.objects.filter(username__in=names, groups__name=Role.TUTOR)
    }
    if unknown := [name for name in names if name not in found]:
        raise CommandError(f"No tutor has the user name {', '.join(unknown)}.")
    return list(found.values())


def _states(row: LanguageModel) -> list[str]:
    states = ["active" if row.active else "inactive", "used" if row.frozen_at else "not used"]
    if row.for_sessions:
        names = [user.get_username() for user in row.tutors.all()]
        states.append(f"for sessions of {', '.join(names) or 'all tutors'}")
    return states


def _price_text(row: LanguageModel) -> str:
    price = _price(row)
    return f"{price['input']:g} and {price['output']:g} ({price['source']})" if price else "unknown"


def _price(row: LanguageModel) -> dict[str, Any] | None:
    price = catalogue.known_price(row)
    return None if price is None else asdict(price)


def _document(row: LanguageModel) -> dict[str, Any]:
    """Return the row for --json."""
    return {
        "label": row.label,
        "version": row.version,
        "model": row.spec,
        "parameters": row.parameters,
        "context_tokens": row.context_tokens,
        "content_hash": row.content_hash,
        "price": _price(row),
        "cutoff": row.cutoff and row.cutoff.isoformat(),
        "active": row.active,
        "for_sessions": row.for_sessions,
        "tutors": [user.get_username() for user in row.tutors.all()],
        "automatic": row.automatic,
        "frozen_at": row.frozen_at and row.frozen_at.isoformat(),
    }


def _known(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _plain(value: object) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)
