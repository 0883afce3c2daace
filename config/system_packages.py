"""Packages of the operating system: what stops without each, and how to install them.

This list is the only one. `./run` installs the missing packages that running Hintbench needs, `./test` installs all
missing packages (`python -m config.system_packages`), and `manage.py doctor` lists every package.
"""

import os
import shutil
import ssl
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import glob
from typing import Literal

INSTALL_TIMEOUT = 1200
"""Seconds after which one apt-get command is stopped."""

_CERTIFICATES = ssl.get_default_verify_paths()


@dataclass(frozen=True)
class SystemPackage:
    """A package of Debian and Ubuntu.

    The package counts as installed if one of the `signs` exists: the name of a program on PATH, or an absolute path,
    which may hold wildcards. `without` says what stops. `./run` leaves out the packages whose `need` is "optional".
    """

    package: str
    signs: tuple[str, ...]
    without: str
    need: Literal["necessary", "useful", "optional"] = "optional"

    def is_present(self) -> bool:
        """Return whether the package, or another source of the same program, is installed."""
        return any(glob(sign) if sign.startswith("/") else shutil.which(sign) for sign in self.signs)


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
"""Programs that the browser tests can drive; the first one that is installed takes half the CPU time of the others."""

SYSTEM_PACKAGES = (
    SystemPackage("util-linux", ("setpriv",), "./run cannot start its processes", "necessary"),
    SystemPackage(
        "bubblewrap",
        ("bwrap",),
        "the judge refuses to run programs, so no session gets a verdict",
        "necessary",
    ),
    SystemPackage("g++", ("g++",), "C++ programs are not judged; Python programs are", "useful"),
    SystemPackage(
        "ca-certificates",
        (
            _CERTIFICATES.cafile or _CERTIFICATES.openssl_cafile,
            f"{_CERTIFICATES.capath or _CERTIFICATES.openssl_capath}/*",
            "/etc/ssl/certs/ca-certificates.crt",
        ),
        "model providers cannot be reached over HTTPS",
        "useful",
    ),
    SystemPackage("default-jdk-headless", ("javac",), "Java programs are not judged"),
    SystemPackage("kotlin", ("kotlinc",), "Kotlin programs are not judged"),
    SystemPackage("pypy3", ("pypy3",), "Python programs are judged with CPython only"),
    SystemPackage("rustc", ("rustc",), "Rust programs are not judged"),
    SystemPackage("golang-go", ("go",), "Go programs are not judged"),
    SystemPackage("nodejs", ("node",), "JavaScript programs are not judged"),
    SystemPackage("git", ("git",), "runs do not record the revision of the program"),
    SystemPackage("chromium-headless-shell", BROWSERS, "the browser tests are skipped"),
    SystemPackage(
        "fonts-dejavu-core", ("/usr/share/fonts/truetype/dejavu/*",), "the browser tests may find no font"
    ),
    SystemPackage(
        "postgresql", ("initdb", "/usr/lib/postgresql/*/bin/initdb"), "the tests with PostgreSQL are skipped"
    ),
    SystemPackage("redis-server", ("redis-server",), "the tests with a second queue server are skipped"),
)

REQUIRED_TO_RUN = tuple(entry for entry in SYSTEM_PACKAGES if entry.need != "optional")


def install_line(packages: Sequence[SystemPackage]) -> str:
    """Return the shell command that installs the packages."""
    names = " ".join(entry.package for entry in packages)
    return f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {names}"


def install_missing(packages: Sequence[SystemPackage], tell: Callable[[str], None]) -> list[SystemPackage]:
    """Install the missing packages if apt-get is available without a password, and return those still missing.

    `tell` shows a line to the operator before the installation begins.
    """
    missing = _missing(packages)
    if missing and _can_install():
        tell(f"Installing with apt-get: {', '.join(entry.package for entry in missing)} …")
        _install([entry.package for entry in missing])
    return _missing(missing)


def main() -> None:
    """Install every missing package, or print the command to type."""
    missing = install_missing(SYSTEM_PACKAGES, _show)
    if missing:
        _show("Some tests cannot run here, because these packages are not installed:")
        for entry in missing:
            _show(f"  {entry.package}: without it, {entry.without}")
        _show(f"To install them: {install_line(missing)}")


def _missing(packages: Sequence[SystemPackage]) -> list[SystemPackage]:
    return [entry for entry in packages if not entry.is_present()]


def _show(line: str) -> None:
    print(line, flush=True)  # noqa: T201  (the output of a command)


def _can_install() -> bool:
    if shutil.which("apt-get") is None:
        return False
    if os.geteuid() == 0:
        return True
    return shutil.which("sudo") is not None and _succeeds(["sudo", "-n", "true"])


def _install(names: Sequence[str]) -> None:
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    install = [*apt, "install", "-y", "--no-install-recommends"]
    _succeeds([*apt, "update"])
    if not _succeeds([*install, *names]):
        for name in names:  # a package that this distribution lacks must not stop the others
            _succeeds([*install, name])


def _succeeds(command: list[str]) -> bool:
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=INSTALL_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0


if __name__ == "__main__":
    main()
