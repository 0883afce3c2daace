"""The files in deploy/: commands exist, only processes that call models get keys, and systemd accepts the units."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from tests.stack import REPOSITORY

DEPLOY = REPOSITORY / "deploy"

UNITS = sorted((DEPLOY / "systemd").glob("hintbench*"))

CALL_MODELS = {"streamer", "model-worker"}

CONTAINERFILE = (DEPLOY / "Containerfile").read_text()

SERVICES: dict[str, dict[str, Any]] = {
    name: service
    for file in sorted(DEPLOY.glob("compose*.yaml"))
    for name, service in yaml.safe_load(file.read_text())["services"].items()
}

SANDBOX_OPTIONS = {"seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"}


def stages() -> dict[str, str]:
    """Return the instructions of each stage of the Containerfile by its name."""
    parts = re.split(r"^FROM \S+ AS (\S+)\n", CONTAINERFILE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize(("file", "readers"), [("keys.env", CALL_MODELS), ("web.env", {"web"})])
def test_containers_have_only_the_secrets_that_they_need(file: str, readers: set[str]):
    found = {
        name
        for name, service in SERVICES.items()
        if any(path.endswith(file) for path in service.get("env_file", []))
    }
    assert found == readers


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_a_plain_user_without_capabilities(name: str):
    service = SERVICES[name]
    instructions = stages()[service["build"]["target"]]
    assert "\nUSER " in instructions.split("\nCMD ")[0]
    assert "user" not in service
    assert service["cap_drop"] == ["ALL"]
    allowed = SANDBOX_OPTIONS if name == "judge-worker" else set()
    assert set(service["security_opt"]) == {"no-new-privileges"} | allowed
    assert "privileged" not in service


@pytest.mark.parametrize("name", SERVICES)
def test_the_command_of_a_service_exists(name: str):
    service = SERVICES[name]
    instructions = stages()[service["build"]["target"]]
    command = service.get("command") or yaml.safe_load(instructions.rpartition("\nCMD ")[2])
    if command[:2] == [".venv/bin/python", "manage.py"]:
        parser = load_command_class(get_commands()[command[2]], command[2]).create_parser(
            "manage.py", command[2]
        )
        parser.parse_args(command[3:])
    elif command[0] == ".venv/bin/python":
        assert command[1:3] == ["-m", "moto.server"]
    else:
        assert os.access(DEPLOY / command[0], os.X_OK)
        assert re.search(rf"^COPY .*deploy/{command[0]} .*/usr/local/bin/$", instructions, re.MULTILINE)


def test_the_health_checks_of_servers_are_programs_of_their_images():
    checks = {
        name: service["healthcheck"]["test"] for name, service in SERVICES.items() if "healthcheck" in service
    }
    assert checks.pop("postgresql") == ["CMD", "pg_isready", "-h", "localhost"]
    assert checks == {"valkey": ["CMD", "check_valkey"], "web": ["CMD", "check_web"]}
    for name, (_, check) in checks.items():
        assert f" deploy/{check} " in stages()[SERVICES[name]["build"]["target"]]
        assert os.access(DEPLOY / check, os.X_OK)
        compile((DEPLOY / check).read_text(), check, "exec")


def test_the_web_servers_of_containers_and_units_are_the_same():
    unit = (DEPLOY / "systemd" / "hintbench-web.service").read_text()
    for text in (unit, (DEPLOY / "start_web").read_text()):
        words = text.replace("\\\n", " ").split()
        options = words[words.index("config.asgi:application") :]
        assert {"--ws", "websockets-sansio", "--lifespan", "off", "--no-proxy-headers"} <= set(options)


def test_the_images_contain_no_file_of_a_developer():
    ignored = (REPOSITORY / ".dockerignore").read_text().split()
    assert {".git", ".venv", "var"} <= set(ignored)


def test_the_documents_name_the_files_and_options():
    text = (REPOSITORY / "docs" / "operator.md").read_text()
    for name in (
        "deploy/Containerfile",
        "deploy/compose.yaml",
        "deploy/compose-s3.yaml",
        "deploy/systemd/",
        *SANDBOX_OPTIONS,
    ):
        assert name in text, name
    for script in (REPOSITORY / "scripts").glob("test_*"):
        assert f"scripts/{script.name}" in text
        assert os.access(script, os.X_OK)


def test_units_have_keys_only_if_they_call_models():
    with_keys = {unit.stem.removeprefix("hintbench-") for unit in UNITS if "keys.env" in unit.read_text()}
    assert with_keys == CALL_MODELS


def test_only_the_unit_of_the_web_server_has_its_secrets():
    assert [unit.stem for unit in UNITS if "web.env" in unit.read_text()] == ["hintbench-web"]


def test_systemd_accepts_the_units(tmp_path: Path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed, and ./test installs no init system")
    for unit in UNITS:
        text = unit.read_text().replace("/opt/hintbench/.venv/bin/python", sys.executable)
        (tmp_path / unit.name).write_text(text)
    for unit in UNITS:
        checked = subprocess.run(
            [program, "verify", tmp_path / unit.name], capture_output=True, text=True, check=False
        )
        assert "hintbench" not in checked.stderr, checked.stderr
        assert checked.returncode == 0, checked.stderr
