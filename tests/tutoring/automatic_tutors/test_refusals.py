"""Requests for figures of automatic tutors, and runs of `leak`, that are refused before anything is paid for."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.roles import Role
from tests.tutoring.arms.arm_rows import store_arm, store_problems
from tutoring.models import Protocol

pytestmark = pytest.mark.django_db


@pytest.fixture
def protocol() -> Protocol:
    return Protocol.objects.get(name="usaco-2024")


def test_other_runs_are_refused_by_command_and_page(
    protocol: Protocol, person: Callable[..., User], client: Client
) -> None:
    problems = store_problems(1)
    run = store_arm("neutral", {problems[0]: ["W"]}, protocol=protocol)
    with pytest.raises(CommandError, match=r"is a run of session-neutral, not of session-tutor"):
        call_command("automatic_tutors", str(run.pk))
    client.force_login(person("rita", Role.RESEARCHER))
    answer = client.get("/runs/tutors/", {"run": str(run.pk)})
    assert answer.status_code == 400
    assert "is a run of session-neutral, not of session-tutor" in answer.content.decode()
    assert client.get("/runs/tutors/").status_code == 200


def test_a_tutor_is_compared_with_the_neutral_arm_of_its_student(
    protocol: Protocol, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = store_problems(8)
    conduct = {"model": "openai:t", "cap": 2, "guard": False, "dataset": "orchard", "template_hash": ""}
    tutored = store_arm(
        "tutor", {problem: ["WA", "A"] for problem in problems}, protocol=protocol,
        prepared={"tutor": conduct, "knows": ["analysis"]}, parameters={"language": "python", "tutor": "openai:t"},
    )  # fmt: skip
    tutored.manifest["left_out"] = [{"id": "p99", "reason": "it has no analysis"}]
    tutored.save()
    store_arm(
        "neutral", {problem: ["WW"] for problem in problems}, protocol=protocol, model_spec="openai:other"
    )
    store_arm("neutral", {problem: ["WW", "WA"] for problem in problems}, protocol=protocol)
    capsys.readouterr()
    call_command("automatic_tutors", str(tutored.pk), "--json")
    document = json.loads(capsys.readouterr().out)
    [tutor] = document["tutors"]
    assert tutor["tutor"] == "openai:t, knows analysis, cap 2, no guard"
    left_out = [(one["arm"], one["reason"]) for one in document["left_out"]]
    assert left_out == [(f"{tutor['tutor']} → {tutor['student']}", "it has no analysis")]
    assert (tutor["gain"]["difference"], tutor["gain"]["second_sessions"]) == (0.5, 16)
    assert (tutor["gain"]["problems"], tutor["leaks"], tutor["breach"]) == (8, None, None)
    call_command("automatic_tutors", str(tutored.pk), "--csv")
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    [gain] = [line for line in lines if line["figure"] == "gain over neutral"]
    assert (gain["estimate"], gain["problems"], gain["simulated"]) == ("0.5", "8", "0")
    assert document["matrix"]["parts"] is None
    assert any("leak index is unknown" in warning for warning in document["warnings"])


def test_each_dataset_has_its_own_neutral_arm_and_row_of_the_matrix(
    protocol: Protocol, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for name, programs in (("orchard", "WW"), ("vineyard", "AW")):
        problems = store_problems(8, name)
        conduct = {"model": "openai:t", "cap": 3, "guard": True, "dataset": name, "template_hash": ""}
        tutored = store_arm(
            "tutor", {problem: ["WA"] for problem in problems}, protocol=protocol,
            prepared={"tutor": conduct, "knows": []}, parameters={"language": "python", "tutor": "openai:t"},
        )  # fmt: skip
        store_arm("neutral", {problem: [programs] for problem in problems}, protocol=protocol)
        runs.append(str(tutored.pk))
    capsys.readouterr()
    call_command("automatic_tutors", *runs, "--json")
    document = json.loads(capsys.readouterr().out)
    assert [(one["student"].split(", ")[1], one["gain"]["difference"]) for one in document["tutors"]] == [
        ("orchard", 1), ("vineyard", 0)
    ]  # fmt: skip
    assert document["matrix"]["students"] == [one["student"] for one in document["tutors"]]
    assert not any("gain is unknown" in warning for warning in document["warnings"])
