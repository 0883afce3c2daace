"""Freezing, offers, sessions, expiry, replacement, deviations, looks and the end of studies."""

from __future__ import annotations

import json
import time
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from accounts.roles import Role
from benchmark.functional import Signature
from benchmark.judging.references import ReferenceResult, store_reference_verdicts
from benchmark.models import LanguageModel, Problem
from judge import Verdict
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import start
from tests.tutoring.studies.conftest import FreezeFactory, abandon, begin, finish, hold_all, let_expire
from tests.tutoring.studies.designs import design_data
from tutoring.actions import Invalidate
from tutoring.models import Arm, Assignment, Deviation, Look, Protocol, Session, Study
from tutoring.protocols import freeze as freeze_protocol
from tutoring.protocols import rules_of
from tutoring.review.solve_rates import counted_sessions
from tutoring.sessions.assignments import speed_scope
from tutoring.sessions.context import RefusedError
from tutoring.sessions.conversation import tutor_view
from tutoring.studies.actions import (
    AmendStudy,
    CloseStudy,
    FreezeStudy,
    OfferNext,
    RecordDeviation,
    ReportProblem,
    SaveDesign,
    StartAssigned,
    StopStudy,
    StudyRefusedError,
    TakeLook,
    withdraw_from_studies,
)
from tutoring.studies.analysis import current_figures, results_unlocked, visible_figures
from tutoring.studies.design import DesignError, parse_design, parse_frozen
from tutoring.studies.flow import study_flow
from tutoring.studies.gate import gate_findings
from tutoring.studies.upkeep import advance_studies

E_VALUE = {"rule": "sign e-value"}


def test_freezing_stores_every_cell_and_freezes_the_model(
    freeze: FreezeFactory, model: LanguageModel, tutors: list[User]
):
    study = freeze()
    assert (study.state, study.version, len(study.seed)) == (Study.State.FROZEN, 1, 64)
    assert study.assignments.count() == 12
    model.refresh_from_db()
    assert model.frozen_at is not None
    frozen = parse_frozen(study.design)
    assert frozen.digest == study.design_hash
    assert not {one.username for one in tutors} & set(frozen.design.tutors), "tutors have pseudonyms"
    assert set(study.tutors.all()) == set(tutors)
    assert study.seed not in json.dumps(study.design)


def test_a_draft_is_changed_until_it_is_frozen(
    freeze: FreezeFactory, problems: list[Problem], ada: User, rosa: User
):
    draft = SaveDesign(ada, design_data()).execute()
    again = SaveDesign(ada, design_data(title="Another")).execute()
    assert (again.pk, again.title, again.state) == (draft.pk, "Another", Study.State.DRAFT)
    assert freeze().pk == draft.pk
    with pytest.raises(DesignError, match="is frozen already and does not change"):
        SaveDesign(ada, design_data()).execute()
    with pytest.raises(PermissionDenied):
        SaveDesign(rosa, design_data()).execute()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"tutors": ["tutor-0"]},
            "Each problem needs 2 tutors .* but the design names 1 .* Name more tutors",
        ),
        ({"tutors": ["tutor-0", "tutor-1", "eve"]}, "no account eve"),
        ({"tutors": ["tutor-0", "tutor-1", "rosa"]}, "rosa is not a tutor. Give the account the role"),
        ({"problems": {"dataset": "usaco"}}, "no dataset usaco. Datasets: practice"),
        ({"problems": {"dataset": "practice", "only": ["nine"]}}, "practice has no problem nine"),
        ({"problems": {"dataset": "practice", "tiers": ["gold"]}}, "Widen the query"),
        ({"stopping": {"maximum": 7}}, "maximum of 7 pairs exceeds the 6 eligible problems"),
    ],
)
def test_a_design_that_cannot_be_filled_is_refused(
    freeze: FreezeFactory, rosa: User, changes: dict[str, object], sentence: str
):
    with pytest.raises(DesignError, match=sentence):
        freeze(**changes)
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        ({"protocol": "usaco-2042@1"}, "no protocol usaco-2042@1. There are: usaco-2024@1"),
        ({"model": "n@1"}, "no model n@1. There are: "),
        ({"model": "off@1"}, "The model off@1 is inactive. Activate it"),
        ({"model": "script@1"}, None),
        (
            {"kind": "automatic", "method": "zero-shoot", "protocol": None},
            "unknown method zero-shoot. Perhaps zero-shot",
        ),
        (
            {"kind": "automatic", "method": "zero-shot", "settings": {"temperament": 1}, "protocol": None},
            "Arm arm-1: .*temperament",
        ),
        (
            {
                "kind": "automatic",
                "method": "session-neutral",
                "settings": {"protocol": "usaco-2042"},
                "protocol": None,
            },
            "Arm arm-1 cannot run: There is no protocol 'usaco-2042'",
        ),
        (
            {"kind": "automatic", "method": "session-neutral", "draws": 9, "protocol": None},
            "Arm arm-1 cannot run: The protocol usaco-2024 v1 allows 3 sessions",
        ),
    ],
)
def test_an_unknown_arm_is_refused(freeze: FreezeFactory, arm: dict[str, object], sentence: str | None):
    LanguageModel.objects.create(label="off", spec="openai:off", active=False)
    LanguageModel.objects.create(label="script", spec="practice:student")
    arms = design_data()["arms"]
    arms[1] = {name: value for name, value in (arms[1] | arm).items() if value is not None}
    if sentence is None:
        assert freeze(arms=arms).state == Study.State.FROZEN, "the problems are those of practice"
        return
    with pytest.raises(DesignError, match=sentence):
        freeze(arms=arms)
    assert not Study.objects.exists()
    assert not Arm.objects.exists()


