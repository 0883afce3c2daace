"""Yoked arms of studies: each assignment gets one chain, which begins with a session of the study."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmark.models import LanguageModel, Run
from benchmark.runner import RunOptions, RunPlan, prepare_resume
from tests.tutoring.dialogues import WRONG, SessionUnderTest
from tests.tutoring.studies.conftest import FreezeFactory, begin, finish
from tests.tutoring.studies.designs import design_data
from tutoring.models import Arm, Assignment, Deviation, Session, Study
from tutoring.studies.actions import OfferNext
from tutoring.studies.design import DesignError
from tutoring.studies.runs import plan_arm, start_arm
from tutoring.studies.summary import summaries
from tutoring.studies.upkeep import advance_studies

HUMAN, OTHER = design_data()["arms"]
SETTINGS = {"protocol": "usaco-2024@1", "from_first": "study=hints,attempt=any"}
YOKED = {
    "kind": "automatic",
    "name": "yoked",
    "method": "session-neutral",
    "model": "m@1",
    "settings": SETTINGS,
}
PROBLEMS = {"dataset": "practice", "only": ["doubling", "doubling-1"]}


@pytest.fixture
def freeze_yoked(freeze: FreezeFactory) -> FreezeFactory:
    """Freeze a study of one human arm and an arm yoked to its sessions on two problems."""

    def make(**changes: Any) -> Study:
        usual = {
            "arms": [HUMAN, YOKED],
            "problems": PROBLEMS,
            "primary_contrast": ["arm-0", "yoked"],
        }
        return freeze(**(usual | changes))

    return make


def hold(tutor: User, reply: str = WRONG) -> Assignment:
    """Hold the tutor's next session: one request for a program, one reply, a verdict."""
    assignment = begin(tutor)
    assert assignment.session is not None
    SessionUnderTest(assignment.session, tutor).ask_and_get(reply)
    assignment.session.refresh_from_db()
    finish(assignment, solved=False)
    return assignment


def hold_the_rest(tutors: list[User]) -> None:
    for tutor in tutors:
        while OfferNext(tutor).execute() is not None:
            hold(tutor)


def plan_yoked(study: Study) -> RunPlan:
    return plan_arm(study, study.arms.get(name="yoked"))


def sessions_of(plan: RunPlan) -> set[str]:
    """Return the sessions that the chains of the plan begin with."""
    return {start["session"] for starts in plan.prepared["from_first"].values() for start in starts}


def start_yoked(study: Study) -> Run:
    arm = study.arms.get(name="yoked")
    return start_arm(study.pk, arm.pk, plan_arm(study, arm), RunOptions())


@pytest.mark.usefixtures("sandbox")
def test_each_assignment_has_one_chain_although_more_sessions_fit(
    freeze_yoked: FreezeFactory, tutors: list[User]
):
    study = freeze_yoked(sessions_per_cell=2)
    hold_the_rest(tutors)
    plan = plan_yoked(study)
    assert plan.chains == {"doubling": 1, "doubling-1": 1}
    opened = Session.objects.order_by("problem", "opened_at", "pk").values_list("problem", "pk")
    first = {problem: str(session) for problem, session in reversed(list(opened))}
    assert sessions_of(plan) == set(first.values())
    reasons = plan.prepared["sessions_left_out"]
    assert len(reasons) == 2
    assert set(reasons.values()) == {"yoked_chains=1: earlier sessions begin the chains of its problem"}

    run = start_yoked(study)
    advance_studies()
    chains = study.assignments.filter(arm__name="yoked")
    assert run.items.count() == chains.count() == 2
    assert {row.work_item for row in chains} == set(run.items.all())


@pytest.mark.usefixtures("sandbox")
def test_a_resumed_run_has_the_same_chains(freeze_yoked: FreezeFactory, tutors: list[User]):
    study = freeze_yoked(sessions_per_cell=2)
    hold_the_rest(tutors)
    run = start_yoked(study)
    items, starts = set(run.items.values_list("pk")), run.manifest["prepared"]["from_first"]
    run.state, run.stop_reason = Run.State.STOPPED, "the budget is used up"
    run.save()
    prepare_resume(run, RunOptions())
    run.refresh_from_db()
    assert run.state == Run.State.OPEN
    assert set(run.items.values_list("pk")) == items
    assert run.manifest["prepared"]["from_first"] == starts


