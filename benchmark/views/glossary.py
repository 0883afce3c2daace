"""The glossary page: the terms of docs/glossary.md, each with an anchor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from benchmark.rendering import render_markdown

DOCUMENT: Path = settings.BASE_DIR / "docs" / "glossary.md"

_TABLE_HEAD = re.compile(r"^\| term \|.*\n\|[ |-]+\n", re.MULTILINE)


@dataclass(frozen=True)
class GlossaryTerm:
    """One row of the glossary. `in_papers` is plain text, and empty if the papers have no such term."""

    name: str
    anchor: str
    meaning: SafeString
    in_papers: str


@dataclass(frozen=True)
class Glossary:
    """The introduction of docs/glossary.md as safe HTML, and its terms in the order of the document."""

    introduction: SafeString
    terms: tuple[GlossaryTerm, ...]


@login_not_required
@require_safe
def glossary_page(request: HttpRequest) -> HttpResponse:
    """Show the glossary. The page needs no login, because the footer of the login page links to it."""
    return render(request, "benchmark/glossary.html", {"glossary": glossary()})


@cache
def glossary() -> Glossary:
    """Return the content of docs/glossary.md. The file is read once per process."""
    introduction, rows = _TABLE_HEAD.split(DOCUMENT.read_text(encoding="utf-8"))
    paragraphs = introduction.partition("\n")[2]  # the page has a heading of its own
    return Glossary(_markup(paragraphs), tuple(_term(row) for row in rows.splitlines() if row))


def _term(row: str) -> GlossaryTerm:
    name, meaning, in_papers = (cell.strip() for cell in row.strip("|").split("|"))
    return GlossaryTerm(name, slugify(name), _markup(meaning), in_papers.strip("–"))


def _markup(text: str) -> SafeString:
    return mark_safe(render_markdown(text))  # noqa: S308 (render_markdown returns sanitised HTML)