def test_earlier_sessions_make_a_tutor_ineligible(
    problems: list[Problem], tutors: list[User], freeze: FreezeFactory
):
    protocol = Protocol.objects.get(name="usaco-2024")
    start(tutors[0], problems[2], protocol)
    study = freeze()
    assert not study.assignments.filter(tutor=tutors[0], problem=problems[2]).exists()
    seen = parse_frozen(study.design).seen
    assert (seen.sessions, seen.sessions_of_tutors) == (1, 1)
    StopStudy(None, study.pk, "Enough.").execute()
    CloseStudy(None, study.pk).execute()
    for tutor in tutors[1:3]:
        start(tutor, problems[3], protocol)
        start(tutor, problems[2], protocol)
    with pytest.raises(DesignError, match=r"practice/doubling-2 needs 2 tutors .* only 1 can take it"):
        freeze(name="second")


def test_the_gate_lists_problems_and_freezes_nothing(
    problems: list[Problem], model: LanguageModel, tutors: list[User]
):
    problems[1].tests.filter(origin="hidden").delete()
    data = design_data(problems={"dataset": "practice"}, tutors=[one.username for one in tutors])
    with pytest.raises(DesignError) as refused:
        FreezeStudy(None, parse_design(data)).execute()
    assert "Problem practice/doubling-1: no hidden tests." in str(refused.value)
    assert "accept the gate's findings" in refused.value.faults[-1]
    assert not Study.objects.exists()


def test_functional_problems_under_a_protocol_for_another_language_freeze_nothing(
    freeze: FreezeFactory, problems: list[Problem]
):
    usaco = Protocol.objects.get(name="usaco-2024")
    freeze_protocol("cpp", rules_of(usaco).with_settings(language="cpp"))
    problems[1].signature = Signature("double", ("int",), "int").to_json()
    problems[1].save()
    arms = design_data()["arms"]
    arms[1]["protocol"] = "cpp@1"
    with pytest.raises(
        DesignError, match="Arm arm-1: programs for practice/doubling-1 define a method in Python"
    ):
        freeze(arms=arms)
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("AC", None),
        ("TLE", "limits not met"),
        ("WA", "reference not accepted"),
        ("NO_CODE", "reference not judged"),
    ],
)
def test_the_gate_reads_the_stored_verdicts_on_reference_programs(
    problems: list[Problem], verdict: str, kind: str | None
):
    result = ReferenceResult("doubling", "python", Verdict(verdict), "" if verdict == "AC" else "test 2")
    store_reference_verdicts(problems[:1], [result])
    assert [one.kind for one in gate_findings(problems[:1])] == ([kind] if kind else [])
    problems[0].content_hash = "1" * 64
    [changed] = gate_findings(problems[:1])
    assert (changed.kind, "verify_references practice" in changed.detail) == ("reference not judged", True)


def test_a_tutor_has_one_assignment_at_a_time(freeze: FreezeFactory, tutors: list[User], rosa: User):
    study = freeze()
    first = OfferNext(tutors[0]).execute()
    assert first is not None
    assert OfferNext(tutors[0]).execute() == first
    study.refresh_from_db()
    assert study.state == Study.State.RUNNING
    session = StartAssigned(tutors[0], first.pk).execute()
    assert StartAssigned(tutors[0], first.pk).execute() == session
    held = OfferNext(tutors[0]).execute()
    assert held is not None
    assert (held.pk, held.state, held.session) == (first.pk, Assignment.State.OPEN, session)
    assert session.model == first.arm.model
    first.refresh_from_db()
    finish(first, solved=True)
    assert first.state == Assignment.State.DONE
    second = OfferNext(tutors[0]).execute()
    assert second is not None
    assert second.order == 2
    with pytest.raises(Study.DoesNotExist):
        StartAssigned(tutors[1], second.pk).execute()
    with pytest.raises(PermissionDenied):
        OfferNext(rosa).execute()


