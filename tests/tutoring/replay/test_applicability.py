"""Blind labels of hints at other programs: which are labelled, by whom, until when, and what they change."""

from __future__ import annotations

import asyncio
import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.pseudonyms import pseudonym
from accounts.roles import Role
from benchmark.model_calls import Stop
from benchmark.model_calls.requests import RequestMonitor, SpendTracker
from benchmark.models import Problem
from tests.tutoring.arms.arm_rows import store_problems
from tests.tutoring.replay.replay_rows import store_replay
from tutoring.models import ApplicabilityLabel, AuditEntry, HintCard, Placement, ReplayRun, Session
from tutoring.replay.applicability import (
    ENOUGH_LABELS,
    LABELS_FIXED,
    NOT_TO_LABEL,
    OWN_SESSION,
    LabelApplicability,
    label_figures,
    label_orders,
    missing_labels,
    waiting_for,
    with_label,
)
from tutoring.replay.drawing import execute
from tutoring.replay.estimates import Fit
from tutoring.replay.figures import figures_of
from tutoring.replay.records import to_records
from tutoring.replay.withdrawal import erase_replays
from tutoring.sessions.context import RefusedError

pytestmark = pytest.mark.django_db


def person(name: str, *roles: Role) -> User:
    user = User.objects.create_user(name)
    user.groups.set(Group.objects.filter(name__in=roles))
    return user


@pytest.fixture
def rita() -> User:
    return person("rita", Role.REVIEWER)


@pytest.fixture
def rolf() -> User:
    return person("rolf", Role.ADJUDICATOR)


@pytest.fixture
def problems() -> list[Problem]:
    return store_problems(6)


@pytest.fixture
def fixed(problems: list[Problem]) -> ReplayRun:
    """Return a replay of own programs before its first draw, whose first three placements are to be labelled."""
    run = store_replay(problems, mode="own", state="fixed")
    for order, placement in enumerate(Placement.objects.order_by("pk")[:3]):
        placement.label_order = 2 - order
        placement.save()
    return run


def label(reviewer: User, placement: Placement, value: str = "yes") -> None:
    LabelApplicability(person=reviewer, command=uuid4(), placement_id=placement.pk, value=value).execute()


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_all_near_placements_and_a_fifth_of_the_others_are_labelled_in_a_random_order():
    counts: dict[Fit, int] = {"near": 7, "other": 10, "same": 6, "unknown": 5}
    fits = [fit for fit, count in counts.items() for _ in range(count)]
    orders = label_orders(fits, 307)
    assert orders == label_orders(fits, 307)
    assert orders != label_orders(fits, 308)
    chosen = [order for order in orders if order is not None]
    assert sorted(chosen) == list(range(7 + 5)), "21 others: 20 % are 4.2, rounded up"
    assert None not in orders[:7]
    assert chosen != sorted(chosen)


def test_two_reviewers_label_a_placement_and_no_third(fixed: ReplayRun, rita: User, rolf: User):
    third = person("third", Role.REVIEWER)
    first = waiting_for(rita)[0]
    assert first.label_order == 0
    assert missing_labels(fixed) == (3, 3)
    label(rita, first)
    assert first not in waiting_for(rita)
    assert first in waiting_for(rolf)
    label(rolf, first, "no")
    assert first not in waiting_for(third)
    assert missing_labels(fixed) == (2, 3)
    with pytest.raises(RefusedError, match=ENOUGH_LABELS):
        label(third, first)
    assert list(first.labels.values_list("by", "value")) == [
        (pseudonym(rita), "yes"),
        (pseudonym(rolf), "no"),
    ]
    assert AuditEntry.objects.filter(action="LabelApplicability").count() == 2


