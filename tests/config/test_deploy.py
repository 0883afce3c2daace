"""The files in deploy/: only processes that call models get keys, and systemd accepts the units."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack import REPOSITORY

DEPLOY = REPOSITORY / "deploy"

UNITS = sorted((DEPLOY / "systemd").glob("hintbench*"))

CALL_MODELS = {"streamer", "model-worker"}


def test_units_have_keys_only_if_they_call_models():
    with_keys = {unit.stem.removeprefix("hintbench-") for unit in UNITS if "keys.env" in unit.read_text()}
    assert with_keys == CALL_MODELS


def test_only_the_unit_of_the_web_server_has_its_secrets():
    assert [unit.stem for unit in UNITS if "web.env" in unit.read_text()] == ["hintbench-web"]


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
