"""The pages of studies: design, power, freezing, conduct, results and export; and the tutor's next session."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import fields
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from accounts.roles import Role
from benchmark.model_calls import caps, ledger
from benchmark.models import DailySpend, LanguageModel, Problem, Run, WorkItem
from benchmark.runner import QueueUnavailableError
from tests.tutoring.dialogues import start
from tests.tutoring.review.browsing import whole
from tests.tutoring.studies.conftest import FreezeFactory, abandon, begin, finish, hold_all
from tests.tutoring.studies.designs import design_data
from tutoring.models import (
    Assignment,
    AuditEntry,
    Consent,
    Deviation,
    Flag,
    Protocol,
    Review,
    Session,
    Study,
)
from tutoring.studies import runs
from tutoring.studies.actions import SaveDesign
from tutoring.studies.flow import study_flow
from tutoring.studies.offers import Offer
from tutoring.studies.upkeep import advance_studies

E_VALUE = {"rule": "sign e-value"}
HIDDEN = ("hidden-model-name", "arm-0", "arm-1", "openai", "m@1")


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def admin(ada: User) -> Client:
    return client_of(ada)


def page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, (address, response.status_code)
    return response.content.decode()


def typed_form(tutors: list[User], **changes: Any) -> dict[str, Any]:
    """Return the fields of a valid design as a browser sends them."""
    return {
        "name": "hints", "title": "Do hints help?", "questions": "Do hints help?\nHow much?",
        "arm-0-kind": "human", "arm-0-name": "one", "arm-0-protocol": "usaco-2024@1", "arm-0-model": "m@1",
        "arm-1-kind": "automatic", "arm-1-name": "neutral", "arm-1-method": "zero-shot", "arm-1-model": "m@1",
        "arm-1-settings": "temperature=0.5\nlanguage=python", "arm-1-draws": "2",
        "arm-2-kind": "human", "arm-2-name": "",
        "dataset": "practice", "tiers": ["bronze", "silver"], "only": "", "without": "doubling-5",
        "tutors": [one.username for one in tutors], "sessions_per_cell": "2", "strata": "none", "expiry_days": "7",
        "primary_outcome": "solved", "first": "one", "second": "neutral", "secondary": "",
        "rule": "fixed", "threshold": "", "maximum": "",
    } | changes  # fmt: skip


def test_an_empty_list_says_how_to_begin(admin: Client, rosa: User):
    assert "There is no study yet." in (empty := page(admin, "/studies/"))
    assert 'href="/studies/new/"' in empty
    assert 'href="/studies/new/"' not in page(client_of(rosa), "/studies/")


def test_a_study_is_designed_and_frozen_in_the_browser(
    admin: Client, problems: list[Problem], model: LanguageModel, tutors: list[User]
):
    assert "Design a study" in page(admin, "/studies/new/")
    form = typed_form(tutors, name="", title="")
    refused = admin.post("/studies/save/", form).content.decode()
    assert "A draft needs a name of small letters" in refused
    assert "How much?" in refused, "what was typed stays"
    assert not Study.objects.exists()

    contrasts = "one minus neutral\nneutral less one"
    form = typed_form(
        tutors, first="nobody", expiry_days="soon", secondary=contrasts, **{"arm-0-protocol": "usaco"}
    )
    saved = admin.post("/studies/save/", form, follow=True).content.decode()
    assert "It has faults, which the form shows" in saved
    study = Study.objects.get()
    assert "protocol: must be NAME@VERSION, not" in saved
    assert "Must be a valid integer, not &#x27;soon&#x27;." in saved
    assert 'name="expiry_days" aria-invalid="true" aria-describedby="expiry_days-faults"' in saved
    assert 'id="expiry_days-faults"' in saved
    assert saved.count('aria-invalid="true"') == 1, "the other fields are right"
    assert "one minus neutral\nneutral minus one" in saved
    assert "Before this design can be frozen" in page(admin, f"/studies/{study.pk}/")
    assert "The power needs a complete design" in page(admin, f"/studies/{study.pk}/power/")
    assert admin.get(f"/studies/{study.pk}/preregistration/").status_code == 404

    form = typed_form(tutors, study=str(study.pk), name="hints-2")
    for _ in range(2):
        shown = admin.post("/studies/save/", form, follow=True).content.decode()
    assert "The draft is saved." in shown
    study = Study.objects.get()
    assert (study.name, study.state) == ("hints-2", Study.State.DRAFT)
    assert study.design["arms"][1]["settings"] == {"temperature": 0.5, "language": "python"}
    assert "reference not judged" in shown, "the gate is listed before the freezing"
    edit = page(admin, f"/studies/{study.pk}/edit/")
    assert "temperature=0.5" in edit
    assert admin.get(f"/studies/{study.pk}/design.json").json() == study.design

    freeze = f"/studies/{study.pk}/freeze/"
    assert "Confirm that the design is final." in admin.post(freeze, follow=True).content.decode()
    assert "accept the gate" in admin.post(freeze, {"confirm": "on"}, follow=True).content.decode()
    assert not Assignment.objects.exists()
    for sentence in ("20 assignments are stored", "hints-2 v1 is frozen already."):
        shown = admin.post(freeze, {"confirm": "on", "accept_gate": "on"}, follow=True).content.decode()
        assert sentence in shown
    assert Assignment.objects.count() == 20
    assert "manage.py study run hints-2" in shown


def test_a_named_study_is_not_overwritten(admin: Client, freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    refused = admin.post("/studies/save/", typed_form(tutors)).content.decode()
    assert "The study hints is frozen already" in refused
    assert admin.post("/studies/save/", typed_form(tutors, study=str(study.pk))).status_code == 200
    study.refresh_from_db()
    assert study.state == Study.State.FROZEN


def test_power_is_simulated_from_typed_inputs(admin: Client, freeze: FreezeFactory):
    address = f"/studies/{freeze().pk}/power/"
    empty = page(admin, address)
    assert "Nothing is preset" in empty
    assert 'name="effect" value=""' in empty
    shown = page(admin, f"{address}?control_rate=20&effect=50&problems=30&spread=1&compliance=100&minutes=30")
    assert "Expected half-width" in shown
    assert "<dd>30.0</dd>" in shown.replace("\n", ""), "60 sessions of half an hour"
    for query, sentence in (
        ("control_rate=20&effect=", "Type a number for the difference."),
        ("control_rate=20&effect=90", "it must lie between 0 and 1"),
        ("control_rate=nan&effect=10", "Type a number for the rate of the second arm."),
        ("control_rate=120&effect=10", "The control rate is a share between 0 and 1"),
        ("control_rate=20&effect=10&problems=1e9", "The number of problems must be a whole number"),
        ("control_rate=20&effect=10&minutes=x", "Type a number of minutes"),
        ("control_rate=20&effect=10&spread=inf", "Type a number for the spread."),
        ("control_rate=20&effect=10&problems=", "Type a number for the problems."),
    ):
        assert sentence in page(admin, f"{address}?{query}"), query


def test_preregistration_is_shown_and_downloaded(admin: Client, freeze: FreezeFactory):
    study = freeze()
    assert study.seed not in (shown := page(admin, f"/studies/{study.pk}/preregistration/"))
    assert "Assumptions" in shown
    text = page(admin, f"/studies/{study.pk}/preregistration.md")
    record = admin.get(f"/studies/{study.pk}/preregistration.json").json()
    assert record["sha256"] in text
    assert record["sha256"] in shown
    assert admin.get(f"/studies/{study.pk}/preregistration.pdf").status_code == 404


@pytest.mark.slow
def test_every_number_of_the_flow_leads_to_its_rows(admin: Client, freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    finish(begin(tutors[0]), solved=True)
    abandon(begin(tutors[1]))
    begin(tutors[2])
    shown = page(admin, f"/studies/{study.pk}/")
    assert '<svg class="flow"' in shown
    flow = study_flow(study)
    for arm in flow.arms:
        assert sum(arm.boxes.values()) == arm.assigned
        for box, number in arm.boxes.items():
            listed = admin.get(f"/studies/{study.pk}/assignments/", {"arm": arm.arm, "box": box})
            assert listed.context["page"].paginator.count == number
        started = admin.get(f"/studies/{study.pk}/assignments/", {"arm": arm.arm, "passage": "started"})
        assert started.context["page"].paginator.count == arm.started
    loads = [load.assigned for load in admin.get(f"/studies/{study.pk}/").context["loads"]]
    assert sum(loads) == 12
    assert max(loads) - min(loads) <= 2
    assert admin.get(f"/studies/{study.pk}/assignments/?passage=x").status_code == 400
    assert "No assignment matches." in page(admin, f"/studies/{study.pk}/assignments/?arm=x")


@pytest.mark.slow
def test_results_are_locked_until_a_look(admin: Client, freeze: FreezeFactory, tutors: list[User]):
    study = freeze(stopping=E_VALUE)
    address = f"/studies/{study.pk}/"
    finish(begin(tutors[0]), solved=True)
    shown = page(admin, address)
    assert "1 of 12 sessions and chains so far." in shown
    assert "Rates of the arms" not in shown
    for _ in range(2):
        shown = admin.post(f"{address}look/", follow=True).content.decode()
    assert "The results of 0 complete pairs are unlocked." in shown
    assert study.looks.count() == 1, "a repeated look without new sessions is the same look"
    assert "Rates of the arms" in shown
    stop = {"reason": "No money."}
    for sentence in ("is stopped. Open sessions continue", "Only a frozen or running study can be stopped."):
        assert sentence in admin.post(f"{address}stop/", stop, follow=True).content.decode()
    assert "hints v1 is closed." in admin.post(f"{address}close/", follow=True).content.decode()
    study.refresh_from_db()
    assert study.seed in page(admin, address)


@pytest.mark.slow
def test_results_of_a_closed_study(admin: Client, freeze: FreezeFactory, tutors: list[User]):
    study = freeze(rehearsal=True)
    hold_all(tutors, solved=lambda one: one.arm.name == "arm-0")
    advance_studies()
    shown = page(admin, f"/studies/{study.pk}/")
    assert "arm-0 minus arm-1" in shown
    assert "This study is a rehearsal." in shown
    assert "rehearsal" in page(admin, "/studies/")
    archive = zipfile.ZipFile(io.BytesIO(admin.get(f"/studies/{study.pk}/export.zip").content))
    names = {name.rpartition("/")[2] for name in archive.namelist()}
    assert {"README.md", "figures.json", "sessions.jsonl", "MANIFEST.sha256"} <= names
    design = json.loads(archive.read("study-hints-v1/design.json"))
    study.refresh_from_db()
    assert design["seed"] == study.seed


def test_an_amendment_is_a_new_version(
    admin: Client, freeze: FreezeFactory, tutors: list[User], model: LanguageModel
):
    study = freeze()
    assert f'value="{tutors[0].username}" checked' in page(admin, f"/studies/{study.pk}/edit/")
    form = typed_form(tutors, accept_gate="on")
    refused = admin.post(f"/studies/{study.pk}/amend/", form | {"reason": " "}).content.decode()
    assert "Say why the design changes." in refused
    refused = admin.post(f"/studies/{study.pk}/amend/", form | {"reason": "x", "title": ""}).content.decode()
    assert "Missing" in refused
    shown = admin.post(f"/studies/{study.pk}/amend/", form | {"reason": "Fewer arms."}, follow=True)
    assert "hints v2 is frozen, and hints v1 is stopped." in shown.content.decode()


def test_a_report_is_settled(admin: Client, freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    assignment = begin(tutors[0])
    assert assignment.session is not None
    address = f"/sessions/{assignment.session.pk}/report/"
    tutor = client_of(tutors[0])
    assert "Something is wrong" in page(tutor, f"/sessions/{assignment.session.pk}/")
    report = {"command": str(uuid4()), "about": "judge", "text": "It rejects the sample."}
    as_page = {"Accept": "application/json"}
    for _ in range(2):
        assert tutor.post(address, report, headers=as_page).json()["accepted"]
    assert (
        tutor.post(address, report | {"command": str(uuid4()), "about": "x"}, headers=as_page).status_code
        == 409
    )
    assert client_of(tutors[1]).post(address, report | {"command": str(uuid4())}).status_code == 404
    [row] = study.deviations.all()
    shown = page(admin, f"/studies/{study.pk}/")
    assert "Reports to settle" in shown
    assert "Settle 1 report of tutors." in shown
    settle = {"command": str(uuid4()), "kind": "infrastructure", "reason": "Fixed.", "settles": str(row.pk)}
    for _ in range(2):
        shown = admin.post(f"/studies/{study.pk}/deviation/", settle, follow=True).content.decode()
        assert "The deviation is recorded." in shown
    assert "Reports to settle" not in shown
    assert [one.kind for one in study.deviations.all()] == [
        Deviation.Kind.REPORT,
        Deviation.Kind.INFRASTRUCTURE,
    ]
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.EXCLUDED
    other = {"command": str(uuid4()), "kind": "other", "reason": "A note.", "assignments": "x"}
    assert admin.post(f"/studies/{study.pk}/deviation/", other).status_code == 400


def test_a_report_outside_studies_is_a_flag(alice: User, doubling: Problem, protocol: Protocol):
    session = start(alice, doubling, protocol)
    report = {"command": str(uuid4()), "about": "problem", "text": "The statement lacks a limit."}
    for _ in range(2):
        response = client_of(alice).post(f"/sessions/{session.pk}/report/", report, follow=True)
    assert "An admin reads your report." in response.content.decode()
    [flag] = Flag.objects.all()
    assert flag.reason == "problem: The statement lacks a limit."


@pytest.mark.slow
def test_the_tutors_of_a_study_do_not_see_its_pages(freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    tutors[0].is_superuser = True
    tutors[0].save()
    client = client_of(tutors[0])
    for rest in (
        "",
        "assignments/",
        "preregistration/",
        "preregistration.md",
        "design.json",
        "export.zip",
        "power/",
    ):
        assert client.get(f"/studies/{study.pk}/{rest}").status_code == 403, rest
    assert client.post(f"/studies/{study.pk}/look/").status_code == 403
    hold_all(tutors, solved=lambda _: True)
    advance_studies()
    assert client.get(f"/studies/{study.pk}/").status_code == 200


@override_settings(RETENTION_DAYS=30)
def test_tutor_starts_the_next_session_with_one_button(freeze: FreezeFactory, tutors: list[User]):
    freeze(expiry_days=3)
    Consent.objects.filter(person=tutors[0]).delete()
    client = client_of(tutors[0])
    for address in ("/sessions/", "/problems/"):
        assert "Your next session" in page(client, address)
    consent = client.post("/sessions/next/")
    assert "I agree: start the session" in consent.content.decode()
    assert (
        "This server keeps a session for 30 days after its end, and at least until the study is closed."
        in consent.content.decode()
    )
    assert "reserved for you until" in page(client, "/sessions/")
    fields_sent = {"consent": consent.context["text_hash"]}
    opened = client.post("/sessions/next/", fields_sent, follow=True)
    assert opened.status_code == 200
    again = client.post("/sessions/next/")
    assert again.headers["Location"] == opened.redirect_chain[-1][0], (
        "a repeated press opens the same session"
    )
    assert Session.objects.count() == 1
    shown = page(client, "/sessions/")
    assert "A session of the study is open. Finish it by" in shown
    assert "Your next session" not in shown
    for text in (consent.content.decode(), opened.content.decode(), shown, page(client, "/problems/")):
        for hidden in HIDDEN:
            assert hidden not in text, hidden


def test_what_tutors_see_of_a_study_has_a_closed_set_of_keys():
    assert {field.name for field in fields(Offer)} == {"state", "left", "until", "session"}


def test_a_tutor_without_sessions_left(admin: Client, freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    hold_all(tutors[:1], solved=lambda _: True)
    client = client_of(tutors[0])
    assert "You have held all your sessions of the study." in page(client, "/sessions/")
    assert "There is no session for you now." in client.post("/sessions/next/", follow=True).content.decode()
    admin.post(f"/studies/{study.pk}/stop/", {"reason": "Enough."})
    assert "The study has ended. Thank you for taking part." in page(client, "/sessions/")
    Study.objects.filter(pk=study.pk).update(closed_at=timezone.now() - timedelta(days=15))
    assert "Your study" not in page(client, "/sessions/")


def test_tutors_outside_studies_see_todays_pages(freeze: FreezeFactory, alice: User, problems: list[Problem]):
    client = client_of(alice)
    pages = ("/sessions/", "/problems/", "/problems/practice/doubling/")

    def shown() -> list[str]:
        return [re.sub('csrfmiddlewaretoken" value="[^"]+"', "", page(client, address)) for address in pages]

    before = shown()
    freeze()
    assert shown() == before


def test_problems_of_the_study_are_not_offered_as_free_sessions(freeze: FreezeFactory, tutors: list[User]):
    freeze()
    shown = page(client_of(tutors[0]), "/problems/practice/doubling/")
    assert "it has no free sessions until the study is closed" in shown
    assert "Start a session" not in shown


@pytest.mark.slow
def test_queries_of_the_pages_do_not_depend_on_the_rows(
    admin: Client,
    problems: list[Problem],
    freeze: FreezeFactory,
    tutors: list[User],
):
    small = freeze(name="small", problems={"dataset": "practice", "only": ["doubling", "doubling-1"]})
    admin.post(f"/studies/{small.pk}/stop/", {"reason": "Enough."})
    admin.post(f"/studies/{small.pk}/close/")
    large = freeze(name="large", sessions_per_cell=2)
    admin.post(f"/studies/{large.pk}/stop/", {"reason": "Enough."})
    admin.post(f"/studies/{large.pk}/close/")
    for rest in ("", "assignments/"):
        counts = []
        for study in (small, large):
            with CaptureQueriesContext(connection) as found:
                page(admin, f"/studies/{study.pk}/{rest}")
            counts.append(len(found))
        assert counts[0] == counts[1], rest


def test_drafts_list_their_next_step(admin: Client, ada: User):
    SaveDesign(ada, design_data()).execute()
    shown = page(admin, "/studies/")
    assert "Complete the design, look at its power, and freeze it." in shown


def test_commands_need_the_token_of_the_page(freeze: FreezeFactory, ada: User):
    study = freeze()
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    commands = [
        f"{study.pk}/{name}" for name in ("freeze", "amend", "runs", "look", "stop", "close", "deviation")
    ]
    for address in ("/sessions/next/", *(f"/studies/{one}/" for one in ("save", *commands))):
        assert client.post(address, {"reason": "x"}).status_code == 403, address
        assert client.get(address).status_code in (404, 405), address


NEUTRAL = {"kind": "automatic", "name": "neutral", "method": "zero-shot", "model": "script@1", "draws": 2}


@pytest.mark.usefixtures("sandbox")
def test_an_admin_starts_and_resumes_the_runs_of_automatic_arms(
    admin: Client, freeze: FreezeFactory, monkeypatch: pytest.MonkeyPatch
):
    dispatched: list[Run] = []
    workers = 0

    def connected() -> int:
        if not workers:
            raise QueueUnavailableError("No worker is connected.")
        return workers

    monkeypatch.setattr(runs, "connected_workers", connected)
    monkeypatch.setattr(runs, "dispatch", dispatched.append)
    LanguageModel.objects.create(label="script", spec="practice:student")
    LanguageModel.objects.create(label="dear", spec="compatible@lab:m")
    human = design_data()["arms"][0]
    other = NEUTRAL | {"name": "dear", "model": "dear@1"}
    study = freeze(arms=[human, NEUTRAL, other], primary_contrast=["arm-0", "neutral"])
    address = f"/studies/{study.pk}/"
    assert "Start or resume the runs of the automatic arms." in page(admin, "/studies/")
    shown = page(admin, address)
    assert "not started; 12 chains left. Price: unknown" in shown

    def press(cost: str = "") -> str:
        return admin.post(f"{address}runs/", {"cost": cost}, follow=True).content.decode()

    assert "Type the most US dollars of each run as a number above 0" in press("much")
    assert "No worker can be reached, so no run was started." in press()
    workers = 2

    assert "The price of dear v1 is unknown, so its cost cannot be limited." in press("5")
    caps.set_cap("site", "", "day", 5)
    assert "the spending cap of the site cannot hold. Type a price on the model" in press()
    assert not Run.objects.exists(), "all runs are started or none"
    LanguageModel.objects.filter(label="dear").update(price={"input": 1, "output": 2})
    assert "The workers execute 2 runs." in press("2,5")
    stored = {run.arm.name: run for run in Run.objects.select_related("arm")}
    assert set(dispatched) == set(stored.values())
    assert {(run.distributed, run.study_key) for run in stored.values()} == {(True, study.spending_key)}
    assert (stored["dear"].budget, (stored["dear"].price or {})["input"]) == ({"cost": 2.5}, 1)
    assert "Start the runs" not in page(admin, address)
    assert "Every automatic arm of hints v1 has a run" in press()
    Run.objects.filter(pk=stored["dear"].pk).update(
        state=Run.State.STOPPED, stop_reason="the budget is used up"
    )
    assert "stopped: the budget is used up; 12 chains left." in page(admin, address)
    assert "The workers execute 1 run." in press("9")
    stored["dear"].refresh_from_db()
    assert (stored["dear"].state, stored["dear"].budget) == (Run.State.OPEN, {"cost": 9})
    Study.objects.update(state=Study.State.CLOSED)
    Run.objects.update(state=Run.State.STOPPED)
    assert "Start the runs" not in page(admin, address)
    assert "Its runs are neither started nor resumed." in press()


def test_reviewers_of_a_study_with_an_automatic_arm_do_not_learn_who_held_a_session(
    freeze: FreezeFactory, tutors: list[User], rita: User
):
    script = LanguageModel.objects.create(label="script", spec="practice:student")
    study = freeze(arms=[design_data()["arms"][0], NEUTRAL], primary_contrast=["arm-0", "neutral"])
    of_person = begin(tutors[0])
    finish(of_person, solved=True)
    row = study.assignments.filter(tutor=None).first()
    assert row is not None
    run = Run.objects.create(
        dataset=row.problem.dataset, method="zero-shot", model=script, model_spec=script.spec, parameters={},
        manifest={}, study_key=study.spending_key,
    )  # fmt: skip
    row.work_item = WorkItem.objects.create(run=run, problem=row.problem, chain=0, state="done")
    row.save()
    automatic, outside = (
        Session.objects.create(
            origin=Session.Origin.AUTOMATIC, problem=row.problem, model_spec=script.spec, language="python",
            state=Session.State.CLOSED, code_generations=1, work_item=item,
        )
        for item in (row.work_item, None)
    )  # fmt: skip
    Session.objects.filter(assignment=of_person).update(code_generations=1)
    reviewer = client_of(rita)

    def waiting() -> list[str]:
        return re.findall(r"sessions \((\d+)\)", page(reviewer, "/review/"))

    assert waiting() == ["2", "1", "3"], "the study's automatic session is among those of people"
    assert "Their sessions are mixed" in page(reviewer, "/review/")
    for _ in range(2):
        reviewer.post("/review/next/", {"command": str(uuid4()), "kind": "review", "origin": "people"})
        Review.objects.filter(state=Review.State.OPEN).update(state=Review.State.SKIPPED)
    claimed = {entry.session_id: entry.data for entry in AuditEntry.objects.all()}
    assert claimed.keys() == {automatic.pk, of_person.session_id}
    assert {(one["origins"], one["blind"]) for one in claimed.values()} == {("people", True)}
    Study.objects.update(state=Study.State.CLOSED)
    assert waiting() == ["0", "1", "1"], "skipped sessions do not come again"
    assert outside.pk not in claimed


def test_a_design_that_can_have_no_result_warns_before_freezing(
    admin: Client, ada: User, freeze: FreezeFactory
):
    freeze()  # makes the rows that the draft names
    names = [f"tutor-{number}" for number in range(4)]
    data = design_data(name="few", problems={"dataset": "practice"}, tutors=names, stopping=E_VALUE)
    draft = SaveDesign(ada, data).execute()
    sentence = (
        "The e-value cannot reach 20: this needs at least 8 pairs that differ in one direction, and the design "
        "has 6."
    )
    for address in (f"/studies/{draft.pk}/", f"/studies/{draft.pk}/power/"):
        assert sentence in page(admin, address), address
    refused = admin.post(f"/studies/{draft.pk}/freeze/", {"confirm": "on"}, follow=True).content.decode()
    assert f"The design: too few problems. {sentence}" in refused
    typed = "?control_rate=20&effect=50&spread=1&compliance=100&problems="
    assert sentence in page(admin, f"/studies/{draft.pk}/power/{typed}6")
    assert "cannot reach" not in page(admin, f"/studies/{draft.pk}/power/{typed}8")


def test_tutors_with_other_roles_do_not_read_the_records_of_their_running_study(
    freeze: FreezeFactory, tutors: list[User], rosa: User
):
    study = freeze()
    assignment = begin(tutors[0])
    finish(assignment, solved=True)
    tutors[0].groups.set(Group.objects.filter(name__in=[Role.TUTOR, Role.RESEARCHER]))
    tutors[1].groups.set(Group.objects.filter(name__in=[Role.TUTOR, Role.REVIEWER]))
    address = f"/trajectories/{assignment.session_id}/"

    def statuses() -> list[int]:
        return [client_of(one).get(address).status_code for one in (tutors[0], tutors[1], rosa)]

    assert statuses() == [404, 404, 200]
    listed = page(client_of(tutors[1]), "/trajectories/")
    assert str(assignment.session_id) not in listed
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    assert statuses() == [200, 200, 200]


def test_the_models_of_a_running_study_are_hidden_from_its_tutors_on_spending_and_models(
    freeze: FreezeFactory, tutors: list[User], rosa: User
):
    study = freeze()
    begin(tutors[0])
    spec = "openai:hidden-model-name"
    DailySpend.objects.create(
        day=ledger.today(), model_spec=spec, study_key=study.spending_key, calls=3, microdollars=1_230_000
    )
    DailySpend.objects.create(day=ledger.today(), model_spec="openai:other", calls=1, microdollars=10_000)
    caps.set_cap("model", spec, "day", 5)
    caps.set_cap("study", study.spending_key, "total", 5)
    tutors[0].groups.set(Group.objects.filter(name__in=[Role.TUTOR, Role.RESEARCHER]))
    tutor, researcher = client_of(tutors[0]), client_of(rosa)
    row = f'<th scope="row" class="identifier">{spec}</th>'
    address = f"/models/{LanguageModel.objects.get(spec=spec).pk}/"

    shown = page(researcher, "/spending/")
    assert row in shown
    assert shown.count('<span class="narrow-label">Spent: </span>1.23') == 2
    assert "1&nbsp;session" in page(researcher, address)

    hidden = page(tutor, "/spending/")
    assert row not in hidden
    assert "openai:other" in hidden
    assert hidden.count('<span class="narrow-label">Spent: </span>1.23') == 1, "that of the whole study"
    assert (
        "Spending on its models and the amounts that count in caps of models are hidden from you until it is closed"
        in hidden
    )
    for models in (address, "/models/"):
        assert "hidden until the studies that you tutor in are closed" in page(tutor, models)
        assert "session," not in page(tutor, models)

    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    assert row in page(tutor, "/spending/")
    assert "1&nbsp;session" in page(tutor, address)


@pytest.mark.parametrize("rehearsal", [False, True])
def test_only_the_pages_of_a_rehearsal_say_that_the_model_is_scripted(
    freeze: FreezeFactory, tutors: list[User], rehearsal: bool
):
    LanguageModel.objects.create(label="script", spec="practice:student")
    arms = [arm | {"model": "script@1"} for arm in design_data()["arms"]]
    only = {"dataset": "practice", "only": ["doubling", "doubling-1"]}
    freeze(arms=arms, rehearsal=rehearsal, problems=only)
    session = begin(tutors[0]).session
    assert session is not None
    shown = page(client_of(tutors[0]), f"/sessions/{session.pk}/")
    assert ("scripted practice student" in shown) == rehearsal


def test_a_draft_lists_problems_that_its_tutors_know_before_it_is_frozen(
    admin: Client, ada: User, freeze: FreezeFactory, tutors: list[User]
):
    study = freeze(tutors=[one.username for one in tutors[:2]])
    finish(begin(tutors[0]), solved=True)
    data = design_data(name="again", problems={"dataset": "practice"}, tutors=["tutor-0", "tutor-1"])
    draft = SaveDesign(ada, data).execute()
    shown = page(admin, f"/studies/{draft.pk}/")
    assert "Before this design can be frozen" in shown
    assert "had a session on it before" in shown
    assert study.pk != draft.pk


def test_own_export_of_a_running_study_names_no_protocol(freeze: FreezeFactory, tutors: list[User]):
    freeze()
    begin(tutors[0])
    exported = whole(client_of(tutors[0]).get("/sessions/export.jsonl"))
    [record] = [json.loads(line) for line in exported.splitlines()]
    assert (record["kind"], record["protocol"]) == ("session", None)
    for secret in ("usaco", "hidden-model-name", "arm"):
        assert secret not in exported, secret
