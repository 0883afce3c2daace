"""The withdrawal of a consent: nothing of the person's texts is left, and figures are as without the sessions."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, get_args
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from accounts.actions import give_roles
from accounts.pseudonyms import pseudonym
from accounts.roles import Role
from benchmark.model_calls.ledger import Account
from benchmark.models import Generation, Judgement, Problem, Runner, Submission
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401  a fixture
from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import add_database
from tests.config.test_permissions import addresses
from tests.config.test_reads import QUERIES, arguments  # noqa: F401  a fixture
from tests.problems import store_doubling
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest, model, start
from tests.tutoring.review.browsing import client_of, content, whole
from tests.tutoring.review.readings import claim, reading, submit
from tutoring.actions import CloseSession, ConsentMissingError, StartSession
from tutoring.arms.human_sessions import ErasedMessagesError
from tutoring.arms.sham_hints import hint_texts
from tutoring.models import (
    AuditEntry,
    Consent,
    Draft,
    DraftWarning,
    Event,
    Flag,
    HintCard,
    PrivateNote,
    Protocol,
    Reply,
    Review,
    RuleCheck,
    Session,
    TrainingResult,
    Withdrawal,
    WithdrawnSession,
)
from tutoring.models.payloads import MessageSent
from tutoring.replies import claims
from tutoring.sessions.context import RefusedError
from tutoring.sessions.spending import account_of
from tutoring.withdrawal import WithdrawalRefusedError, withdraw_consent
from tutoring.withdrawal.erasure import ABOUT_SESSIONS, KEPT

CANARY = "THE-WORDS-OF-THE-PERSON"


End = Literal["open", "abandoned", "judged"]


def hold(person: User, problem: Problem, text: str, program: str, *, end: End = "abandoned") -> Session:
    """Hold a session whose texts are all `text`: messages, draft, checked drafts, note and reason of the end."""
    protocol = Protocol.objects.get(name="usaco-2024")
    held = SessionUnderTest(start(person, problem, protocol), person)
    held.say(f"{text} Use dynamic programming on line 3.")
    held.reply("Yes.")
    held.ask_and_get(program)
    Draft.objects.update_or_create(session=held.row, defaults={"text": text})
    DraftWarning.objects.create(session=held.row, text=text, detections=[])
    PrivateNote.objects.update_or_create(person=person, problem=problem, defaults={"text": text})
    if end == "abandoned":
        CloseSession(session_id=held.pk, person=person, command=uuid4(), reason=text).execute()
    elif end == "judged":
        held.execute()
        held.judge()
    return held.refresh()


def review_all(reviewers: Sequence[User], text: str) -> None:
    """Submit the reviews of the sessions in the queue, with this comment."""
    for reviewer in reviewers:
        claimed = claim(reviewer)
        submit(claimed, reading(claimed.session, "F2", comment=text))


def rows_of_all_tables() -> str:
    """Return every value in the database as text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            found.append(repr(cursor.fetchall()))
    return "".join(found)


@pytest.mark.slow
def test_no_page_export_table_or_log_holds_the_persons_texts(
    visitors: dict[str, Client],
    arguments: dict[str, dict[str, Any]],  # noqa: F811
    person: PersonFactory,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
):
    alice, reviewers = person("alice", Role.TUTOR), [person(name, Role.REVIEWER) for name in ("r1", "r2")]
    problem = Problem.objects.get(external_id="doubling", dataset__name="practice")
    sessions = [hold(alice, problem, f"{CANARY} {number}", WRONG) for number in range(2)]
    for reviewer in reviewers:
        with suppress(RefusedError):  # no session needs a review any more
            while True:
                claimed = claim(reviewer)
                comment = CANARY if claimed.session in sessions else "Fine."
                submit(claimed, reading(claimed.session, "F2", comment=comment))
    assert Review.objects.filter(session__in=sessions, state=Review.State.SUBMITTED).count() == 4
    Flag.objects.create(session=sessions[0], raised_by=reviewers[0], reason=CANARY, raised_at=timezone.now())
    call_command("check_rules", stdout=io.StringIO())
    assert RuleCheck.objects.filter(session__in=sessions).exists()
    name = pseudonym(alice)
    before = rows_of_all_tables()
    assert before.count(CANARY) > 15
    assert name in before
    arguments["trajectory"] |= {"session_id": sessions[0].pk}

    withdraw_consent(alice, User.objects.get(username=Role.ADMIN))

    after = rows_of_all_tables()
    assert CANARY not in after
    assert name not in after
    shown = ""
    caplog.set_level("CRITICAL", "django.request")
    for page, address in addresses(arguments):
        for visitor in (Role.ADMIN, Role.RESEARCHER, Role.REVIEWER, Role.TUTOR):
            answer = visitors[visitor].get(f"{address}?{QUERIES.get(page, '')}")
            shown += content(answer)
    for query in (CANARY, name):
        shown += whole(visitors[Role.ADMIN].get("/trajectories/", {"q": query, "tutor": query}))
    for form in ("jsonl", "csv", "html", "inspect", "datasets"):
        out, folder = io.StringIO(), tmp_path / form
        call_command(
            "export_trajectories",
            format=form,
            output=None if form in ("jsonl", "csv") else folder,
            stdout=out,
        )
        shown += out.getvalue()
    shown += "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert len(shown) > 100_000
    assert CANARY not in shown.replace(f'value="{CANARY}"', "")
    assert CANARY not in caplog.text


