"""The gains of the cost plane, over the rows of a study with automatic arms."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from benchmark.judging import store_submission
from benchmark.models import Judgement
from tests.tutoring.effort.test_figures import measured
from tests.tutoring.studies.conftest import FreezeFactory, begin, finish, store_chains
from tests.tutoring.studies.designs import design_data
from tutoring.models import Assignment, Study


def automatic(name: str, method: str) -> dict[str, Any]:
    return {"kind": "automatic", "name": name, "method": method, "model": "m@1"}


def test_chains_that_never_finished_are_no_failures(
    freeze: FreezeFactory, tutors: list[User], capsys: pytest.CaptureFixture[str]
):
    neutral = automatic("neutral", "session-neutral") | {"draws": 2}
    study = freeze(arms=[design_data()["arms"][0], neutral], primary_contrast=["arm-0", "neutral"])
    finish(begin(tutors[0]), solved=True)
    run = store_chains(study, "neutral", "A")
    for row in study.assignments.filter(arm__name="neutral", work_item=None):
        row.work_item = run.items.create(problem=row.problem, chain=1, state="failed")
        row.state = Assignment.State.EXCLUDED
        row.save()
    Study.objects.update(state=Study.State.CLOSED)
    capsys.readouterr()
    call_command("effort", "--json", "--study", "hints")
    [point] = json.loads(capsys.readouterr().out)["cost_plane"]
    assert (point["gain"]["second_rate"], point["gain"]["second_sessions"]) == (1, 1)


def test_every_arm_of_automatic_sessions_counts_any_right_program(
    freeze: FreezeFactory, tutors: list[User], capsys: pytest.CaptureFixture[str]
):
    arms = [
        design_data()["arms"][0], automatic("neutral", "session-neutral"), automatic("again", "session-again"),
        automatic("single", "zero-shot"),
    ]  # fmt: skip
    study = freeze(arms=arms, primary_contrast=["arm-0", "neutral"])
    row = begin(tutors[0])
    finish(row, solved=True)
    assert row.session is not None
    measured(row.session, 5)
    store_chains(study, "neutral", "AW")
    store_chains(study, "again", "AW")
    single = store_chains(study, "single", "W")
    for item in single.items.select_related("problem"):
        submission = store_submission(item.problem, str(item.pk), "python")
        item.judgement = Judgement.objects.create(submission=submission, problem_hash="", verdict="AC")
        item.save()
    Study.objects.update(state=Study.State.CLOSED)
    capsys.readouterr()
    call_command("effort", "--json", "--study", "hints")
    plane = json.loads(capsys.readouterr().out)["cost_plane"]
    rates = {one["arm"]: (one["gain"]["first_rate"], one["gain"]["second_rate"]) for one in plane}
    assert rates == {"arm-0": (1, 1), "again": (1, 1), "single": (1, 1)}, (
        "the only program of a baseline method counts"
    )
