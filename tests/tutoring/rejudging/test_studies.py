"""Rejudgings of sessions and chains of studies: deviations, outcomes, and locked results."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from benchmark.judging import apply_rejudging
from benchmark.models import Problem, Rejudging, Run
from tests.tutoring.dialogues import SessionUnderTest
from tests.tutoring.rejudging.corrections import DOUBLE, correct, hold, judged_again, store_run
from tests.tutoring.review.browsing import client_of
from tests.tutoring.studies.conftest import (
    FreezeFactory,
    _forget_states,  # noqa: F401  a fixture
    begin,
    freeze,  # noqa: F401  a fixture
    model,  # noqa: F401  a fixture
    problems,  # noqa: F401  a fixture
    tutors,  # noqa: F401  a fixture
)
from tutoring.models import Arm, Assignment, Deviation, Study
from tutoring.rejudging.comparison import changed_programs, compare_verdicts
from tutoring.rejudging.selection import Selection
from tutoring.studies.actions import StopStudy
from tutoring.studies.analysis import StudyData
from tutoring.studies.outcomes import analysed_rows, assignment_outcomes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]


@pytest.fixture
def held(freeze: FreezeFactory, tutors: list[User]) -> Assignment:  # noqa: F811
    """The first assignment of a running study, whose session solved its problem."""
    freeze()
    assignment = begin(tutors[0])
    assert assignment.session is not None
    hold(SessionUnderTest(assignment.session, tutors[0]), DOUBLE)
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.DONE
    return assignment


def rejudged(assignment: Assignment) -> Rejudging:
    correct(assignment.problem)
    return judged_again(Selection(studies=(assignment.study,)))


def solved(assignment: Assignment) -> int:
    [row] = [row for row in analysed_rows(assignment.study) if row.pk == assignment.pk]
    return assignment_outcomes(assignment.study, [row])[row.pk].values["solved"]


def test_verdicts_of_a_running_study_are_shown_to_nobody(held: Assignment, rosa: User, ada: User):
    rejudging = rejudged(held)
    for person in (rosa, ada, None):
        found = compare_verdicts(rejudging, person)
        assert (found.programs, found.transitions, found.sessions, found.studies) == (0, (), (), ())
        [hidden] = found.hidden
        assert (hidden.name, hidden.programs) == (str(held.study), 2)
        assert not changed_programs(rejudging, person).exists()
    page = client_of(ada).get(rejudging.get_absolute_url()).content.decode()
    assert "2 programs of the study hints v1 are not shown: its results are locked." in page
    assert "<td>" not in page.partition("<aside")[0], "no table of verdicts"


def test_a_study_gets_a_deviation_without_verdicts_and_new_outcomes(held: Assignment, ada: User):
    rejudging = rejudged(held)
    assert solved(held) == 1
    ended = held.ended_at
    apply_rejudging(rejudging.pk, ada)
    held.refresh_from_db()
    assert (solved(held), held.state, held.ended_at) == (0, Assignment.State.DONE, ended)
    deviation = Deviation.objects.get(study=held.study)
    assert (deviation.kind, deviation.by, list(deviation.assignments.all())) == ("rejudged", ada, [held])
    assert deviation.data == {"rejudging": rejudging.pk, "problems": [str(held.problem)]}
    assert not {"AC", "WA", "solved"} & set(deviation.reason.split())


def test_a_stopped_study_is_compared(held: Assignment, rosa: User):
    rejudging = rejudged(held)
    tutor = held.tutor
    assert tutor is not None
    study = StopStudy(None, held.study_id, "Enough.").execute()
    assert study.state == Study.State.STOPPED
    # Researchers see the verdicts of a stopped study; its tutors do not before it is closed.
    [of_study] = compare_verdicts(rejudging, rosa).studies
    assert (of_study.name, of_study.changed, of_study.others) == (str(study), 1, 1)
    tutor.groups.add(*rosa.groups.all())
    assert compare_verdicts(rejudging, tutor).studies == ()
    assert client_of(tutor).get(rejudging.get_absolute_url()).status_code == 200
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    assert len(compare_verdicts(rejudging, tutor).studies) == 1


def test_a_chain_of_a_study_keeps_its_place_in_the_order(freeze: FreezeFactory, problems: list[Problem]):  # noqa: F811
    study = freeze()
    problem = problems[0]
    run = store_run(problem, DOUBLE, study_key=study.spending_key)
    item = run.items.get()
    arm = Arm.objects.create(
        study=study,
        name="auto",
        position=9,
        kind="automatic",
        model=study.arms.all()[0].model,
        method="zero-shot",
    )
    assert item.judgement is not None
    row = Assignment.objects.create(
        study=study,
        arm=arm,
        problem=item.problem,
        replicate=1,
        state="done",
        work_item=item,
        ended_at=item.judgement.finished_at,
    )
    before = StudyData.of(study)
    correct(item.problem)
    rejudging = judged_again(Selection(runs=(Run.objects.get(),)))
    assert compare_verdicts(rejudging, None).hidden[0].programs == 2
    apply_rejudging(rejudging.pk, None)
    after = StudyData.of(study)
    assert (before.value(row), after.value(row)) == (1, 0)
    assert before.settled("auto") == after.settled("auto") == [str(problem)]
    assert Deviation.objects.get(study=study).assignments.get() == row
