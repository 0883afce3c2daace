"""Programs of the operating system that Hintbench needs, what stops without each, and how to get them.

./run installs the missing ones where it may, `manage.py doctor` lists them, .ci/run installs all of them.
"""

import os
import shutil
import ssl
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

INSTALL_TIMEOUT = 600
"""Seconds apt-get may take for one step."""


@dataclass(frozen=True)
class SystemPackage:
    """A package of Debian and Ubuntu. `program` is what it puts on PATH; blank when it has none."""

    package: str
    program: str
    without: str
    necessary: bool = True
    for_tests_only: bool = False

    def is_present(self) -> bool:
        """Whether the package's program (or the certificates) can be found."""
        return shutil.which(self.program) is not None if self.program else _has_certificates()


SYSTEM_PACKAGES = (
    SystemPackage("util-linux", "setpriv", "./run cannot start its processes"),
    SystemPackage("bubblewrap", "bwrap", "the judge refuses to run programs, so no session gets a verdict"),
    SystemPackage("g++", "g++", "C++ programs are not judged; Python programs are", necessary=False),
    SystemPackage("ca-certificates", "", "model providers cannot be reached over HTTPS", necessary=False),
    SystemPackage(
        "chromium", "chromium", "the browser tests are skipped", necessary=False, for_tests_only=True
    ),
)


def missing_packages() -> list[SystemPackage]:
    """What running (not testing) Hintbench needs and this machine lacks."""
    return [entry for entry in SYSTEM_PACKAGES if not entry.for_tests_only and not entry.is_present()]


def install_line(packages: Sequence[SystemPackage]) -> str:
    """What a person types to get the packages."""
    names = " ".join(entry.package for entry in packages)
    return f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {names}"


def install_missing(tell: Callable[[str], None]) -> None:
    """Install what running needs, after saying so, where that takes no password; elsewhere change nothing."""
    missing = missing_packages()
    if missing and _can_install():
        tell(f"Installing with apt-get: {', '.join(entry.package for entry in missing)} …")
        _install(missing)


def _can_install() -> bool:
    if shutil.which("apt-get") is None:
        return False
    if os.geteuid() == 0:
        return True
    return shutil.which("sudo") is not None and _succeeds(["sudo", "-n", "true"])


def _install(packages: Sequence[SystemPackage]) -> None:
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    names = [entry.package for entry in packages]
    _succeeds([*apt, "update"])
    _succeeds([*apt, "install", "-y", "--no-install-recommends", *names])


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=INSTALL_TIMEOUT).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _has_certificates() -> bool:
    paths = ssl.get_default_verify_paths()
    if paths.cafile or Path("/etc/ssl/certs/ca-certificates.crt").is_file():
        return True
    return paths.capath is not None and any(Path(paths.capath).glob("*"))
