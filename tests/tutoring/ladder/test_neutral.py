"""The neutral arm on the ladder: the gains by level cap, and the chains beside the help curve."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from pytest_django import DjangoDbBlocker

from benchmark.models import LanguageModel, Problem, Run
from benchmark.runner.manifest import dataset_hash
from tests.tutoring.arms.arm_rows import protocol_record
from tests.tutoring.ladder.test_figures import capped_arms, document, hold
from tests.tutoring.studies.conftest import close_held_study, store_chains
from tutoring.models import Assignment, Look, Protocol, Study
from tutoring.protocols import freeze, rules_of

NEUTRAL = {
    "kind": "automatic", "name": "neutral", "method": "session-neutral", "model": "m@1",
    "settings": {"protocol": "cap-3@1"},
}  # fmt: skip


@pytest.fixture(scope="module")
def closed_study(module_rows: DjangoDbBlocker) -> None:
    """Hold a closed study: sessions under cap 3 are solved, those under cap 0 and neutral chains are not."""
    with module_rows.unblock():
        close_held_study(_hold, arms=[*capped_arms(0, 3), NEUTRAL])


def _hold(study: Study, tutors: list[User]) -> None:
    hold(study, tutors)
    store_chains(study, "neutral", "WW", protocol=Protocol.objects.get(name="cap-3"))


@pytest.fixture
def neutral(closed_study: None, db: None) -> Run:
    """The run of the neutral arm of the closed study."""
    return Run.objects.get()


def said(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    call_command("ladder", "--human", "study=hints")
    return capsys.readouterr().out


@pytest.mark.usefixtures("neutral")
def test_least_help_needs_a_gain_that_holm_confirms(capsys: pytest.CaptureFixture[str]):
    found = document(capsys, "study=hints")
    [_, gain] = found["gains"]
    assert (gain["first"], gain["low"] > 0, gain["holm"]) == ("arm-1", True, 0.0625)
    assert found["least_help"] is None
    assert "Least help: none shown" in said(capsys)


@pytest.mark.usefixtures("neutral")
def test_least_help_needs_six_problems(capsys: pytest.CaptureFixture[str]):
    kept = Problem.objects.filter(dataset__name="practice").order_by("pk")[:3].values("pk")
    rows = Assignment.objects.filter(arm__name="neutral").exclude(problem__in=kept)
    rows.update(state=Assignment.State.EXCLUDED)
    found = document(capsys, "study=hints")
    assert [(gain["problems"], gain["p"]) for gain in found["gains"]] == [(3, None), (3, None)]
    assert found["least_help"] is None
    assert "Least help: unknown: a gain is tested from 6 problems" in said(capsys)


def beside(found: Any) -> set[tuple[float | None, int]]:
    """Return the neutral values of the help curve with the numbers of sessions that they are compared with."""
    return {(one["neutral"], one["compared"]) for one in found["curve"][2:]}


def unpaired(found: Any) -> list[tuple[int, str]]:
    reason = "in the curve, but not beside the neutral arm: "
    return [(one["count"], one["reason"].removeprefix(reason)) for one in found["left_out"]]


def test_neutral_chains_stand_beside_sessions_of_every_cap(neutral: Run, capsys: pytest.CaptureFixture[str]):
    found = document(capsys, "study=hints")
    assert (beside(found), found["left_out"]) == ({(0.0, 12)}, [])
    assert not any("neutral arm has another" in warning for warning in found["warnings"])
    neutral.items.filter(problem__external_id="doubling").update(state="open")
    neutral.items.get(problem__external_id="doubling").session.delete()
    found = document(capsys, "study=hints")
    assert beside(found) == {(0.0, 10)}
    assert unpaired(found) == [(2, "no run has a session on the problem"), (1, "not finished yet")]


def test_neutral_chains_of_another_budget_are_left_out(neutral: Run, capsys: pytest.CaptureFixture[str]):
    rules = rules_of(Protocol.objects.get(name="cap-3"))
    short = freeze("short", rules.with_settings(code_generations=3))
    neutral.manifest["prepared"]["protocol"] = protocol_record(short)
    neutral.save()
    found = document(capsys, "study=hints")
    assert (beside(found), unpaired(found)) == ({(None, 0)}, [(12, "another protocol than short v1")])
    assert "The neutral arm has another protocol or model than every arm of people." in found["warnings"]


def test_neutral_chains_with_other_parameters_are_left_out(neutral: Run, capsys: pytest.CaptureFixture[str]):
    neutral.model = LanguageModel.objects.create(
        label="m", version=2, spec=neutral.model_spec, parameters={"temperature": 1}
    )
    neutral.save()
    found = document(capsys, "study=hints")
    assert beside(found) == {(None, 0)}
    assert unpaired(found) == [(12, "another model or other parameters than m v2")]


def test_neutral_chains_of_another_version_of_a_problem_are_left_out(
    neutral: Run, capsys: pytest.CaptureFixture[str]
):
    Problem.objects.filter(external_id="doubling").update(content_hash="e" * 64)
    neutral.manifest["dataset"]["content_hash"] = dataset_hash(neutral.dataset)
    neutral.save()
    found = document(capsys, "study=hints")
    assert beside(found) == {(0.0, 10)}
    assert unpaired(found) == [(2, "the problem has another version than in the runs")]


def test_chains_that_begin_with_programs_of_sessions_are_refused(
    neutral: Run, capsys: pytest.CaptureFixture[str]
):
    neutral.manifest["prepared"]["from_first"] = {}
    neutral.save()
    neutral.model = LanguageModel.objects.create(label="other", spec="openai:other")
    neutral.save()
    neutral.arm.model = neutral.model
    neutral.arm.save()
    found = document(capsys, "study=hints")
    assert (beside(found), found["gains"]) == ({(None, 0)}, [])
    assert not any("neutral arm has another" in warning for warning in found["warnings"])
    with pytest.raises(CommandError, match="Name a run without from_first"):
        call_command("ladder", "--human", "study=hints", "--neutral", str(neutral.pk))


def test_a_study_is_compared_in_one_version_after_its_end(neutral: Run, capsys: pytest.CaptureFixture[str]):
    first = Study.objects.get()
    running = Study.objects.create(
        name="hints", version=2, title=first.title, state=Study.State.RUNNING, design=first.design,
        design_hash=first.design_hash,
    )  # fmt: skip
    Look.objects.create(study=running, counted=6, figures={}, decision="continue")
    with pytest.raises(CommandError, match="figures of hints v2 by level cap are locked until it is stopped"):
        call_command("ladder", "--human", "study=hints")
    assert document(capsys, "study=hints@1")["sessions"] == 12
    Study.objects.filter(pk=running.pk).update(state=Study.State.CLOSED)
    with pytest.raises(CommandError, match="No session of a person fits 'study=hints@2'"):
        call_command("ladder", "--human", "study=hints")
