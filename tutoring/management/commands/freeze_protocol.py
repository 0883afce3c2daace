"""`manage.py freeze_protocol`: create a protocol with other settings than a preset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.model_calls import catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.providers import ModelSpecError
from judge import LANGUAGES
from tutoring.protocols import PRESETS, Rules, freeze
from tutoring.rules import current_rule_set

SETTINGS = (
    "language", "code_generations", "sessions", "stops", "tutor_sees", "tutor_may_say", "uninvited_code",
    "draft_check", "debrief", "hide_model", "show_growth", "sample_runs", "ask_level",
    "level_cap", "model_drafts", "draft_model", "draft_knows", "checker_model", "characters_per_second",
    "seconds_to_first_word", "maximum_seconds_shown",
)  # fmt: skip

_FIELDS = {field.serialization_alias or name: name for name, field in Rules.model_fields.items()}
"""Fields of Rules by their stored names."""


class Command(BaseCommand):
    help = (
        "Freeze a preset with other settings under a name. An existing name gets a new version if anything changed. "
        "Tutors choose among the newest versions; started sessions keep their version."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="letters, digits, - and _; an existing name gets a new version")
        parser.add_argument("--title", required=True, help="title that tutors read")
        parser.add_argument(
            "--preset", choices=sorted(PRESETS), default="usaco-2024", help="preset to start from"
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"one of: {', '.join(SETTINGS)} (docs/researcher.md)",
        )
        parser.add_argument(
            "--consent",
            type=Path,
            metavar="FILE",
            help="consent text as Markdown; an empty file: no consent is required",
        )
        parser.add_argument("--json", action="store_true", help="print the protocol as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        changes: dict[str, Any] = {"title": options["title"]}
        for setting in options["set"]:
            name, _, text = setting.partition("=")
            value = read_setting(name, text)
            changes[_FIELDS[name]] = value
        if options["consent"] is not None:
            try:
                changes["consent"] = options["consent"].read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise CommandError(f"The consent text cannot be read: {error}.") from None
        if not options["name"].replace("-", "").replace("_", "").isalnum() or len(options["name"]) > 80:
            raise CommandError(
                f"{options['name']!r} is not a valid name: use up to 80 letters, digits, - and _."
            )
        rules = PRESETS[options["preset"]].with_settings(**changes)
        if rules.checker_model and rules.draft_check == "off":
            raise CommandError("checker_model needs a draft check: draft_check=advisory or blocking.")
        protocol = freeze(options["name"], rules)
        if options["json"]:
            content = {
                "name": protocol.name,
                "version": protocol.version,
                "content_hash": protocol.content_hash,
            }
            self.stdout.write(json.dumps(content | {"rules": protocol.rules}, ensure_ascii=False))
        else:
            self.stdout.write(f"{protocol} is frozen (sha256 {protocol.content_hash[:12]}).")


def read_setting(name: str, text: str) -> Any:
    """Return the value of a setting from its text. Raises CommandError, which lists the valid values."""
    if name not in SETTINGS:
        raise CommandError(f"There is no setting {name!r}. There are: {', '.join(SETTINGS)}.")
    kind = Rules.model_fields[_FIELDS[name]].annotation
    if name == "language":
        values: dict[str, Any] = {language: language for language in LANGUAGES}
    elif name in ("draft_model", "checker_model"):
        return _model_name(name, text)
    elif name == "level_cap":
        values = {"none": None} | {str(one.level): one.level for one in current_rule_set().levels}
    elif kind is bool:
        values = {"true": True, "false": False}
    elif choices := [choice for choice in get_args(kind) if isinstance(choice, str)]:
        values = {choice: choice for choice in choices}
    elif (text.isdecimal() and 0 < int(text) < 10_000) or (text == "0" and kind is int):
        return int(text)
    elif type(None) in get_args(kind) and text == "none":
        return None
    else:
        raise CommandError(
            f"{name} must be a whole number below 10000{'' if kind is int else ', or none'}, not {text!r}."
        )
    if text not in values:
        raise CommandError(f"{name} must be one of: {', '.join(values)}; not {text!r}.")
    return values[text]


def _model_name(setting: str, text: str) -> str:
    """Return the name of a model as the protocol stores it: the row's version, or `provider:model`; blank for "none".

    Raises CommandError for an unknown or inactive model.
    """
    if text == "none":
        return ""
    try:
        spec, row = catalogue.choose(text)
    except (CatalogueError, ModelSpecError) as error:
        raise CommandError(f"{setting}: {error}") from None
    if row is None:
        return str(spec)
    catalogue.freeze(row)
    return f"{row.label}@{row.version}"
