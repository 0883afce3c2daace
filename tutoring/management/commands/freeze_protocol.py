"""`manage.py freeze_protocol`: a protocol of one's own, for sessions that begin from now on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judge import LANGUAGES
from tutoring.protocols import PRESETS, Rules, freeze

SETTINGS = (
    "language", "code_generations", "sessions", "stops", "tutor_sees", "tutor_may_say", "uninvited_code",
    "draft_check", "debrief", "characters_per_second", "seconds_to_first_word",
)  # fmt: skip


class Command(BaseCommand):
    help = (
        "Freeze a preset with other settings under a name: a new version of it, unless nothing has changed. Tutors "
        "choose among the newest versions; sessions that were begun keep theirs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="letters, digits, - and _; an existing name gets a new version")
        parser.add_argument("--title", required=True, help="what tutors read")
        parser.add_argument(
            "--preset", choices=sorted(PRESETS), default="usaco-2024", help="what it is based on"
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
            help="the text to agree to, as Markdown; an empty file: none",
        )
        parser.add_argument("--json", action="store_true", help="print the protocol as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        changes: dict[str, Any] = {"title": options["title"]}
        for setting in options["set"]:
            name, _, text = setting.partition("=")
            changes[name] = read_setting(name, text)
        if options["consent"] is not None:
            try:
                changes["consent"] = options["consent"].read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise CommandError(f"The text of the consent cannot be read: {error}.") from None
        if not options["name"].replace("-", "").replace("_", "").isalnum() or len(options["name"]) > 80:
            raise CommandError(f"{options['name']!r} is no name: use up to 80 letters, digits, - and _.")
        protocol = freeze(options["name"], replace(PRESETS[options["preset"]], **changes))
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
    """The value of a setting as typed. Raises CommandError with what it may be."""
    if name not in SETTINGS:
        raise CommandError(f"There is no setting {name!r}. There are: {', '.join(SETTINGS)}.")
    kind = get_type_hints(Rules)[name]
    if name == "language":
        values: dict[str, Any] = {language: language for language in LANGUAGES}
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