def test_time_factors_are_fixed_for_the_whole_study(freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    first = OfferNext(tutors[0]).execute()
    assert first is not None
    session = StartAssigned(tutors[0], first.pk).execute()
    assert speed_scope(session) == study.spending_key
    assert speed_scope(Session(pk=uuid4())) == ""


def test_what_the_tutor_sees_names_neither_model_nor_arm(freeze: FreezeFactory, tutors: list[User]):
    freeze()
    assignment = begin(tutors[0])
    assert assignment.session is not None
    text = repr(tutor_view(assignment.session))
    for hidden in ("hidden-model-name", "arm-0", "arm-1"):
        assert hidden not in text.replace(repr(assignment.session), "")


def test_problems_of_the_study_are_closed_to_free_sessions_of_its_tutors(
    freeze: FreezeFactory, problems: list[Problem], tutors: list[User], alice: User
):
    study = freeze()
    protocol = Protocol.objects.get(name="usaco-2024")
    with pytest.raises(RefusedError, match="part of a study in which you take part"):
        start(tutors[0], problems[0], protocol)
    start(alice, problems[0], protocol)  # a tutor outside the study
    StopStudy(None, study.pk, "Enough.").execute()
    CloseStudy(None, study.pk).execute()
    start(tutors[0], problems[0], protocol)


def test_an_offer_expires_and_is_replaced_once(freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    offered = OfferNext(tutors[0]).execute()
    assert offered is not None
    let_expire(offered)
    with pytest.raises(RefusedError, match="no longer offered"):
        StartAssigned(tutors[0], offered.pk).execute()
    for _ in range(2):
        advance_studies()
    offered.refresh_from_db()
    assert offered.state == Assignment.State.EXPIRED
    replacement = offered.replacement
    assert (replacement.arm, replacement.problem, replacement.replicate) == (
        offered.arm,
        offered.problem,
        offered.replicate,
    )
    here = study.assignments.filter(problem=offered.problem).values_list("tutor", flat=True)
    assert len(set(here)) == 3
    loads = [study.assignments.filter(tutor=one).exclude(state="expired").count() for one in tutors]
    assert max(loads) - min(loads) <= 2


def test_without_a_tutor_for_a_replacement_a_deviation_says_so(freeze: FreezeFactory, tutors: list[User]):
    study = freeze(tutors=[one.username for one in tutors[:2]])
    offered = OfferNext(tutors[0]).execute()
    assert offered is not None
    let_expire(offered)
    advance_studies()
    assert [one.kind for one in study.deviations.all()] == [Deviation.Kind.NO_REPLACEMENT]
    assert study.assignments.count() == 12


def test_a_session_that_is_not_finished_in_time_counts_as_not_solved(
    freeze: FreezeFactory, tutors: list[User]
):
    study = freeze()
    assignment = begin(tutors[0])
    let_expire(assignment)
    for _ in range(2):
        advance_studies()
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.DONE
    assert assignment.session is not None
    assert assignment.session.outcome == Session.Outcome.ABANDONED
    assert [one.kind for one in study.deviations.all()] == [Deviation.Kind.EXPIRED_SESSION]


def test_a_changed_problem_is_excluded_with_a_deviation(
    freeze: FreezeFactory, tutors: list[User], problems: list[Problem]
):
    study = freeze()
    offered = OfferNext(tutors[0]).execute()
    assert offered is not None
    offered.problem.content_hash = "1" * 64
    offered.problem.save()
    with pytest.raises(RefusedError, match="changed since the study began"):
        StartAssigned(tutors[0], offered.pk).execute()
    advance_studies()
    [deviation] = study.deviations.all()
    assert deviation.kind == Deviation.Kind.PROBLEM_CHANGED
    assert deviation.assignments.count() == 2
    assert set(study.assignments.filter(problem=offered.problem).values_list("state", "reason")) == {
        ("excluded", "problem_changed")
    }


def test_infrastructure_is_replaced_and_a_breach_is_not(freeze: FreezeFactory, tutors: list[User], ada: User):
    study = freeze(primary_outcome="solved and compliant")
    first, second = begin(tutors[0]), begin(tutors[1])
    finish(first, solved=True)
    finish(second, solved=True)
    assert first.session is not None
    report = ReportProblem(
        tutors[0], first.session.pk, "judge", "The judge rejects a correct program."
    ).execute()
    settled = RecordDeviation(
        ada, study.pk, "infrastructure", "The answer file was wrong.", settles=report.pk
    ).execute()
    assert settled.settles == report
    first.refresh_from_db()
    first.session.refresh_from_db()
    assert (first.state, first.reason) == (Assignment.State.EXCLUDED, "infrastructure")
    assert first.session.invalidated
    assert first.replacement.state == Assignment.State.PLANNED
    with pytest.raises(StudyRefusedError, match="settled already"):
        RecordDeviation(ada, study.pk, "dismissed", "No.", settles=report.pk).execute()
    RecordDeviation(ada, study.pk, "tutor", "Dictated code.", [second.pk]).execute()
    second.refresh_from_db()
    assert second.state == Assignment.State.DONE
    boxes = [arm.boxes["analysed"] for arm in study_flow(study).arms]
    assert sum(boxes) == 1
    rates = [arm.rate for arm in current_figures(study).arms if arm.sessions]
    assert rates == [0.0]
    for kind, reason, rows, sentence in [
        ("tutor", "x", [], "Name the assignments"),
        ("tutor", " ", [second.pk], "Say what happened"),
        ("expired_session", "x", [second.pk], "is one of: infrastructure"),
        ("infrastructure", "x", [first.pk], "is excluded already"),
        ("other", "x", [987654], "no assignment 987654"),
    ]:
        with pytest.raises(StudyRefusedError, match=sentence):
            RecordDeviation(ada, study.pk, kind, reason, rows).execute()
    with pytest.raises(PermissionDenied):
        RecordDeviation(tutors[0], study.pk, "other", "x").execute()


def test_an_invalidated_session_waits_for_its_cause(freeze: FreezeFactory, tutors: list[User], ada: User):
    study = freeze()
    assignment = begin(tutors[0])
    finish(assignment, solved=True)
    assert assignment.session is not None
    Invalidate(session_id=assignment.session.pk, person=ada, command=uuid4(), reason="?").execute()
    flow = study_flow(study)
    assert {"invalidated, cause not settled": 1} in [arm.not_analysed for arm in flow.arms]


@pytest.mark.slow
def test_results_are_locked_until_the_end_of_a_fixed_design(freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    finish(begin(tutors[0]), solved=True)
    assert visible_figures(study) is None
    with pytest.raises(StudyRefusedError, match="The design has no looks"):
        TakeLook(None, study.pk).execute()
    hold_all(tutors, solved=lambda one: one.arm.name == "arm-0")
    advance_studies()
    study.refresh_from_db()
    assert study.state == Study.State.CLOSED
    figures = visible_figures(study)
    assert figures is not None
    assert figures.primary is not None
    assert (figures.pairs, figures.primary.problems) == (6, 6)
    assert figures.primary.difference >= 5 / 6
    assert not figures.biased_upwards
    with pytest.raises(StudyRefusedError, match="unlocked already"):
        TakeLook(None, study.pk).execute()


def test_a_look_unlocks_the_results_and_the_rule_stops_the_study(
    freeze: FreezeFactory, tutors: list[User], problems: list[Problem]
):
    study = freeze(stopping=E_VALUE)
    with pytest.raises(StudyRefusedError, match="A look needs a running study"):
        TakeLook(None, study.pk).execute()
    finish(begin(tutors[0]), solved=True)
    assert not results_unlocked(study)
    look = TakeLook(None, study.pk).execute()
    assert (look.decision, look.counted) == (Look.Decision.CONTINUE, 0)
    assert results_unlocked(study)
    with pytest.raises(TypeError):
        look.save()
    with pytest.raises(TypeError):
        look.delete()


@pytest.mark.slow
def test_a_study_stops_by_its_e_value(freeze: FreezeFactory, tutors: list[User], problems: list[Problem]):
    """8 pairs in one direction reach B(9, 1) · 2^8 = 28.4; 7 reach 16."""
    for number in range(6, 10):
        copy = Problem.objects.get(pk=problems[0].pk)
        copy.pk, copy.external_id = None, f"doubling-{number}"
        copy._state.adding = True
        copy.save()
    study = freeze(stopping=E_VALUE)
    stopped = False
    for _ in range(10):
        for tutor in tutors:
            if OfferNext(tutor).execute() is not None:
                assignment = begin(tutor)
                finish(assignment, solved=assignment.arm.name == "arm-1")
                advance_studies()
                study.refresh_from_db()
                stopped = stopped or study.state != Study.State.RUNNING
    assert stopped
    [look] = study.looks.all()
    assert (look.by, look.decision, look.counted) == (None, Look.Decision.STOP, 8)
    figures = visible_figures(study)
    assert figures is not None
    assert figures.e_value is not None
    assert figures.e_value.reached_at == 8
    assert figures.biased_upwards
    assert study.assignments.filter(state="excluded", reason="stopped").count() >= 1
    study.assignments.filter(state="done").update(outcomes={"solved": 1})
    assert current_figures(study).biased_upwards, "corrected outcomes do not undo the stop"


def test_stop_and_close(freeze: FreezeFactory, tutors: list[User]):
    study = freeze()
    running = begin(tutors[0])
    with pytest.raises(StudyRefusedError, match="Say why"):
        StopStudy(None, study.pk, " ").execute()
    StopStudy(None, study.pk, "No money.").execute()
    assert OfferNext(tutors[1]).execute() is None
    with pytest.raises(StudyRefusedError, match="1 sessions of hints v1 have not ended"):
        CloseStudy(None, study.pk).execute()
    abandon(running)
    advance_studies()
    study.refresh_from_db()
    assert study.state == Study.State.CLOSED
    assert [one.kind for one in study.deviations.all()] == [Deviation.Kind.STOPPED]
    with pytest.raises(StudyRefusedError, match="is closed"):
        StopStudy(None, study.pk, "Again.").execute()


def test_an_amendment_is_a_new_version_and_old_sessions_make_ineligible(
    freeze: FreezeFactory, tutors: list[User], ada: User
):
    study = freeze()
    met = begin(tutors[0])
    names = [one.username for one in tutors]
    changed = parse_design(
        design_data(problems={"dataset": "practice"}, tutors=names, title="Do hints really help?")
    )
    new = AmendStudy(ada, study.pk, changed, "A clearer title.", accept_gate=True).execute()
    study.refresh_from_db()
    assert (new.version, new.state, study.state) == (2, Study.State.FROZEN, Study.State.STOPPED)
    assert [one.kind for one in study.deviations.all()] == [Deviation.Kind.AMENDMENT]
    assert not new.assignments.filter(tutor=tutors[0], problem=met.problem).exists()
    with pytest.raises(StudyRefusedError, match="Only a frozen or running study can be amended"):
        AmendStudy(ada, study.pk, changed, "Again.").execute()


def test_a_withdrawal_keeps_outcomes_and_replaces_what_was_not_started(
    freeze: FreezeFactory, tutors: list[User]
):
    study = freeze()
    done = begin(tutors[0])
    finish(done, solved=True)
    running = begin(tutors[0])
    [deviation] = withdraw_from_studies(tutors[0], "Withdrew on request.")
    assert deviation.kind == Deviation.Kind.WITHDRAWAL
    done.refresh_from_db()
    running.refresh_from_db()
    assert (done.outcomes["solved"], running.outcomes["solved"], running.state) == (1, 0, "done")
    rest = study.assignments.filter(tutor=tutors[0]).exclude(pk__in=[done.pk, running.pk])
    assert {row.reason for row in rest} == {"withdrawal"}
    assert all(row.replacement.tutor != tutors[0] for row in rest)
    assert sum(arm.boxes["analysed"] for arm in study_flow(study).arms) == 2


def test_a_rehearsal_is_left_out_of_figures(freeze: FreezeFactory, tutors: list[User]):
    freeze(rehearsal=True)
    finish(begin(tutors[0]), solved=True)
    assert not counted_sessions().exists()


@pytest.mark.slow
def test_a_thousand_assignments_are_frozen_within_a_second(
    problems: list[Problem], model: LanguageModel, person: PersonFactory
):
    first = problems[0]
    rows = []
    for number in range(250):
        copy = Problem.objects.get(pk=first.pk)
        copy.pk, copy.external_id = None, f"many-{number}"
        rows.append(copy)
    Problem.objects.bulk_create(rows)
    tutors = [person(f"many-{number}", Role.TUTOR).username for number in range(20)]
    query = {"dataset": "practice", "only": [row.external_id for row in rows]}
    design = parse_design(design_data(problems=query, tutors=tutors, sessions_per_cell=2))
    start_time = time.process_time()
    study = FreezeStudy(None, design, accept_gate=True).execute()
    taken = time.process_time() - start_time
    assert study.assignments.count() == 1_000
    assert taken < 1
