"""The sandbox is refused with the reason where it is not safe, and all tiers behave alike."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from django.conf import settings

import judge
from judge import Checker, Limits, Verdict, sandbox_status
from judge.cache import default_cache
from judge.sandbox import discovery, launcher
from tests.judge.conftest import MEBIBYTE, Grade, MakeTest, grade_tests
from tests.judge.corpus import programs


@pytest.fixture
def no_sandbox_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the sandbox to the state of a new process."""
    monkeypatch.setattr(discovery, "_found", {})


@pytest.mark.usefixtures("no_sandbox_yet")
def test_without_bubblewrap_nothing_is_run_and_the_message_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, make_test: MakeTest, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status = sandbox_status()
    assert (status.available, status.isolation) == (False, "")
    with pytest.raises(
        judge.SandboxUnavailableError, match=r"bubblewrap.*not installed.*apt install bubblewrap"
    ):
        grade_tests("print(1)", "python", [make_test("", "1")], Limits(1, MEBIBYTE), Checker())


@pytest.mark.usefixtures("no_sandbox_yet")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("switch", "value", "remedy"),
    [
        ("apparmor_restrict_unprivileged_userns", "1", "/etc/apparmor.d/bwrap"),
        ("unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("max_user_namespaces", "0", "user.max_user_namespaces"),
        (None, "", "start it as a plain user"),
    ],
)
def test_a_bubblewrap_that_may_not_make_namespaces_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, switch: str | None, value: str, remedy: str
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    switches = [(tmp_path / path.name, number, text) for path, number, text in discovery._FORBIDDEN_BY]
    monkeypatch.setattr(discovery, "_FORBIDDEN_BY", switches)
    if switch:
        (tmp_path / switch).write_text(value + "\n")
    status = sandbox_status()
    assert not status.available
    assert "setting up uid map: Permission denied" in status.problem
    assert remedy in status.remedy


@pytest.mark.parametrize(
    ("seccomp", "profile", "mounts", "missing"),
    [
        (0, None, ["/proc", "/proc/sys/fs/binfmt_misc"], []),
        (0, "unconfined\n", ["/proc"], []),
        (2, "system_u:system_r:container_t:s0\n", ["/proc"], ["seccomp=unconfined"]),
        (
            2,
            "docker-default (enforce)\n",
            ["/proc", "/proc/kcore", "/proc/sys"],
            ["seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"],
        ),
    ],
)
def test_the_missing_options_of_a_container_are_named(
    tmp_path: Path, seccomp: int, profile: str | None, mounts: list[str], missing: list[str]
) -> None:
    (tmp_path / "status").write_text(f"Name:\tpython\nSeccomp:\t{seccomp}\nSeccomp_filters:\t1\n")
    lines = [f"{number} 1 0:5 / {mount} rw - proc proc rw\n" for number, mount in enumerate(mounts)]
    (tmp_path / "mountinfo").write_text("".join(lines))
    if profile is not None:
        (tmp_path / "attr").mkdir()
        (tmp_path / "attr" / "current").write_text(profile)
    assert discovery._missing_options(tmp_path) == missing


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_other_systems_get_a_remedy(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    status = sandbox_status()
    assert not status.available
    assert system in status.problem
    assert "virtual machine" in status.remedy


def test_a_cache_that_cannot_be_written_is_explained(
    sandbox: judge.SandboxStatus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "file" / "cache"))
    status = sandbox_status()
    assert not status.available
    assert "JUDGE_CACHE" in status.remedy


