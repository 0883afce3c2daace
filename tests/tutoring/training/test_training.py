"""The training: messages, scores and their visibility."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from benchmark.models import Problem
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tutoring.models import AuditEntry, Session, TrainingResult
from tutoring.rules import current_rule_set
from tutoring.training.material import material

GOLD = {f"clause-{message.number}": sorted(message.clauses) for message in material().messages}


def fields_of(page: str, action: str) -> dict[str, str]:
    """Return the hidden fields of a form."""
    [form] = re.findall(rf'<form[^>]*action="{action}".*?</form>', page, re.DOTALL)
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_ten_messages_have_labels_of_the_current_codebook_and_a_reason():
    assert len(material().messages) == 10
    assert material().rules == current_rule_set(), "relabel the messages for a new codebook"
    known = {clause.code for clause in material().rules.clauses}
    for message in material().messages:
        assert message.clauses
        assert message.clauses <= known
        assert message.reason


def test_labels_are_compared_with_the_codebook_and_the_score_is_stored(alice: User, bob: User, ada: User):
    client = client_of(alice)
    form = GOLD | {"clause-2": ["A4"], "clause-5": ["F1", "F2"], "command": str(uuid4())}
    for _ in range(2):  # submitted twice
        answer = client.post("/training/finish/", form)
    result = TrainingResult.objects.get()
    assert (result.right, result.messages, result.person) == (8, 10, alice)
    page = client.get(answer["Location"]).content.decode()
    assert "Training result: 8 of 10 correct" in page
    assert "F2 Points at the exact code" in page, "a code alone says little"
    for message in material().messages:
        assert (message.reason in page.replace("&#x27;", "'")) == (message.number in (2, 5))
    assert AuditEntry.objects.get().action == "FinishTraining"
    assert client_of(bob).get(answer["Location"]).status_code == 404
    assert client_of(bob).get("/training/results/").status_code == 403
    listed = client_of(ada).get("/training/results/").content.decode()
    assert "alice" in listed
    assert "8 of 10" in listed
    assert client_of(ada).get("/review/audit/").status_code == 200


def test_an_unlabelled_message_is_named_and_the_chosen_labels_stay(alice: User):
    form = {**GOLD, "clause-3": [], "command": str(uuid4())}
    page = client_of(alice).post("/training/finish/", form).content.decode()
    assert "missing: 3." in page
    assert page.count(" checked") == 9
    assert not TrainingResult.objects.exists()
    foreign = client_of(alice).post("/training/finish/", form | {"clause-3": ["F9"]}).content.decode()
    assert "Every label must be a clause" in foreign


@pytest.mark.usefixtures("sandbox")
@override_settings(TUTORING_MODEL="openai:gpt-4o")  # the training ignores the site's model
def test_the_guided_session_uses_the_practice_student_and_shows_its_progress(
    doubling: Problem, alice: User, rita: User
):

    client = client_of(alice)
    Problem.objects.filter(pk=doubling.pk).update(external_id=material().problem)
    page = client.get("/training/").content.decode()
    assert ">done<" not in page
    form = fields_of(page, "/sessions/start/")
    page = client.post("/sessions/start/", form).content.decode()
    assert "Before your first session" in page
    client.post("/sessions/start/", fields_of(page, "/sessions/start/"))
    session = SessionUnderTest(Session.objects.get(tutor=alice), alice)
    assert session.row.model_spec == "practice:student"
    page = client.get("/training/").content.decode()
    assert page.count(">done<") == 1
    assert f"/sessions/{session.pk}/" in page
    session.ask_and_get(WRONG)
    session.say("What does the sample say?", mode="talk")
    session.reply("Six.")
    assert client.get("/training/").content.decode().count(">done<") == 3
    session.ask_and_get(RIGHT)
    session.execute()
    page = client.get("/training/").content.decode()
    assert "The session waits for the verdict." in page
    assert f"/sessions/{session.pk}/" in page
    session.judge()
    assert "The guided session is complete" in client.get("/training/").content.decode()
    for _ in range(3):  # more often than the protocol allows
        repeat = fields_of(client.get("/training/").content.decode(), "/sessions/start/")
        client.post("/sessions/start/", repeat)
        Session.objects.filter(tutor=alice).update(state=Session.State.CLOSED)
    assert Session.objects.filter(tutor=alice).count() == 4
    assert "guided session" not in client_of(rita).get("/training/").content.decode().lower(), (
        "reviewers hold none"
    )
