"""The glossary page, for visitors without a login."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from benchmark.views.glossary import DOCUMENT, glossary


def test_a_visitor_without_a_login_reads_every_term_at_its_anchor(client: Client) -> None:
    response = client.get("/glossary/")
    assert response.status_code == 200
    page = response.content.decode()
    rows = re.findall(r"^\| ([^|]+) \| ", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)[2:]
    assert len(rows) > 50
    anchors = re.findall(r'<dt id="([^"]+)"><a href="#([^"]+)">([^<]+)</a></dt>', page)
    assert [name for _, _, name in anchors] == rows
    assert all(re.fullmatch(r"[a-z-]+", anchor) and anchor == target for anchor, target, _ in anchors)
    assert len({anchor for anchor, _, _ in anchors}) == len(rows)


def test_meanings_are_rendered_and_the_papers_word_is_given_where_it_differs(client: Client) -> None:
    page = client.get("/glossary/").content.decode()
    assert "such as <code>zero-shot</code> or <code>reflexion</code>" in page
    assert "In the papers: reference oracle" in page
    assert "In the papers: verifier" not in page
    assert "In the papers: –" not in page


def test_the_document_is_read_once(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    glossary.cache_clear()
    read = []
    original = Path.read_text

    def count(self: Path, *arguments: str | None, **keywords: str | None) -> str:
        read.append(self)
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(Path, "read_text", count)
    client.get("/glossary/")
    client.get("/glossary/")
    assert read.count(DOCUMENT) == 1


@pytest.mark.django_db
def test_every_page_links_to_the_glossary(client: Client) -> None:
    link = f'<a href="{reverse("glossary")}">Glossary</a>'
    assert link in client.get("/login/").content.decode()
    client.force_login(User.objects.create_superuser("ada"))
    for address in ("/problems/", "/runs/", "/codebook/", "/nothing/"):
        assert link in client.get(address).content.decode()


def test_only_reading_is_allowed(client: Client) -> None:
    assert client.post("/glossary/").status_code == 405