FIGURES = (
    "/review/solve-rates/", "/review/agreement/", "/review/detectors/", "/program-scores/", "/runs/arms/",
    "/trajectories/", "/trajectories/export.jsonl", "/review/labels.csv", "/review/sessions/", "/problems/",
)  # fmt: skip


def figures(reader: Client) -> dict[str, str]:
    """Return all figures and exports, without the tokens that differ from request to request."""
    found = {address: whole(reader.get(address)) for address in FIGURES}
    changing = r'nonce="[^"]*"|csrfmiddlewaretoken" value="[^"]*"|\d+ (?:minute|second)s? ago'
    return {address: re.sub(changing, "", page) for address, page in found.items()}


class UndoError(Exception):
    """An error that rolls back a transaction of a property test."""


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(
        st.sampled_from(["Look at line 1.", "Use a heap.", "ok", "Sort: \"it\" 'first' ✓"]), max_size=3
    ),
    end=st.sampled_from(get_args(End)),
    reviewed=st.booleans(),
    solved=st.booleans(),
)
@example(texts=["Use a heap."], end="judged", reviewed=True, solved=True)
@example(texts=["Use a heap."], end="judged", reviewed=True, solved=False)
def test_figures_equal_those_of_a_site_without_the_person(
    sandbox: object,
    person: PersonFactory,
    doubling: Problem,
    ada: User,
    texts: list[str],
    end: End,
    reviewed: bool,
    solved: bool,
):
    try:
        with transaction.atomic():
            alice, bob = person("a", Role.TUTOR), person("b", Role.TUTOR)
            reviewers = [person(f"r{number}", Role.REVIEWER) for number in range(2)]
            hold(bob, doubling, "Think.", RIGHT, end="judged")
            review_all(reviewers, "Fine.")
            reader = client_of(ada)
            reader.get("/trajectories/")
            before = figures(reader)
            program, outcome = (RIGHT, "solved") if solved else (WRONG, "not_solved")
            for number, text in enumerate(texts, start=1):
                last = number == len(texts)
                session = hold(
                    alice, doubling, text, program, end="abandoned" if end == "open" and not last else end
                )
                assert session.outcome == (outcome if end == "judged" else session.outcome)
                if reviewed and session.state == Session.State.CLOSED:
                    review_all(reviewers, text)
            if texts and end != "open":
                assert figures(reader)["/review/solve-rates/"] != before["/review/solve-rates/"]
            withdraw_consent(alice, ada)
            assert figures(reader) == before
            raise UndoError
    except UndoError:
        pass


def test_programs_and_judgements_that_only_the_sessions_use_are_erased(
    sandbox: object, alice: User, bob: User, doubling: Problem
):
    sessions = []
    for tutor, program in ((alice, WRONG), (alice, RIGHT), (bob, RIGHT)):
        held = SessionUnderTest(start(tutor, doubling, Protocol.objects.get(name="usaco-2024")), tutor)
        held.ask_and_get(program)
        held.execute()
        held.judge()
        sessions.append(held.row)
    withdrawal = withdraw_consent(alice, None)
    assert withdrawal.counts["sessions"] == 2
    assert list(Session.objects.all()) == [sessions[2]]
    assert [one.source for one in Submission.objects.all()] == ["print(2 * int(input()))\n"]
    used = {sessions[2].judgement_id, *sessions[2].program_scores.values_list("judgement", flat=True)}
    assert set(Judgement.objects.values_list("pk", flat=True)) == used


def test_every_table_that_names_a_session_is_erased_or_kept():
    """A new table of sessions must be added to one of the two lists."""
    known = {table for table, _ in ABOUT_SESSIONS} | set(KEPT) | {Event, HintCard, Session}
    for table in (Session, Event, Reply, Review, RuleCheck):
        for relation in table._meta.get_fields(include_hidden=True):
            if relation.auto_created and not relation.concrete:
                assert relation.related_model in known, f"{relation.related_model} names a {table.__name__}"


