"""Assignment of many sessions at once: the filter, the even plan, and the command with its bad input."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from hypothesis import given
from hypothesis import strategies as st

from accounts.pseudonyms import pseudonym
from accounts.roles import Role
from benchmark.models import LanguageModel, Problem
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, SessionUnderTest
from tests.tutoring.review.browsing import client_of
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, review, submit
from tutoring.models import Assignment, AuditEntry, Review, Session, Study
from tutoring.review import bulk_assignment
from tutoring.review.bulk_assignment import AssignMatching, OpenSession, SessionFilter, spread
from tutoring.review.content import Content, MessageLabels
from tutoring.rules import current_rule_set
from tutoring.sessions.context import RefusedError


def assign(
    admin: User, *reviewers: User, expected: int, selection: SessionFilter | None = None, most: int = 2
) -> UUID:
    command = uuid4()
    AssignMatching(
        person=admin,
        command=command,
        selection=selection or SessionFilter(),
        reviewers=reviewers,
        most=most,
        expected=expected,
    ).execute()
    return command


def pairs() -> set[tuple[UUID, str]]:
    """Return the sessions and reviewers of the open reviews."""
    return set(Review.objects.filter(state="open").values_list("session_id", "reviewer__username"))


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[OpenSession], list[int]]:
    people = draw(st.lists(st.integers(1, 9), unique=True, max_size=6))
    barred = st.frozensets(st.sampled_from(people), max_size=2) if people else st.just(frozenset())
    slots = st.sampled_from([(1, 2), (1,), (2,)])
    rows = draw(st.lists(st.tuples(slots, barred), max_size=12))
    return [OpenSession(UUID(int=n), free, no) for n, (free, no) in enumerate(rows)], people


@pytest.mark.slow
@given(crowds(), st.sampled_from([1, 2]))
def test_a_plan_takes_each_person_once_in_a_session_and_nobody_who_is_excluded(
    crowd: tuple[list[OpenSession], list[int]], most: int
):
    sessions, people = crowd
    plan = spread(sessions, people, most)
    by_session = {one.session: one for one in sessions}
    assert len({(session, slot) for session, slot, _ in plan.reviews}) == len(plan.reviews)
    assert len({(session, person) for session, _, person in plan.reviews}) == len(plan.reviews)
    for session, slot, person in plan.reviews:
        assert slot in by_session[session].slots
        assert person in set(people) - by_session[session].excluded
    wanted = sum(min(len(one.slots), most, len(set(people) - one.excluded)) for one in sessions)
    assert len(plan.reviews) == wanted
    if people and not any(one.excluded for one in sessions):
        shares = [plan.by_person[person] for person in people]
        assert max(shares) - min(shares) <= 1


def test_all_sessions_that_match_are_spread_over_two_reviewers_each(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, ada: User
):
    sessions = {recorded().pk for _ in range(6)}
    command = assign(ada, rita, rolf, judy, expected=12)
    found = pairs()
    assert {session for session, _ in found} == sessions
    assert [sum(name == one for _, name in found) for one in ("rita", "rolf", "judy")] == [4, 4, 4]
    held = Review.objects.all()
    assert {(one.assigned_by, one.state) for one in held} == {(ada, "open")}
    assert all(one.lease_until and one.lease_until - one.opened_at == timedelta(days=14) for one in held)
    entries = AuditEntry.objects.filter(command=command)
    assert entries.filter(session__in=sessions).count() == 12
    assert entries.get(session=None).data["reviewers"] == {"rita": 4, "rolf": 4, "judy": 4}
    with pytest.raises(RefusedError, match="The sessions have changed: 0 reviews"):
        assign(ada, rita, rolf, judy, expected=12)


def test_a_repeated_command_assigns_once(recorded: SessionFactory, rita: User, ada: User):
    recorded()
    action = AssignMatching(
        person=ada, command=uuid4(), selection=SessionFilter(), reviewers=(rita,), most=1, expected=1
    )
    action.execute()
    action.execute()
    assert Review.objects.count() == 1


def test_a_session_with_one_review_gets_another_reviewer_for_the_second(
    recorded: SessionFactory, rita: User, rolf: User, ada: User
):
    session = recorded()
    review(rita)
    other = recorded()
    assign(ada, rita, rolf, expected=3)
    assert pairs() == {(session.pk, "rolf"), (other.pk, "rita"), (other.pk, "rolf")}
    assert Review.objects.get(session=session, state="open").slot == Review.SECOND


@pytest.mark.usefixtures("sandbox")
def test_nobody_gets_an_own_session(
    recorded: SessionFactory,
    session: SessionUnderTest,
    alice: User,
    rita: User,
    ada: User,
    person: PersonFactory,
):
    alice.groups.add(*person("helper", Role.REVIEWER).groups.all())
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    imported = recorded(tutor=pseudonym(alice))
    assign(ada, alice, rita, expected=2)
    assert pairs() == {(session.row.pk, "rita"), (imported.pk, "rita")}
    with pytest.raises(RefusedError, match="None of the chosen people may review"):
        assign(ada, alice, rita, expected=0)


def test_an_expired_reservation_is_assigned_to_others_and_its_draft_stays(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, ada: User
):
    recorded()
    late = claim(rita)
    draft = Content((MessageLabels(1, ("A1",)),)).to_json()
    Review.objects.filter(pk=late.pk).update(lease_until=late.opened_at - timedelta(seconds=1), content=draft)
    assign(ada, rita, rolf, judy, expected=2)
    late.refresh_from_db()
    assert (late.slot, late.content) == (None, draft)
    assert {name for _, name in pairs()} == {"rita", "rolf", "judy"}


def test_disputed_sessions_go_to_adjudicators_with_the_shared_labels(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, ada: User
):
    recorded("a", "b")
    recorded("not disputed")
    review(rita, "F1", "A4", level=2)
    review(rolf, "A1", "A4", level=2)
    disputed = SessionFilter(needs="adjudication")
    with pytest.raises(RefusedError, match="rolf does not have the role adjudicator"):
        assign(ada, rolf, expected=1, selection=disputed)
    assign(ada, judy, expected=1, selection=disputed)
    held = Review.objects.get(reviewer=judy)
    assert (held.slot, held.adjudicates) == (Review.ADJUDICATION, True)
    assert Content.from_json(held.content).labels(3).clauses == ("A4",)


def test_filters_select_sessions(
    recorded: SessionFactory,
    doubling: Problem,
    rita: User,
    ada: User,
):
    old, own, automatic, reviewed = recorded(), recorded(), recorded(), recorded()
    Session.objects.filter(pk=old.pk).update(recorded_at=datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC))
    Session.objects.filter(pk=own.pk).update(problem=doubling)
    Session.objects.filter(pk=automatic.pk).update(origin="automatic")
    Review.objects.create(
        session=reviewed,
        rule_set=1,
        slot=1,
        reviewer=rita,
        by="x",
        state="submitted",
        opened_at=datetime.now(UTC),
    )
    study = Study.objects.create(name="s", title="S", design={}, state="closed")
    model = LanguageModel.objects.create(label="m", spec="openai:m")
    arm = study.arms.create(name="a", position=0, kind="automatic", method="m", model=model)
    Assignment.objects.create(study=study, arm=arm, problem=doubling, replicate=1, session=own, state="done")
    everything = {old, own, reviewed}

    def found(**conditions: object) -> set[Session]:
        return set(SessionFilter(**conditions).sessions(current_rule_set().version, datetime.now(UTC)))  # type: ignore[arg-type]

    assert found() == everything
    assert found(origins="all") == everything | {automatic}
    assert found(origins="automatic") == {automatic}
    assert found(needs="first") == {old, own}
    assert found(needs="second") == {reviewed}
    assert found(needs="adjudication") == set()
    assert found(problem="oublin") == found(study=study.pk) == {own}
    assert found(study=study.pk + 1) == found(protocol=0) == set()
    assert found(until=date(2026, 1, 31)) == {old}
    assert found(until=date(2026, 1, 30)) == set()
    assert found(since=date(2026, 2, 1)) == everything - {old}
    assert found(until=date.max) == everything


@pytest.mark.slow
def test_the_page_shows_the_plan_and_assigns_it(recorded: SessionFactory, rita: User, rolf: User, ada: User):
    recorded(), recorded(), recorded()
    client = client_of(ada)
    page = client.get("/review/assignments/").content.decode()
    assert "3 sessions match" in page
    assert "Choose reviewers to see the plan" in page
    assert "/review/assignments/?origin=people" in client.get("/review/").content.decode()
    query = "?needs=reviews&origin=people&study=&protocol=&problem=&since=&until=&reviewer=rita&reviewer=rolf&most=1"
    page = client.get(f"/review/assignments/{query}").content.decode()
    assert "3 reviews of 3 sessions" in page
    [expected] = re.findall(r'name="expected" value="(\d+)"', page)
    address = f"/review/assignments/assign/{query}"
    recorded()
    answer = client.post(address, {"command": str(uuid4()), "expected": expected}, follow=True)
    assert "The sessions have changed: 4 reviews would be assigned now, not 3" in answer.content.decode()
    assert answer.redirect_chain[-1][0] == f"/review/assignments/{query}", "the filters stay"
    assert not Review.objects.exists()
    answer = client.post(address, {"command": str(uuid4()), "expected": "4"}, follow=True)
    assert "Assigned: 4 reviews of 4 sessions (rita 2, rolf 2)." in answer.content.decode()
    assert answer.redirect_chain[-1][0] == "/review/"
    audit = client.get("/review/audit/?action=AssignMatching").content.decode()
    assert "5 entries" in audit


@pytest.mark.slow
def test_the_page_confirms_a_thousand_reviews(recorded: SessionFactory, rita: User, rolf: User, ada: User):
    for _ in range(500):
        recorded()
    client = client_of(ada)
    query = "?reviewer=rita&reviewer=rolf"
    page = client.get(f"/review/assignments/{query}").content.decode()
    assert "1,000 reviews of 500 sessions" in page
    [expected] = re.findall(r'name="expected" value="([^"]+)"', page)
    form = {"command": str(uuid4()), "expected": expected}
    answer = client.post(f"/review/assignments/assign/{query}", form, follow=True)
    assert "Assigned: 1000 reviews of 500 sessions (rita 500, rolf 500)." in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("needs=nothing", 400),
        ("origin=robots", 400),
        ("study=x", 400),
        ("protocol=9999999999", 400),
        ("since=yesterday", 400),
        ("until=2026-02-30", 400),
        ("until=9999-12-31&since=0001-01-01", 200),
        ("most=3&reviewer=rita", 400),
        ("reviewer=nobody", 400),
        ("problem=%00", 400),
        ("problem=%25&study=7", 200),
        ("needs=adjudication&reviewer=rita", 200),
    ],
)
def test_malformed_queries_are_refused(
    recorded: SessionFactory, rita: User, ada: User, query: str, status: int
):
    recorded()
    client = client_of(ada)
    assert client.get(f"/review/assignments/?{query}").status_code == status
    form = {"command": str(uuid4()), "expected": "1"}
    answer = client.post(f"/review/assignments/assign/?{query}", form, headers={"Accept": "application/json"})
    assert answer.status_code == (400 if status == 400 else 409)
    assert not Review.objects.exists()


def test_other_bad_input_is_refused(
    recorded: SessionFactory, rita: User, ada: User, monkeypatch: pytest.MonkeyPatch
):
    recorded(), recorded()
    client = client_of(ada)
    for form in (
        {"command": str(uuid4())},
        {"command": "x", "expected": "1"},
        {"command": str(uuid4()), "expected": "?"},
    ):
        answer = client.post(
            "/review/assignments/assign/?reviewer=rita", form, headers={"Accept": "application/json"}
        )
        assert answer.status_code == 400
    with pytest.raises(PermissionDenied):
        assign(rita, rita, expected=2)
    with pytest.raises(RefusedError, match="Choose at least one reviewer"):
        assign(ada, expected=0)
    monkeypatch.setattr(bulk_assignment, "LARGEST_BATCH", 1)
    with pytest.raises(RefusedError, match="2 sessions match, and one command assigns at most 1"):
        assign(ada, rita, expected=2)
    assert not Review.objects.exists()


def test_a_reviewer_submits_an_assigned_review(recorded: SessionFactory, rita: User, ada: User):
    recorded("Go on.")
    assign(ada, rita, expected=1)
    held = Review.objects.get()
    assert submit(held, Content((MessageLabels(1, ("A6",), 0),), "compliant")).state == "submitted"
