"""The pages of rejudgings: the plan of a selection, the request, the comparison and the decision."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from benchmark.judging import perform_all
from benchmark.models import Problem, Rejudging
from tests.problems import HIDDEN_INPUT
from tests.tutoring.dialogues import SessionUnderTest
from tests.tutoring.rejudging.corrections import (
    DOUBLE,
    TRIPLE,
    correct,
    hold,
    judged_again,
    store_run,
    verdicts,
)
from tests.tutoring.review.browsing import client_of
from tutoring.rejudging.selection import Selection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]
LIST = "/runs/rejudgings/"


def test_an_admin_requests_and_applies_a_rejudging(doubling: Problem, ada: User):
    run = store_run(doubling, DOUBLE, TRIPLE)
    correct(doubling)
    browser = client_of(ada)
    plan = browser.get(LIST, {"problem": "practice/doubling"}).content.decode()
    assert "4 in 1 run, 0 sessions and 0 studies" in plan
    assert "Judge again" in plan
    answer = browser.post(f"{LIST}start/", {"problem": "practice/doubling", "reason": "Answers corrected"})
    rejudging = Rejudging.objects.get()
    assert answer.headers["Location"] == rejudging.get_absolute_url()
    assert (rejudging.requested_by, rejudging.reason) == (ada, "Answers corrected")
    waiting = browser.get(rejudging.get_absolute_url()).content.decode()
    assert "4 of 4 programs wait for a worker" in waiting
    assert "Apply new verdicts" not in waiting
    perform_all(rejudging, 1, lambda: None)
    page = browser.get(rejudging.get_absolute_url()).content.decode()
    assert "2 of 4 verdicts change" in page
    assert "Apply new verdicts" in page
    assert reverse("run", args=[run.pk]) in page
    assert reverse("chain", args=[run.items.get(chain=0).pk]) in page
    assert str(HIDDEN_INPUT) not in page.replace(f"hidden-{HIDDEN_INPUT}", "")
    browser.post(f"{rejudging.get_absolute_url()}decide/", {"decision": "apply"})
    assert verdicts(run) == ["WA", "AC"]
    chain = browser.get(reverse("chain", args=[run.items.get(chain=0).pk])).content.decode()
    assert "former verdict AC, which the chain saw" in chain
    assert "Verdicts replaced" in browser.get(reverse("run", args=[run.pk])).content.decode()


def test_a_researcher_reads_and_does_not_decide(doubling: Problem, rosa: User):
    run = store_run(doubling, DOUBLE)
    correct(doubling)
    rejudging = judged_again(Selection(runs=(run,)))
    browser = client_of(rosa)
    assert "Judge again" not in browser.get(LIST, {"run": str(run.pk)}).content.decode()
    page = browser.get(rejudging.get_absolute_url())
    assert page.status_code == 200
    assert "Apply new verdicts" not in page.content.decode()
    for address, fields in (
        (f"{LIST}start/", {"run": str(run.pk), "reason": "x"}),
        (f"{rejudging.get_absolute_url()}decide/", {"decision": "apply"}),
        (f"{rejudging.get_absolute_url()}decide/", {"decision": "discard"}),
    ):
        assert browser.post(address, fields).status_code == 403
    rejudging.refresh_from_db()
    assert rejudging.state == Rejudging.State.OPEN


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("problem", "practice/nine", "There is no problem practice/nine"),
        ("dataset", "nine", "There is no dataset nine"),
        ("run", "nine", "There is no run nine"),
        ("study", "nine@2", "There is no study nine@2"),
        ("session", "nine", "There is no session nine"),
    ],
)
def test_an_unknown_name_is_refused_in_words(rosa: User, field: str, value: str, sentence: str):
    answer = client_of(rosa).get(LIST, {field: value})
    assert answer.status_code == 200
    assert sentence in answer.content.decode()


def test_a_decision_that_is_refused_says_why(doubling: Problem, ada: User):
    run = store_run(doubling, DOUBLE)
    correct(doubling)
    rejudging = judged_again(Selection(runs=(run,)))
    correct(doubling, 5)
    browser = client_of(ada)
    address = f"{rejudging.get_absolute_url()}decide/"
    answer = browser.post(address, {"decision": "apply"}, follow=True)
    assert "changed after the programs were judged" in answer.content.decode()
    assert browser.post(address, {"decision": "maybe"}).status_code == 400
    assert browser.post(f"{LIST}999/decide/", {"decision": "apply"}).status_code == 404
    assert browser.post(f"{LIST}start/", {"problem": "practice/doubling", "reason": ""}).status_code == 302
    assert Rejudging.objects.count() == 1


def test_readers_of_a_trajectory_see_both_verdicts_and_the_tutor_the_former_one(
    session: SessionUnderTest, doubling: Problem, ada: User, rita: User, alice: User
):
    hold(session, DOUBLE)
    before = client_of(alice).get(f"/sessions/{session.pk}/").content.decode()
    correct(doubling)
    rejudging = judged_again(Selection(sessions=(session.row,)))
    client_of(ada).post(f"{rejudging.get_absolute_url()}decide/", {"decision": "apply"})
    page = client_of(rita).get(f"/trajectories/{session.pk}/").content.decode()
    assert "Judged again" in page
    assert "The tutor saw the verdict above" in page
    assert "The answers were wrong." in page
    mine = client_of(alice).get(f"/sessions/{session.pk}/").content.decode()
    assert "Judged again" not in mine
    assert "The answers were wrong." not in mine
    assert mine.count("solved") == before.count("solved")
    assert "not solved" not in client_of(alice).get("/sessions/").content.decode()