def test_a_label_can_be_changed_until_the_first_draw_and_never_after_it(
    fixed: ReplayRun, rita: User, rolf: User
):
    placement = waiting_for(rita)[0]
    label(rita, placement, "no")
    label(rita, placement, "partly")
    assert [one.value for one in placement.labels.all()] == ["partly"]
    for state in ("open", "stopped", "finished"):
        ReplayRun.objects.update(state=state)
        for reviewer in (rita, rolf):
            with pytest.raises(RefusedError, match=LABELS_FIXED):
                label(reviewer, placement, "yes")
        assert not waiting_for(rolf)
        with pytest.raises(TypeError, match="after the first draw"):
            placement.labels.update_or_create(reviewer=rita, defaults={"value": "yes"})
    assert [one.value for one in placement.labels.all()] == ["partly"]


@pytest.mark.django_db(transaction=True)
def test_the_execution_fixes_the_labels_before_it_requests_a_draw(problems: list[Problem]):
    run = store_replay(problems, mode="own", state="fixed")
    assert run.state == ReplayRun.State.FIXED
    stop = Stop()
    asyncio.run(execute(run, SpendTracker.of_run(run), RequestMonitor(stop, *[lambda *_: None] * 3)))
    assert ReplayRun.objects.get().state == ReplayRun.State.OPEN


def test_people_without_the_role_tutors_of_the_hint_and_other_placements_are_refused(
    fixed: ReplayRun, rita: User
):
    placement = waiting_for(rita)[0]
    with pytest.raises(PermissionDenied):
        label(person("researcher", Role.RESEARCHER), placement)
    session = placement.card.event.session
    session.tutor = rita
    session.save()
    assert placement not in waiting_for(rita)
    with pytest.raises(RefusedError, match=OWN_SESSION):
        label(rita, placement)
    session.tutor, session.origin = None, Session.Origin.IMPORTED
    session.source = {"head": {"tutor": pseudonym(rita)}}
    session.save()
    assert placement not in waiting_for(rita)
    with pytest.raises(RefusedError, match=OWN_SESSION):
        label(rita, placement)
    with pytest.raises(RefusedError, match=NOT_TO_LABEL):
        label(rita, Placement.objects.get(pk=Placement.objects.order_by("-pk")[0].pk))
    with pytest.raises(RefusedError, match="Choose one of: yes, partly, no"):
        label(rita, waiting_for(rita)[0], "perhaps")
    assert not ApplicabilityLabel.objects.exists()


