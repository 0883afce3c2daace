"""Private notes: only their tutor reads them, on two pages and in one export (also tests/config/test_reads.py)."""

from __future__ import annotations

import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from accounts.roles import Role
from benchmark.models import Problem
from tests.benchmark.reports.conftest import make_run  # noqa: F401  a fixture
from tests.config.test_reads import arguments  # noqa: F401  a fixture
from tests.tutoring.dialogues import RIGHT, SessionUnderTest
from tests.tutoring.review.browsing import client_of
from tutoring.models import Consent, Event, PrivateNote, Reply, Session, Study

SECRET = "THE-WORDS-OF-A-PRIVATE-NOTE"


def test_note_is_saved_and_shown_to_its_tutor_beside_the_problem(
    alice: User, bob: User, session: SessionUnderTest
):
    problem = session.row.problem
    assert problem is not None
    client, address = client_of(alice), f"/notes/{problem.pk}/"
    answer = client.post(address, {"text": SECRET}, headers={"Accept": "application/json"})
    assert answer.json() == {"accepted": True}
    for page in (problem.get_absolute_url(), f"/sessions/{session.pk}/"):
        assert SECRET in client.get(page).content.decode(), page
        assert SECRET not in client_of(bob).get(page).content.decode(), page
    assert client.post(address, {"text": "Shorter"}).status_code == 302, "a plain form returns to the problem"
    assert PrivateNote.objects.get().text == "Shorter"
    refused = client.post(address, {"text": "x" * 100_001}, headers={"Accept": "application/json"})
    assert (refused.status_code, refused.json()["accepted"]) == (400, False)
    assert client.post("/notes/0/", {"text": "x"}).status_code == 404


@pytest.mark.slow
def test_no_command_exports_a_note(
    visitors: dict[str, Client],
    arguments: dict[str, dict[str, Any]],  # noqa: F811
    tmp_path: Path,
):
    tutor = User.objects.get(username=Role.TUTOR)
    for problem in Problem.objects.all():
        PrivateNote.objects.create(person=tutor, problem=problem, text=SECRET)
    written = StringIO()
    for form in ("jsonl", "csv", "html", "inspect", "datasets"):
        folder = None if form in ("jsonl", "csv") else tmp_path / form
        call_command("export_trajectories", format=form, output=folder, stdout=written)
    assert Session.objects.filter(tutor=tutor).exists()
    study = Study.objects.get()
    call_command("study", "export", study.name, output=tmp_path / "study", stdout=written)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for path in files:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                written.writelines(archive.read(name).decode(errors="replace") for name in archive.namelist())
        written.write(path.read_bytes().decode(errors="replace"))
    assert SECRET not in written.getvalue()


@pytest.mark.slow
def test_no_admin_page_shows_a_note(
    admin_client: Client, alice: User, doubling: Problem, session: SessionUnderTest
):
    session.ask_and_get(RIGHT)
    PrivateNote.objects.create(person=alice, problem=doubling, text=SECRET)
    assert PrivateNote not in site._registry
    with_rows = set()
    for model in site._registry:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        row = model._default_manager.first()
        if row is not None:
            with_rows.add(model)
        for page in ("", *((f"{row.pk}/change/", f"{row.pk}/delete/", f"{row.pk}/history/") if row else ())):
            assert SECRET not in admin_client.get(f"{base}{page}").content.decode(), f"{base}{page}"
    assert with_rows >= {Consent, Event, Problem, Reply, Session}
