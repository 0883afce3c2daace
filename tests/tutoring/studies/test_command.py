"""manage.py study: every action, its JSON, and clear errors with status 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from benchmark.models import LanguageModel, Problem, Run, WorkItem
from benchmark.runner import RunOptions
from tests.tutoring.studies.conftest import begin, finish
from tests.tutoring.studies.designs import design_data
from tutoring.models import Assignment, Study
from tutoring.studies.actions import StudyRefusedError
from tutoring.studies.analysis import current_figures
from tutoring.studies.runs import plan_arm, start_arm
from tutoring.studies.upkeep import advance_studies

pytestmark = pytest.mark.usefixtures("problems", "model", "tutors")


def study(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    call_command("study", *arguments, "--json")
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "hints.yaml"
    data = design_data(
        problems={"dataset": "practice"},
        tutors=[f"tutor-{number}" for number in range(4)],
        stopping={"rule": "sign e-value"},
    )
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_study_from_the_design_to_the_export(
    design: Path, tmp_path: Path, tutors: list[User], capsys: pytest.CaptureFixture[str]
):
    size = ["--control-rate", "0.3", "--effect", "0.4", "--minutes", "30"]
    power = study(capsys, "power", str(design), *size, "--problems", "30")
    assert 0 < power["low"] < power["power"] < power["high"] < 1
    assert (power["sessions"], power["hours"]) == (60, 30.0)
    with pytest.raises(CommandError, match="reference not judged"):
        study(capsys, "freeze", str(design))
    assert study(capsys, "list") == []
    frozen = study(capsys, "freeze", str(design), "--accept-gate")
    assert (frozen["name"], frozen["version"], frozen["assigned"]) == ("hints", 1, 12)
    assert len(frozen["preregistration_sha256"]) == 64
    assert study(capsys, "verify", "hints") == {"rows": 12, "replacements": 0, "faults": []}
    finish(begin(tutors[0]), solved=True)
    assert study(capsys, "look", "hints")["decision"] == "continue"
    assert study(capsys, "list")[0]["done"] == 1
    again = study(capsys, "freeze", str(design), "--accept-gate", "--amend", "Clearer arms.")
    assert again["version"] == 2
    assert study(capsys, "stop", "hints", "--reason", "Enough.")["state"] == "stopped"
    assert study(capsys, "close", "hints")["state"] == "closed"
    folder = tmp_path / "out"
    files = study(capsys, "export", "hints@1", "--output", str(folder))["files"]
    assert {Path(file).name for file in files} >= {"preregistration.md", "assignments.csv", "flow.json"}
    with pytest.raises(CommandError, match="not an empty folder"):
        study(capsys, "export", "hints@1", "--output", str(folder))


def test_texts(design: Path, capsys: pytest.CaptureFixture[str], tutors: list[User]):
    call_command("study", "list")
    assert "There is no study yet." in capsys.readouterr().out
    call_command("study", "power", str(design), "--control-rate", "0.3", "--effect", "0.4")
    assert "unknown (--minutes)" in capsys.readouterr().out
    call_command("study", "freeze", str(design), "--accept-gate")
    assert "12 assignments on 6 problems" in capsys.readouterr().out
    finish(begin(tutors[0]), solved=True)
    for arguments, text in [
        (["list"], "hints v1"),
        (["look", "hints"], "0 complete pairs: continue"),
        (["verify", "hints"], "12 assignments of hints v1 computed again"),
        (["stop", "hints", "--reason", "Enough."], "Open sessions continue"),
        (["close", "hints"], "is closed"),
    ]:
        call_command("study", *arguments)
        assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1, 2]", "not a list or a text"),
        ("a: [", "neither JSON nor YAML"),
        ("{}", "field name: missing"),
        ('{"name": "Bad Name"}', "field name: "),
        (json.dumps(design_data(primary_contrast=["arm-0", "arm-7"])), "unknown arm arm-7"),
        (json.dumps(design_data(primary_outcome="happy")), "field primary_outcome: "),
        (json.dumps(design_data(colour="red")), "field colour: unknown; expected: name, title"),
        (json.dumps(design_data(tutors=["bob", "bob"])), "must name each only once"),
    ],
)
def test_an_invalid_design_is_refused(tmp_path: Path, text: str, sentence: str):
    path = tmp_path / "design.json"
    path.write_text(text)
    with pytest.raises(CommandError, match=sentence.replace("(", r"\(")):
        call_command("study", "freeze", str(path))
    assert not Study.objects.exists()


def test_unknown_files_and_studies(tmp_path: Path):
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("study", "freeze", str(tmp_path / "missing.json"))
    with pytest.raises(CommandError, match=r"There is no study hints\. Studies: none yet"):
        call_command("study", "look", "hints")


def test_a_study_of_tutors_alone_has_nothing_to_run(design: Path):
    call_command("study", "freeze", str(design), "--accept-gate")
    with pytest.raises(CommandError, match="no automatic arm"):
        call_command("study", "run", "hints")


def test_a_changed_row_ends_verify_with_status_1(design: Path):
    call_command("study", "freeze", str(design), "--accept-gate")
    Assignment.objects.filter(order=1).update(order=99)
    with pytest.raises(CommandError, match="4 differences: hints v1 is not as it was frozen"):
        call_command("study", "verify", "hints")


@pytest.mark.usefixtures("sandbox")
def test_automatic_arms_have_runs_with_draws_of_their_own(
    design: Path, problems: list[Problem], tutors: list[User]
):
    LanguageModel.objects.create(label="script", spec="practice:student", parameters={"temperature": 0.5})
    data = yaml.safe_load(design.read_text())
    data["problems"] = {"dataset": "practice", "only": ["doubling", "doubling-1"]}
    data["arms"][1] = {
        "kind": "automatic",
        "name": "alone",
        "method": "zero-shot",
        "settings": {"max_output_tokens": 900},
        "model": "script@1",
        "draws": 2,
    }
    data["primary_contrast"] = ["arm-0", "alone"]
    design.write_text(yaml.safe_dump(data))
    call_command("study", "freeze", str(design), "--accept-gate")
    study = Study.objects.get()
    arm = study.arms.get(name="alone")
    run = start_arm(study.pk, arm.pk, plan_arm(study, arm), RunOptions())
    assert (run.items.count(), run.attempts, run.first_draw > 0) == (4, 2, True)
    assert run.model is not None
    sent = {"temperature": 0.5, "max_output_tokens": 900}
    assert (run.model.label, run.model.parameters) == ("script", sent), "a version with the typed setting"
    assert (run.parameters["temperature"], run.parameters["max_output_tokens"]) == (0.5, 900)
    with pytest.raises(StudyRefusedError, match="has run"):
        start_arm(study.pk, arm.pk, plan_arm(study, arm), RunOptions())
    first, second = run.items.filter(problem__external_id="doubling").order_by("pk")
    first.state = WorkItem.State.DONE
    first.save()
    advance_studies()
    chains = study.assignments.filter(arm=arm)
    assert chains.exclude(work_item=None).count() == 4
    [row] = chains.filter(state=Assignment.State.DONE)
    assert (row.work_item, row.problem, row.replicate) == (first, first.problem, first.chain + 1)
    second.state = WorkItem.State.DONE
    second.save()
    advance_studies()
    [rate] = [one for one in current_figures(study).arms if one.arm == "alone"]
    assert (rate.sessions, rate.rate) == (2, 0.0), "a chain without a program is not solved"


def test_an_arm_that_cannot_run_is_refused_before_anything_is_stored(design: Path):
    data = yaml.safe_load(design.read_text())
    data["arms"][1] = {"kind": "automatic", "name": "alone", "method": "semantic", "model": "m@1"}
    data["primary_contrast"] = ["arm-0", "alone"]
    design.write_text(yaml.safe_dump(data))
    with pytest.raises(CommandError, match="Arm alone cannot run: "):
        call_command("study", "freeze", str(design), "--accept-gate")
    assert not Study.objects.exists()
    assert not Run.objects.exists()
