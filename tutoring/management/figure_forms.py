"""The forms in which commands print figures: text, one JSON document, or CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.core.management.base import CommandParser

F = TypeVar("F")


def add_figure_forms(parser: CommandParser) -> None:
    """Add --json and --csv, which exclude each other."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document to standard output")
    form.add_argument("--csv", action="store_true", help="print the figures as CSV to standard output")


def in_form(
    options: Mapping[str, Any],
    figures: F,
    *,
    text: Callable[[F], str],
    document: Callable[[F], Mapping[str, Any]],
    csv: Callable[[F], str],
) -> str:
    """Return the figures in the form that the options of `add_figure_forms` name."""
    if options["json"]:
        return json.dumps(document(figures), ensure_ascii=False)
    return csv(figures) if options["csv"] else text(figures)
