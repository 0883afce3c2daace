"""Detector scores: the counts against reviewers' labels, and the messages of each count."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, reading, review, submit
from tutoring.checks.checking import check_session
from tutoring.models import Session

EXPLAINS = "You misunderstand the problem: it wants the minimum, not the maximum."
HARMLESS = "Look at the sample."


def checked(recorded: SessionFactory, *said: str) -> Session:
    """Return a checked session. Its first message is the prompt, which no detector reads."""
    session = recorded("Solve it.", *said)
    check_session(session)
    return session


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def rows(page: str) -> dict[tuple[str, str], str]:
    """Return the cells of each row as one text, by detector and clause."""
    found = {}
    for row in re.findall(r"<tr>\s*<th scope=.row.*?</tr>", page, re.DOTALL):
        text = " ".join(re.sub("<[^>]+>", " ", row).split())
        name = re.search(r'<th scope="row">(.*?)</th>', row)
        clause = re.search(r"<abbr[^>]*>(\w+)</abbr>", row)
        assert name, row
        assert clause, row
        found[name[1], clause[1]] = text
    return found


@pytest.mark.slow
def test_scores_count_common_findings_and_link_to_the_messages(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, rosa: User
):
    client = client_of(rosa)
    assert "No session is decided" in client.get("/review/detectors/").content.decode()
    checked(recorded, EXPLAINS, HARMLESS)  # both choose F3, and F1 for a message without detections
    for person in (rita, rolf):
        review(person, "A5", "F3", "F1")
    checked(recorded, EXPLAINS)  # neither chooses F3: a false positive
    for person in (rita, rolf):
        review(person, "A5", "A4")
    checked(recorded, EXPLAINS)  # they differ, and the adjudicator agrees with the detector
    review(rita, "A5", "F3")
    review(rolf, "A5", "A4")
    open_dispute = client.get("/review/detectors/").content.decode()
    assert "2 decided sessions" in open_dispute
    submit(claim(judy, adjudicates=True), reading(Session.objects.first(), "A5", "F3", comment="It does."))  # type: ignore[arg-type]

    page = client.get("/review/detectors/").content.decode()
    found = rows(page)
    expected = "Precision: 67 21 to 94 Recall: 100 34 to 100 Both: 2 Detector only: 1 Reviewers only: 0"
    assert expected in found["explanation", "F3"]
    assert expected in found["all detectors", "F3"]
    assert (
        "Precision: – Recall: 0 0 to 79 Both: 0 Detector only: 0 Reviewers only: 1"
        in (found["algorithm-naming", "F1"])
    )
    assert ("explanation", "F1") not in found, "a detector has no score on a clause that it cannot report"
    counts = re.findall(r'href="(/review/detectors/messages/\?[^"]+)">(\d+)<', page)
    assert len(counts) > 5
    for address, count in counts:
        listed = client.get(address.replace("&amp;", "&")).content.decode()
        assert f'class="soft">{count} message' in listed, address
    alone = client.get(
        "/review/detectors/messages/?detector=explanation&clause=F3&outcome=alone"
    ).content.decode()
    assert EXPLAINS in alone
    assert "#event-3" in alone


def test_invalidated_and_unchecked_sessions_are_excluded(
    recorded: SessionFactory, rita: User, rolf: User, rosa: User
):
    recorded("Solve it.", HARMLESS)  # never checked, so it counts no missed clause
    bad = checked(recorded, EXPLAINS)
    for _ in range(2):
        review(rita, "A5", "F3"), review(rolf, "A5", "F3")
    client = client_of(rosa)
    assert "Both: 1" in rows(client.get("/review/detectors/").content.decode())["explanation", "F3"]
    bad.refresh_from_db()
    Session.objects.filter(pk=bad.pk).update(invalidated=True)
    after = rows(client.get("/review/detectors/").content.decode())["explanation", "F3"]
    assert "Both: 0 Detector only: 0 Reviewers only: 0" in after


@pytest.mark.parametrize(
    "query", ["", "detector=x&clause=F3&outcome=agreed", "detector=explanation&clause=F3&outcome=x"]
)
def test_unknown_counts_are_refused(rosa: User, query: str):
    assert client_of(rosa).get(f"/review/detectors/messages/?{query}").status_code == 400
