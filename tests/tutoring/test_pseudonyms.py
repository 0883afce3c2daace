"""Pseudonyms: one name per person in all records, even if SECRET_KEY changes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import ProtectedError
from django.utils.crypto import salted_hmac
from pytest_django import Settings

from accounts import pseudonyms
from accounts.actions import pseudonymise
from accounts.apps import create_rows
from accounts.models import PseudonymSalt
from accounts.pseudonyms import ensure_salt, pseudonym
from tests.tutoring.dialogues import RIGHT, SessionUnderTest
from tests.tutoring.review.readings import review

store_salt = import_module("tutoring.migrations.0009_pseudonym_salt").store_salt


def exported() -> dict[str, Any]:
    out = io.StringIO()
    call_command("export_trajectories", stdout=out)
    record: dict[str, Any] = json.loads(out.getvalue())
    return record


@pytest.fixture(autouse=True)
def other_tests_read_their_own_salt() -> Iterator[None]:
    yield
    pseudonyms._salt.cache_clear()


class TablesOfThatTime:
    """The tables at the time of the migration: tutoring had the salt, which accounts has now."""

    def get_model(self, app: str, name: str) -> Any:
        return PseudonymSalt if name == "PseudonymSalt" else apps.get_model(app, name)


@pytest.fixture
def migrated_from_secret_key(alice: User, settings: Settings) -> None:
    """A database whose pseudonyms came from SECRET_KEY, after the migration."""
    settings.SECRET_KEY = "first" * 10
    PseudonymSalt.objects.all().delete()
    store_salt(TablesOfThatTime(), None)
    ensure_salt()


@pytest.mark.usefixtures("sandbox")
def test_records_of_a_person_agree_after_secret_key_changed(
    migrated_from_secret_key: None, session: SessionUnderTest, rita: User, settings: Settings
):
    session.ask_and_get(RIGHT)
    before = exported()
    settings.SECRET_KEY = "second" * 10
    ensure_salt()  # a restarted process has no cached salt
    session.execute()
    session.judge()
    review(rita, "A2")
    after = exported()
    assert {event["by"] for event in after["events"]} - {""} == {after["tutor"]} == {before["tutor"]}
    settings.SECRET_KEY = "third" * 10
    ensure_salt()
    [kept] = exported()["reviews"]
    assert kept["by"] == pseudonym(rita) != after["tutor"]


def test_migration_keeps_the_pseudonyms_of_existing_exports(
    migrated_from_secret_key: None, alice: User, settings: Settings
):
    former = "person-" + salted_hmac("tutoring.pseudonym", str(alice.pk)).hexdigest()[:12]
    settings.SECRET_KEY = "second" * 10
    assert pseudonym(alice) == former


def test_fresh_database_has_a_salt_that_secret_key_does_not_tell(db: None):
    PseudonymSalt.objects.all().delete()
    store_salt(TablesOfThatTime(), None)
    ensure_salt()
    person = User.objects.create_user("zoe")
    derived = "person-" + salted_hmac("tutoring.pseudonym", str(person.pk)).hexdigest()[:12]
    assert pseudonym(person) != derived


def test_an_emptied_database_gets_another_salt(alice: User):
    """After `flush` the tables are prepared again, and no process uses the former salt."""
    before = pseudonym(alice)
    PseudonymSalt.objects.all().delete()
    create_rows()
    assert pseudonym(alice) != before
    ensure_salt()
    assert PseudonymSalt.objects.count() == 1


def test_salt_is_shown_nowhere(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    row = PseudonymSalt.objects.get()
    salt = bytes(row.salt)
    shown = json.dumps(exported()) + str(row) + repr(row)
    assert salt.hex() not in shown
    assert repr(salt)[2:-1] not in shown
    assert not admin.site.is_registered(PseudonymSalt)


def test_an_account_with_records_is_pseudonymised_and_never_deleted(session: SessionUnderTest, alice: User):
    session.ask_and_get(RIGHT)
    before = exported()
    with pytest.raises(ProtectedError):
        alice.delete()
    pseudonymise(alice, None)
    assert exported() == before
    alice.refresh_from_db()
    assert (alice.username, alice.is_active) == (before["tutor"], False)
    assert not alice.has_usable_password()