def test_the_page_is_blind_and_leads_through_the_queue(fixed: ReplayRun, rita: User):
    client = client_of(rita)
    placement = waiting_for(rita)[0]
    page = client.get("/review/hints/").content.decode()
    assert "Look at the sample." in page
    assert "3 to label" in page
    assert placement.card.problem.title in page
    for hidden in (fixed.model_spec, "neutral", "sham", "near", "other", "σ", str(fixed.pk)):
        assert not re.search(rf"\b{re.escape(hidden)}\b", page.partition("<main")[2]), hidden
    assert "Hints to label" in client.get("/review/").content.decode()
    answer = client.post(f"/review/hints/{placement.pk}/", {"command": uuid4(), "value": "partly"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/review/hints/")
    page = client.get("/review/hints/").content.decode()
    assert "2 to label" in page
    assert f"?placement={placement.pk}" in page
    assert "Change label" in client.get(f"/review/hints/?placement={placement.pk}").content.decode()
    ReplayRun.objects.update(state="open")
    assert client.get(f"/review/hints/?placement={placement.pk}").status_code == 404
    refused = client.post(f"/review/hints/{placement.pk}/", {"command": uuid4(), "value": "no"}, follow=True)
    assert LABELS_FIXED in refused.content.decode()
    assert "No hint needs your label." in refused.content.decode()
    assert placement.labels.get().value == "partly"


def test_another_reviewer_does_not_see_a_label(fixed: ReplayRun, rita: User, rolf: User):
    placement = waiting_for(rita)[0]
    label(rita, placement, "partly")
    assert client_of(rolf).get(f"/review/hints/?placement={placement.pk}").status_code == 404
    assert "Your labels" not in client_of(rolf).get("/review/hints/").content.decode()


def test_no_page_shows_a_researcher_who_also_reviews_the_label_of_another_reviewer(
    fixed: ReplayRun, rita: User
):
    placement = waiting_for(rita)[0]
    label(rita, placement, "partly")
    both = client_of(person("both", Role.REVIEWER, Role.RESEARCHER))
    page = both.get(fixed.get_absolute_url()).content.decode()
    assert "1 of 2" in page
    assert "partly" not in page
    assert "6 in total" in both.get(f"{fixed.get_absolute_url()}?label=different").content.decode()
    assert "3 in total" in both.get(f"{fixed.get_absolute_url()}?label=missing").content.decode()
    ReplayRun.objects.update(state="open")
    assert "partly" in both.get(fixed.get_absolute_url()).content.decode()


def test_labels_decide_which_other_programs_a_hint_fits_and_are_shown_with_their_rows(
    fixed: ReplayRun, rita: User, rolf: User
):
    one, two, three = waiting_for(rita)
    for placement, values in ((one, ("yes", "yes")), (two, ("no", "partly")), (three, ("no",))):
        for reviewer, value in zip((rita, rolf), values, strict=False):
            label(reviewer, placement, value)
    assert figures_of(fixed)["portability"]["mean"] == pytest.approx(1 / 6)
    found = figures_of(fixed)["labels"]
    assert found["table"] == {"other": {"yes": 1, "partly": 0, "no": 0, "different": 1, "missing": 1}}
    assert found["pairs"] == 2
    rows = Placement.objects.all()
    assert [list(with_label(rows, kind)) for kind in ("yes", "different", "missing", "no")] == [
        [one], [two], [three], [],
    ]  # fmt: skip
    fixed.figures, fixed.state = figures_of(fixed), "finished"
    fixed.save()
    page = client_of(person("researcher", Role.RESEARCHER)).get(fixed.get_absolute_url()).content.decode()
    assert "Labels of reviewers" in page
    address = f"{fixed.get_absolute_url()}?fit=other&label=different"
    only = client_of(User.objects.get(username="researcher")).get(address).content.decode()
    assert "1 in total" in only


def test_the_agreement_of_the_reviewers_is_ordinal_alpha():
    rows = [(str(number % 3), "near", ("yes", "yes") if number % 2 else ("no", "no")) for number in range(12)]
    found = label_figures(rows)
    assert found is not None
    assert found.alpha == pytest.approx(1.0)
    assert found.alpha_interval == pytest.approx((1.0, 1.0))
    assert label_figures([]) is None
    unlabelled = label_figures([("1", "near", ())])
    assert unlabelled is not None
    assert (unlabelled.alpha, unlabelled.pairs) == (None, 0)


def test_exports_hold_the_fixed_labels_under_pseudonyms(fixed: ReplayRun, rita: User):
    placement = waiting_for(rita)[0]
    label(rita, placement, "partly")
    [card] = to_records(placement.card.event.session)
    assert card["placements"][0]["labels"] == [], "it can still change, and another reviewer may still label"
    ReplayRun.objects.update(state="open")
    [card] = to_records(placement.card.event.session)
    [exported] = card["placements"][0]["labels"]
    assert (exported["by"], exported["value"]) == (pseudonym(rita), "partly")
    assert "rita" not in str(card)


def test_an_erased_session_loses_its_labels(fixed: ReplayRun, rita: User):
    placement = waiting_for(rita)[0]
    label(rita, placement)
    erase_replays([placement.card.event.session_id])
    assert not ApplicabilityLabel.objects.exists()
    assert not HintCard.objects.filter(pk=placement.card_id).exists()


def test_a_resumption_with_missing_labels_is_refused_before_a_call(fixed: ReplayRun):
    with pytest.raises(CommandError, match=r"3 of 3 placements lack a label.*--unlabelled"):
        call_command("replay", "--resume", str(fixed.pk))
    assert ReplayRun.objects.get().state == ReplayRun.State.FIXED
