"""The files in deploy/: only processes that call models get keys, and systemd accepts the units."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stack import REPOSITORY

DEPLOY = REPOSITORY / "deploy"

UNITS = sorted((DEPLOY / "systemd").glob("hintbench*"))

CALL_MODELS = {"streamer", "model-worker"}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    found: dict[str, dict[str, Any]] = compose["services"]
    return found


def test_containers_have_keys_only_if_they_call_models(services: dict[str, dict[str, Any]]):
    assert {
        name for name, service in services.items() if "keys.env" in service.get("env_file", [])
    } == CALL_MODELS
    assert services["judge-worker"]["command"][-2:] == ["--kind", "judge"]


def test_containers_have_no_capability_and_are_built_from_a_stage(services: dict[str, dict[str, Any]]):
    stages = {
        line.split()[-1] for line in (DEPLOY / "Containerfile").read_text().splitlines() if " AS " in line
    }
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["build"]["target"] in stages, name


def test_every_stage_ends_as_a_plain_user():
    stages = (DEPLOY / "Containerfile").read_text().split("\nFROM ")[2:]
    for stage in stages:
        assert "\nUSER " in stage.split("\nCMD ")[0], stage.splitlines()[0]


def test_units_have_keys_only_if_they_call_models():
    with_keys = {unit.stem.removeprefix("hintbench-") for unit in UNITS if "keys.env" in unit.read_text()}
    assert with_keys == CALL_MODELS


def test_systemd_accepts_the_units(tmp_path: Path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    for unit in UNITS:
        text = unit.read_text().replace("/opt/hintbench/.venv/bin/python", sys.executable)
        (tmp_path / unit.name).write_text(text)
    for unit in UNITS:
        checked = subprocess.run(
            [program, "verify", tmp_path / unit.name], capture_output=True, text=True, check=False
        )
        assert "hintbench" not in checked.stderr, checked.stderr
        assert checked.returncode == 0, checked.stderr