@pytest.mark.slow
def test_copies_of_the_messages_in_arms_are_erased(
    alice: User,
    doubling: Problem,
    protocol: Protocol,
    make_run: MakeRun,  # noqa: F811
):
    session = hold(alice, doubling, CANARY, WRONG)
    message = session.events.filter(kind="message").first()
    assert message is not None
    run = make_run([("bronze", ["AC", "WA"]), ("gold", ["AC", "WA"])], method="session-neutral")
    names = list(run.items.order_by("problem").values_list("problem__external_id", flat=True).distinct())
    prepared = {
        "from_first": {names[0]: [{"session": str(uuid4())}, {"session": str(session.pk)}]},
        "sham_hints": {names[1]: [[message.pk], [0]]},
    }
    run.manifest = {**run.manifest, "prepared": prepared}
    run.save(update_fields=["manifest"])
    Generation.objects.filter(work_item__run=run).update(
        messages=[{"role": "user", "content": f"{CANARY} Use dynamic programming on line 3."}]
    )
    for item in run.items.all():
        copy = Session.objects.create(
            origin="automatic", work_item=item, problem=item.problem, state="closed"
        )
        payload = MessageSent(mode="talk", text=message.data["text"], sent=message.data["sent"])
        Event.objects.create(session=copy, seq=1, kind="message", version=2, data=payload.to_json())

    assert withdraw_consent(alice, None).counts["chains"] == 2
    texts = {
        (item.problem.external_id, item.chain): CANARY in repr(item.generations.values_list("messages"))
        or CANARY in repr(Event.objects.filter(session__work_item=item).values_list("data"))
        for item in run.items.all()
    }
    assert texts == {(names[0], 0): True, (names[0], 1): False, (names[1], 0): False, (names[1], 1): True}
    assert Event.objects.filter(data__text="[withdrawn]").count() == 2
    for event in Event.objects.filter(kind="message"):
        assert event.payload, "a changed event keeps its schema"


def test_prompts_that_measured_the_leaks_of_the_messages_are_erased(
    alice: User,
    doubling: Problem,
    make_run: MakeRun,  # noqa: F811
):
    session = hold(alice, doubling, CANARY, WRONG)
    run = make_run([("bronze", ["AC", "WA", "WA", "AC", "WA", "AC"])], method="leak")
    [name] = run.items.order_by().values_list("problem__external_id", flat=True).distinct()
    shown = {name: [str(uuid4()), str(session.pk)]}
    run.manifest = {**run.manifest, "prepared": {"leaks": shown, "draws": 2}}
    run.save(update_fields=["manifest"])
    Generation.objects.filter(work_item__run=run).update(
        messages=[{"role": "user", "content": f"{CANARY} ok"}]
    )

    assert withdraw_consent(alice, None).counts["chains"] == 2
    erased = Generation.objects.exclude(messages__icontains=CANARY).filter(work_item__run=run)
    assert sorted(erased.values_list("work_item__chain", flat=True)) == [2, 5]


def test_a_run_in_progress_refuses_the_withdrawal_and_a_later_chain_fails(
    alice: User,
    doubling: Problem,
    make_run: MakeRun,  # noqa: F811
):
    session = hold(alice, doubling, CANARY, WRONG)
    message = session.events.filter(kind="message").first()
    assert message is not None
    run = make_run([("bronze", [""])], method="session-sham")
    run.manifest = {
        **run.manifest,
        "prepared": {"sham_hints": {run.items.get().problem.external_id: [[message.pk]]}},
    }
    run.save(update_fields=["manifest"])
    runner = Runner.objects.create(
        owner="here", run=run, model_spec="openai:m", lease_until=timezone.now() + Runner.LEASE
    )
    with pytest.raises(WithdrawalRefusedError, match=f"Run {run.pk} sends messages"):
        withdraw_consent(alice, None)
    runner.delete()
    withdraw_consent(alice, None)

    class Chain:
        prepared: ClassVar[dict[str, Any]] = run.manifest["prepared"]

        async def read_once(self, _: str, read: Callable[[], Any]) -> Any:
            return await sync_to_async(read)()

    with pytest.raises(ErasedMessagesError, match="withdrawn the consent"):
        async_to_sync(hint_texts)(cast(Any, Chain()), [message.pk])


def fill_and_withdraw(var: Path) -> None:
    use_var(var)
    alice = User.objects.create_user("alice")
    give_roles(alice, [Role.TUTOR])
    hold(alice, store_doubling(), CANARY, WRONG)
    assert CANARY.encode() in bytes_of(var)
    withdraw_consent(alice, None)


def bytes_of(var: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(var.glob("hintbench.sqlite3*")))


@pytest.mark.slow
def test_the_database_file_holds_no_text(tmp_path: Path):
    run_apart(fill_and_withdraw, add_database(tmp_path))
    assert CANARY.encode() not in bytes_of(tmp_path)


