"""manage.py ladder and its page, over the rows of a study with two level caps."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoDbBlocker

from accounts.roles import Role
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import WRONG, SessionUnderTest
from tests.tutoring.studies.conftest import begin, close_held_study, finish
from tutoring.actions import SendMessage
from tutoring.models import Assignment, Event, ReviewOutcome, Session, Study
from tutoring.protocols import PRESETS
from tutoring.protocols import freeze as freeze_protocol
from tutoring.rules import current_rule_set


def capped_arms(*caps: int) -> list[dict[str, Any]]:
    for cap in caps:
        freeze_protocol(
            f"cap-{cap}", PRESETS["usaco-2024"].with_settings(level_cap=cap, ask_level="optional", consent="")
        )
    return [
        {"kind": "human", "name": f"arm-{number}", "protocol": f"cap-{cap}@1", "model": "m@1"}
        for number, cap in enumerate(caps)
    ]


def settle(session: Session, *levels: tuple[int, int]) -> None:
    """Store the outcome of two reviews with these levels of the session's messages, in turn."""
    messages = session.events.filter(kind=Event.Kind.MESSAGE).order_by("seq")
    rows = [[event.seq, *pair, None] for event, pair in zip(messages, levels, strict=True)]
    ReviewOutcome.objects.create(
        session=session,
        rule_set=current_rule_set().version,
        verdict="compliant",
        levels=rows,
        at=timezone.now(),
    )


@pytest.fixture(scope="module")
def closed_study(module_rows: DjangoDbBlocker) -> None:
    """Hold a closed study: sessions under cap 3 are solved and settled at level 2, those under cap 0 break it once."""
    with module_rows.unblock():
        close_held_study(hold, arms=capped_arms(0, 3))


def hold(study: Study, tutors: list[User]) -> None:
    """Hold and settle every session of the study."""
    broken = False
    for tutor in tutors:
        while Assignment.objects.filter(study=study, tutor=tutor, state__in=("planned", "offered")).exists():
            row = begin(tutor)
            assert row.session is not None
            helped = row.arm.name == "arm-1"
            SendMessage(
                session_id=row.session.pk, person=tutor, command=UUID(int=row.pk), mode="talk", text="Look here.",
                intended_level=1 if helped else 0,
            ).execute()  # fmt: skip
            SessionUnderTest(row.session, tutor).reply(WRONG)
            row.session.refresh_from_db()
            finish(row, solved=helped)
            settle(row.session, (2, 2) if helped else (0, 0) if broken else (1, 1))
            broken = broken or not helped


@pytest.fixture
def study(closed_study: None, db: None) -> Study:
    """The closed study."""
    return Study.objects.get()


def document(capsys: pytest.CaptureFixture[str], human: str) -> Any:
    capsys.readouterr()
    call_command("ladder", "--json", "--human", human)
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("study")
def test_study_is_compared_by_cap(capsys: pytest.CaptureFixture[str]):
    found = document(capsys, "study=hints")
    assert [(one["cap"], one["rate"], one["sessions"]) for one in found["caps"]] == [(0, 0.0, 6), (3, 1.0, 6)]
    assert [(one["obeying"], one["decided"], one["undecided"]) for one in found["caps"]] == [
        (5, 6, 0), (6, 6, 0)
    ]  # fmt: skip
    [step] = found["steps"]
    assert (step["first"], step["second"], step["difference"]) == ("arm-1", "arm-0", 1.0)
    assert (found["gains"], found["least_help"]) == ([], None)
    assert [(one["level"], one["solved"], one["sessions"]) for one in found["curve"]] == [
        (0, 0, 5), (1, 0, 6), (2, 6, 12), (3, 6, 12), (4, 6, 12)
    ]  # fmt: skip
    assert found["intended"]["messages"] == 12
    assert found["intended"]["table"][1][4] == 6
    assert any("Exploratory, except" in one for one in found["warnings"])
    assert not any("also differ" in one for one in found["warnings"])


@pytest.mark.usefixtures("study")
def test_text_and_csv_say_the_same(capsys: pytest.CaptureFixture[str]):
    capsys.readouterr()
    call_command("ladder", "--human", "study=hints")
    text = capsys.readouterr().out
    assert "Least help: unknown: the study has no neutral arm with outcomes" in text
    assert "5 of 6, 0 undecided" in text
    call_command("ladder", "--csv", "--human", "study=hints")
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("rate by cap,") for line in lines) == 2
    assert sum(line.startswith("help curve,") for line in lines) == 5


@pytest.mark.usefixtures("study")
def test_sessions_without_reviews_are_counted_as_left_out(capsys: pytest.CaptureFixture[str]):
    ReviewOutcome.objects.filter(pk__in=list(ReviewOutcome.objects.values_list("pk", flat=True)[:2])).delete()
    found = document(capsys, "study=hints")
    assert found["sessions"] == 10
    [left_out] = found["left_out"]
    assert (left_out["count"], left_out["reason"]) == (2, "not reviewed twice under codebook 1")
    assert sum(one["undecided"] for one in found["caps"]) == 2


def refusal(human: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("ladder", "--human", human)
    return str(refused.value)


def test_bad_input_is_refused(study: Study):
    assert "no frozen study unknown" in refusal("study=unknown")
    assert "several studies" in refusal("study=hints,study=other")
    assert "is not a condition" in refusal("colour=red")
    assert "No session of a person fits" in refusal("tutor=nobody")
    Study.objects.filter(pk=study.pk).update(state=Study.State.RUNNING)
    assert "locked until it is stopped or closed" in refusal("study=hints")
    assert "of a study that still runs" in refusal("all")


def test_page_has_figures_plots_and_downloads(
    study: Study, person: PersonFactory, django_assert_max_num_queries: DjangoAssertNumQueries
):
    client = Client()
    client.force_login(person("rosa", Role.RESEARCHER))
    assert "Show figures" in client.get("/runs/ladder/").content.decode()
    with django_assert_max_num_queries(60):
        page = client.get("/runs/ladder/?people=study%3Dhints").content.decode()
    assert "Least help:" in page
    assert page.count("<figure") == 3
    assert client.get("/runs/ladder/?people=study%3Dhints&plot=caps&as=csv").status_code == 200
    assert client.get("/runs/ladder/?base=&people=study%3Dhints&as=json").json()["study"] == "hints@1"
    assert client.get("/runs/ladder/?people=study%3Dhints&as=csv")["Content-Type"].startswith("text/csv")
    refused = client.get("/runs/ladder/?people=study%3Dother")
    assert refused.status_code == 400
    assert "no frozen study other" in refused.content.decode()


@pytest.mark.usefixtures("study")
def test_simulated_sessions_are_marked(capsys: pytest.CaptureFixture[str]):
    Session.objects.update(model_spec="simulated:guidance-60")
    found = document(capsys, "study=hints")
    assert found["simulated"]
    assert found["warnings"][0].startswith("Simulated:")
