"""Discovery of this machine's sandbox, with instructions where there is none."""

import atexit
import platform
import shutil
import subprocess
import threading
from pathlib import Path

from judge.cache import remove_abandoned_folders
from judge.records import Limits
from judge.sandbox.bubblewrap import LAUNCHER, Bubblewrap
from judge.sandbox.cgroups import find_control_groups
from judge.sandbox.interface import (
    Mounts,
    Sandbox,
    SandboxFaultError,
    SandboxRun,
    SandboxStatus,
    SandboxUnavailableError,
)
from judge.sandbox.launcher import USAGE_STATUS, NoLauncherError, find_launcher, find_launcher_library
from judge.sandbox.system_files import runtime_files

_INSTALL = (
    "Install bubblewrap. Debian, Ubuntu: sudo apt install bubblewrap; Fedora: sudo dnf install bubblewrap; "
    "Arch: sudo pacman -S bubblewrap."
)
_OTHER_SYSTEM = (
    "The sandbox needs Linux. On macOS and Windows run the project in a Linux virtual machine "
    "(macOS: Lima or Multipass; Windows: WSL 2)."
)
_CONTAINER = (
    "If this is a container, start it as a plain user{options}. It needs no capability (docs/operator.md)."
)
_APPARMOR = (
    "AppArmor forbids unprivileged user namespaces (Ubuntu 23.10 and later). Allow them for bubblewrap: write "
    "the lines 'abi <abi/4.0>,', 'include <tunables/global>' and 'profile bwrap /usr/bin/bwrap "
    "flags=(unconfined) { userns, }' to /etc/apparmor.d/bwrap and run: sudo systemctl reload apparmor. "
    "Or allow them for all programs: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0."
)
_FORBIDDEN_BY = (
    (Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"), "1", _APPARMOR),
    (
        Path("/proc/sys/kernel/unprivileged_userns_clone"),
        "0",
        "User namespaces are switched off. Run: sudo sysctl kernel.unprivileged_userns_clone=1.",
    ),
    (
        Path("/proc/sys/user/max_user_namespaces"),
        "0",
        "User namespaces are switched off. Run: sudo sysctl user.max_user_namespaces=15000.",
    ),
)

_IMPROVEMENT = (
    "Tier A measures time and memory with control groups, which this process may not create here. Root may; as a "
    "plain user under systemd, start with: systemd-run --user --scope --property=Delegate=yes ./run"
)

_forbidden: list[str] = []
"""Why this process must not run programs. Empty: it may."""

_found: dict[str, Bubblewrap] = {}
"""The tested sandbox under the key "sandbox", once there is one."""

_finding = threading.Lock()


def open_sandbox() -> Sandbox:
    """Return the sandbox of this machine, tested once per process. Raises SandboxUnavailableError."""
    with _finding:
        if "sandbox" not in _found:
            _found["sandbox"] = _find()
            atexit.register(_found["sandbox"].close)
        return _found["sandbox"]


def sandbox_status() -> SandboxStatus:
    """Test the sandbox now by running a program in it, and return its status."""
    try:
        sandbox = _find()
    except SandboxUnavailableError as error:
        return SandboxStatus(False, "", error.problem, error.remedy)
    sandbox.close()
    return SandboxStatus(True, sandbox.isolation, "", "", "" if sandbox.has_groups else _IMPROVEMENT)


def forbid_programs(reason: str) -> None:
    """Refuse to open a sandbox in this process from now on. Its errors state the reason."""
    _forbidden.append(reason)


def programs_forbidden() -> bool:
    """Return whether this process must not run programs."""
    return bool(_forbidden)


def _find() -> Bubblewrap:
    if _forbidden:
        raise SandboxUnavailableError(_forbidden[0], "Start a judge worker: manage.py worker --kind judge.")
    if platform.system() != "Linux":
        raise SandboxUnavailableError(f"there is no sandbox for {platform.system()}", _OTHER_SYSTEM)
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailableError("bubblewrap (bwrap) is not installed", _INSTALL)
    try:
        launcher, library = find_launcher(), find_launcher_library()
    except NoLauncherError as error:
        remedy = "Install a C compiler. Debian, Ubuntu: sudo apt install g++."
        raise SandboxUnavailableError(str(error), remedy) from error
    except OSError as error:
        remedy = "Free space, or make the folder writable. JUDGE_CACHE names it, or HINTBENCH_VAR of a site."
        raise SandboxUnavailableError(f"the launcher cannot be stored: {error}", remedy) from error
    version = subprocess.run([bwrap, "--version"], check=False, capture_output=True, text=True).stdout.strip()
    remove_abandoned_folders()
    found = find_control_groups()
    problem = ""
    for groups in (found, None) if found else (None,):
        sandbox = Bubblewrap(Path(bwrap), version, launcher, library, groups)
        fault = _try(sandbox)
        if fault is None:
            return sandbox
        sandbox.close()
        problem = problem or fault
    raise SandboxUnavailableError(f"bubblewrap could not create a sandbox ({problem})", _remedy())


def _try(sandbox: Sandbox) -> str | None:
    """Run a harmless program, the launcher itself. Return the problem, or None."""
    mounts = Mounts((), runtime_files(), file_size=2**20, scratch=2**20)
    try:
        with sandbox.open(mounts) as container:
            outcome = container.run(SandboxRun((LAUNCHER,), Limits(time=5, memory=2**28)))
    except SandboxFaultError as fault:
        return str(fault)
    if outcome.exit_status != USAGE_STATUS:
        return f"a test program ended with {outcome.termination} {outcome.exit_status} {outcome.signal}"
    return None


def _remedy() -> str:
    for switch, value, remedy in _FORBIDDEN_BY:
        if switch.is_file() and switch.read_text().strip() == value:
            return remedy
    options = "".join(f" --security-opt {option}" for option in _missing_options(Path("/proc/self")))
    return _CONTAINER.format(options=f" with{options}" if options else "")


def _missing_options(process: Path) -> list[str]:
    """Return the options of a container engine that the sandbox needs and a process lacks, by its folder in /proc."""
    missing = []
    if "\nSeccomp:\t2\n" in (process / "status").read_text():
        missing.append("seccomp=unconfined")
    try:
        profile = (process / "attr" / "current").read_text()
    except OSError:  # no security module
        profile = ""
    if profile.strip().endswith("(enforce)"):
        missing.append("apparmor=unconfined")
    mounts = {line.split()[4] for line in (process / "mountinfo").read_text().splitlines()}
    if any(mount.startswith("/proc/") and mount != "/proc/sys/fs/binfmt_misc" for mount in mounts):
        missing.append("systempaths=unconfined")
    return missing