def test_the_launcher_is_compiled_once_into_the_cache_and_one_that_others_may_write_is_not_trusted(
    sandbox: judge.SandboxStatus, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    file = launcher.find_launcher(cache)
    inode = file.stat().st_ino
    assert launcher.find_launcher(cache).stat().st_ino == inode
    file.chmod(0o777)
    assert launcher.find_launcher(cache).stat().st_ino != inode
    assert list(cache.iterdir()) == [file]


def test_within_the_project_the_cache_lies_where_the_settings_say() -> None:
    assert default_cache() == settings.JUDGE_CACHE


@pytest.mark.usefixtures("no_sandbox_yet")
def test_without_a_c_compiler_nothing_is_run_and_the_message_says_how_to_install_one(
    sandbox: judge.SandboxStatus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").symlink_to(shutil.which("bwrap") or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    status = sandbox_status()
    assert not status.available
    assert "apt install g++" in status.remedy


def test_a_cache_that_is_closed_to_others_makes_the_sandbox_no_weaker(
    sandbox: judge.SandboxStatus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolations = []
    for mode in (0o755, 0o700):
        cache = tmp_path / oct(mode)
        cache.mkdir(mode=mode)
        monkeypatch.setenv("JUDGE_CACHE", str(cache))
        isolations.append(sandbox_status().isolation)
    assert isolations[0] == isolations[1]


@pytest.mark.slow
@pytest.mark.usefixtures("no_sandbox_yet")
def test_root_is_refused_a_user_namespace_in_which_programs_would_be_root_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("this process is not root")
    only_user_namespaces = tmp_path / "bwrap"
    only_user_namespaces.write_text(
        f'#!/bin/sh\ncase "$*" in *--unshare-user*) exec {shutil.which("bwrap")} "$@";; esac\nexit 1\n'
    )
    only_user_namespaces.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert not sandbox_status().available


REPRESENTATIVE = [
    program
    for file, step in (("idioms.txt", 14), ("faults.txt", 9), ("attacks.txt", 3))
    for program in programs(file)[::step]
    if program.language in ("python", "cpp")
]


@pytest.mark.usefixtures("no_sandbox_yet")
def test_without_control_groups_the_launcher_counts_and_the_verdicts_are_the_same(
    grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "find_control_groups", lambda: None)
    assert "systemd-run" in sandbox_status().improvement
    for program in REPRESENTATIVE:
        judgement = grade(program.source, program.language, limits=program.limits)
        assert judgement.isolation.startswith("tier B: ")
        assert judgement.verdict is program.verdict, (program, judgement)
        assert not any("GOT" in result.output for result in judgement.tests), (program, judgement)


def test_a_plain_user_gets_the_same_verdicts_as_root(sandbox: judge.SandboxStatus, repository: Path) -> None:
    """A process that is not root judges the corpus's attacks and a few other programs."""
    python = Path("/usr/bin/python3")
    if os.geteuid() != 0:
        pytest.skip("this process is not root: all other tests show it")
    if (
        not python.exists()
        or subprocess.run([python, "-c", "import enum; enum.StrEnum"], check=False).returncode
    ):
        pytest.skip("the system's own Python, which a plain user can reach, is older than 3.11")
    with tempfile.TemporaryDirectory() as folder:
        for package in ("judge", "tests/judge/corpus"):
            shutil.copytree(repository / package, Path(folder) / package)
        subprocess.run(["chmod", "-R", "a+rwX", folder], check=True)
        finished = subprocess.run(
            [python, "-c", AS_PLAIN_USER],
            cwd=folder,
            env={"JUDGE_CACHE": f"{folder}/cache", "PATH": os.environ["PATH"]},
            user=12345,
            group=12345,
            extra_groups=[],
            check=False,
            capture_output=True,
            text=True,
        )
    if "SandboxUnavailableError" in finished.stderr:
        pytest.skip(f"user namespaces are not for plain users here: {finished.stderr.splitlines()[-1]}")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "done\n"


AS_PLAIN_USER = """
import os, pathlib, judge
from tests.judge.corpus import programs
for name, text in (("in", "5\\n3 1 4 1 5\\n"), ("ans", "14\\n")):
    pathlib.Path(name).write_text(text)
test = judge.Test("1", pathlib.Path("in"), pathlib.Path("ans"))
chosen = [*programs("idioms.txt")[::9], *programs("faults.txt")[::6], *programs("attacks.txt")]
for program in (program for program in chosen if program.language == "python"):
    problem = judge.Problem([test] * 3, program.limits, judge.Checker())
    judgement = judge.grade(judge.Submission(program.source, "python"), problem)
    assert "user namespace" in judgement.isolation
    assert judgement.verdict is program.verdict, (program, judgement)
    assert "GOT" not in "".join(result.output for result in judgement.tests), (program, judgement)
print("done")
"""


def test_files_of_a_run_are_removed(grade: Grade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    monkeypatch.setenv("JUDGE_TEMPORARY", str(folder))
    assert grade("print(14)").verdict is Verdict.AC
    assert list(folder.glob("*")) == []


def test_programs_are_judged_whatever_the_umask(grade: Grade) -> None:
    before = os.umask(0o077)
    try:
        assert grade("print(14)").verdict is Verdict.AC
        assert grade('#include <cstdio>\nint main() { puts("14"); }', "cpp").verdict is Verdict.AC
    finally:
        os.umask(before)