@pytest.mark.slow
def test_chains_begin_with_sessions_of_the_own_version_protocol_and_model(
    freeze_yoked: FreezeFactory, tutors: list[User]
):
    LanguageModel.objects.create(
        label="m", version=2, spec="openai:hidden-model-name", parameters={"temperature": 0.5}
    )
    study = freeze_yoked(arms=[HUMAN, OTHER | {"model": "m@2"}, YOKED])
    hold_the_rest(tutors)
    plan = plan_yoked(study)
    assert plan.settings.to_json()["from_first"] == "study=hints@1,attempt=any"
    own = study.assignments.filter(arm__name="arm-0").values_list("session", flat=True)
    assert sessions_of(plan) == {str(session) for session in own}
    assert set(plan.prepared["sessions_left_out"].values()) == {"its model m v2 has other parameters"}


@pytest.mark.usefixtures("sandbox")
def test_a_session_without_a_program_leaves_its_assignment_without_a_chain(
    freeze_yoked: FreezeFactory, tutors: list[User]
):
    study = freeze_yoked(tutors=[tutors[0].username])
    hold(tutors[0])
    last = begin(tutors[0])
    finish(last, solved=False)
    run = start_yoked(study)
    assert run.items.count() == 1
    [without] = study.assignments.filter(arm__name="yoked", state=Assignment.State.EXCLUDED)
    assert without.problem == last.problem
    deviation = study.deviations.get(kind=Deviation.Kind.OTHER)
    assert "it has no session of a person to begin with" in deviation.reason
    assert "1 session: it has no program" in deviation.reason


@pytest.mark.slow
def test_excluded_assignments_have_no_chains(freeze_yoked: FreezeFactory, tutors: list[User]):
    study = freeze_yoked()
    hold_the_rest(tutors)
    excluded = study.assignments.filter(arm__name="yoked", problem__external_id="doubling")
    excluded.update(state=Assignment.State.EXCLUDED, reason="the problem changed")
    assert set(plan_yoked(study).chains or {}) == {"doubling-1"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"draws": 2}, "holds 1 session with its protocol and model at each problem, fewer than its 2 draws"),
        ({"model": "n@1"}, "no human arm has its protocol and model"),
        ({"settings": {**SETTINGS, "temperature": 0.3}}, "no human arm has its protocol and model"),
        ({"settings": {"protocol": "usaco-2042", "from_first": "study=hints"}}, "no protocol 'usaco-2042'"),
    ],
)
def test_an_arm_that_the_studys_sessions_cannot_begin_is_not_frozen(
    freeze_yoked: FreezeFactory, changes: dict[str, Any], sentence: str
):
    LanguageModel.objects.create(label="n", spec="openai:another")
    with pytest.raises(DesignError, match=sentence):
        freeze_yoked(arms=[HUMAN, YOKED | changes])
    assert not Study.objects.exists()
    assert not Arm.objects.exists()


@pytest.mark.usefixtures("sandbox")
def test_the_list_of_studies_says_what_a_yoked_arm_waits_for(
    freeze_yoked: FreezeFactory, tutors: list[User], ada: User, client: Client
):
    study = freeze_yoked(tutors=[tutors[0].username])
    client.force_login(ada)

    def shown() -> str:
        study.refresh_from_db()
        [summary] = summaries([study])
        assert summary.next_step in client.get("/studies/").content.decode()
        return summary.next_step

    then = "Then start the runs of the arms yoked to them: yoked."
    assert shown() == f"Wait for the tutors: “Your next session” is on their pages. {then}"
    hold(tutors[0])
    assert shown() == f"Wait until the sessions of people have ended. {then}"
    hold_the_rest(tutors)
    assert shown() == "Start or resume the runs of the automatic arms."
    start_yoked(study)
    assert shown() == "Wait for 2 sessions and chains."