def test_the_page_erases_after_a_confirmation(alice: User, ada: User, doubling: Problem):
    session = hold(alice, doubling, CANARY, WRONG)
    address, admin = f"/accounts/{alice.pk}/withdraw-consent/", client_of(ada)
    assert address in admin.get(f"/accounts/{alice.pk}/").content.decode()
    page = admin.get(address).content.decode()
    assert "1, with messages" in page
    assert admin.post(address, {"confirmation": "bob"}).status_code == 302
    assert Session.objects.filter(pk=session.pk).exists()
    page = admin.post(address, {"confirmation": "alice"}, follow=True).content.decode()
    assert "1 session erased" in page
    assert not Session.objects.exists()
    gone = admin.get(f"/trajectories/{session.pk}/")
    assert gone.status_code == 410
    assert "Reason: consent withdrawn" in gone.content.decode()
    [entry] = AuditEntry.objects.filter(action="WithdrawConsent")
    assert entry.person == ada
    assert "alice" not in repr(entry.data) + str(Withdrawal.objects.get())
    audit = admin.get("/review/audit/").content.decode()
    assert "WithdrawConsent" in audit
    assert "alice" not in audit
    assert "Earlier withdrawals" in admin.get(address).content.decode()
    assert [one.pk for one in WithdrawnSession.objects.all()] == [session.pk]


def test_an_import_of_an_older_export_skips_the_erased_session(
    alice: User, bob: User, doubling: Problem, tmp_path: Path
):
    erased, other = hold(alice, doubling, CANARY, WRONG), hold(bob, doubling, "Think.", WRONG)
    export = tmp_path / "export.jsonl"
    with export.open("w") as file:
        call_command("export_trajectories", stdout=file)
    withdraw_consent(alice, None)
    out = io.StringIO()
    call_command("import_trajectories", str(export), stdout=out)
    assert f"not imported, session {erased.pk} was erased here" in out.getvalue()
    assert Session.objects.get() == other
    assert CANARY not in rows_of_all_tables()


def test_the_next_session_needs_a_new_consent(alice: User, doubling: Problem, protocol: Protocol):
    hold(alice, doubling, CANARY, WRONG)
    withdraw_consent(alice, None)
    assert not Consent.objects.exists()
    with pytest.raises(ConsentMissingError):
        StartSession(alice, doubling, protocol, model("openai:m")).execute()
    assert start(alice, doubling, protocol).number == 1


def test_a_reply_in_progress_refuses_the_withdrawal(session: SessionUnderTest, alice: User):
    session.say("Go on.")
    claimed = session.claim()
    with pytest.raises(WithdrawalRefusedError, match="writing a reply"):
        withdraw_consent(alice, None)
    session.finish(claimed, "Yes.")
    withdraw_consent(alice, None)
    assert not Session.objects.exists()


@pytest.mark.parametrize("looked_up", ["before", "erased"])
def test_a_queued_reply_of_a_session_that_is_erased_meanwhile_is_not_claimed(
    session: SessionUnderTest,
    person: PersonFactory,
    doubling: Problem,
    protocol: Protocol,
    monkeypatch: pytest.MonkeyPatch,
    looked_up: str,
):
    """The session is erased after the search for queued replies, before or after the look-up of its price."""
    others = [person(name, Role.TUTOR) for name in ("erased", "later")]
    erased, later = (SessionUnderTest(start(one, doubling, protocol), one) for one in others)
    for one in (session, erased, later):
        one.say()
    trigger = session if looked_up == "before" else erased

    def erasing(looked_at: Session) -> Account:
        account = account_of(looked_at)
        if looked_at == trigger.row:
            withdraw_consent(erased.tutor, None)
        return account

    monkeypatch.setattr(claims, "account_of", erasing)
    assert [one.session_id for one in claims.claim_replies(10)] == [session.pk, later.pk]


def test_the_command_erases_only_on_request(alice: User, doubling: Problem):
    hold(alice, doubling, CANARY, WRONG)
    TrainingResult.objects.create(person=alice, rule_set=1, answers={}, right=0, messages=0)
    out = io.StringIO()
    call_command("withdraw_consent", "alice", stdout=out)
    assert "Would erase: 1 session, 1 note, 1 consent, 1 training result." in out.getvalue()
    assert Session.objects.exists()
    call_command("withdraw_consent", "alice", "--erase", stdout=out)
    assert "Erased: 1 session, 0 chains, 0 hint cards, " in out.getvalue()
    assert not Session.objects.exists()
    assert not TrainingResult.objects.exists()
    [entry] = AuditEntry.objects.filter(action="WithdrawConsent")
    assert entry.person is None
    with pytest.raises(CommandError, match="'nobody' does not exist"):
        call_command("withdraw_consent", "nobody")
