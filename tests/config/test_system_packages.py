"""The list of system packages: how ./run and ./test install what is missing."""

import shutil
from pathlib import Path

import pytest

from config import system_packages
from config.system_packages import REQUIRED_TO_RUN, SYSTEM_PACKAGES, SystemPackage, install_missing


def test_run_installs_no_package_that_only_tests_or_other_languages_need():
    required = {entry.package for entry in REQUIRED_TO_RUN}
    assert required == {"util-linux", "bubblewrap", "g++", "ca-certificates"}
    assert {"chromium-headless-shell", "postgresql", "kotlin", "rustc"} <= {
        entry.package for entry in SYSTEM_PACKAGES
    }


def test_a_package_is_present_if_its_program_or_path_exists(tmp_path: Path):
    (tmp_path / "15").mkdir()
    (tmp_path / "15" / "initdb").touch()
    assert SystemPackage("postgresql", ("no-such-program", f"{tmp_path}/*/initdb"), "").is_present()
    assert SystemPackage("sh", ("sh",), "").is_present()
    assert not SystemPackage("none", ("no-such-program", f"{tmp_path}/*/none"), "").is_present()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], set[str]]:
    """Return the calls of apt-get and the packages that the distribution has, on a machine without any."""
    calls: list[str] = []
    available = {"first", "third"}
    installed: set[str] = set()

    def succeeds(command: list[str]) -> bool:
        calls.append(" ".join(command[command.index("apt-get") :]))
        names = (
            set(command[command.index("--no-install-recommends") + 1 :]) if "install" in command else set()
        )
        if not names <= available:
            return False
        installed.update(names)
        return True

    monkeypatch.setattr(system_packages, "_succeeds", succeeds)
    monkeypatch.setattr(system_packages, "_can_install", lambda: True)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in installed else None)
    return calls, available


PACKAGES = [SystemPackage(name, (name,), f"{name} is not judged") for name in ("first", "second", "third")]


def test_a_package_that_the_distribution_lacks_does_not_stop_the_others(
    machine: tuple[list[str], set[str]],
):
    calls, _ = machine
    lines: list[str] = []
    assert install_missing(PACKAGES, lines.append) == [PACKAGES[1]]
    assert lines == ["Installing with apt-get: first, second, third …"]
    assert [call.split()[-1] for call in calls] == ["update", "third", "first", "second", "third"]


def test_packages_that_cannot_be_installed_are_listed_with_the_command_to_type(
    machine: tuple[list[str], set[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(system_packages, "_can_install", lambda: False)
    monkeypatch.setattr(system_packages, "SYSTEM_PACKAGES", PACKAGES)
    system_packages.main()
    printed = capsys.readouterr().out
    assert "  second: without it, second is not judged\n" in printed
    assert "sudo apt-get install -y --no-install-recommends first second third\n" in printed
    assert machine[0] == []
