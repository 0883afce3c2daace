"""Control groups are created if permitted, and removed with the container or after a killed judge."""

import errno
import subprocess
from pathlib import Path

import pytest

from judge.sandbox import cgroups
from judge.sandbox.cgroups import Version1, Version2, control_group, find_control_groups


@pytest.fixture
def groups() -> cgroups.ControlGroups:
    """Return this machine's control groups, or skip: other tests cover tier B."""
    found = find_control_groups()
    if found is None:
        pytest.skip("this process may not make control groups here")
    return found


def made_groups(groups: cgroups.ControlGroups) -> list[str]:
    return [folder.name for parent in groups.parents() for folder in parent.glob("judge-*-*")]


def test_a_group_lives_as_long_as_its_block(groups: cgroups.ControlGroups) -> None:
    before = made_groups(groups)
    with control_group(groups, processes=8) as group:
        assert len(made_groups(groups)) > len(before)
        assert group.argument.count(",") == 8
        assert len(group.descriptors) >= 5
        assert group.killed_processes() == 0
    assert made_groups(groups) == before


def test_groups_of_a_killed_judge_are_swept_with_what_runs_in_them(groups: cgroups.ControlGroups) -> None:
    judge = subprocess.Popen(["sleep", "1000"])  # while it runs, its groups are not removed
    name = f"judge-{judge.pid}-0"
    groups.make(name, 8)
    left = subprocess.Popen(["sleep", "1000"])
    for parent in groups.parents():
        (parent / name / "cgroup.procs").write_text(str(left.pid))
    judge.kill()
    judge.wait()
    assert find_control_groups() is not None
    assert left.wait() == -9
    assert name not in made_groups(groups)


def kernel(monkeypatch: pytest.MonkeyPatch, folder: Path, mounts: str, membership: str) -> None:
    for name, text in (("_MOUNTS", mounts), ("_MEMBERSHIP", membership)):
        file = folder / name
        file.write_text(text)
        monkeypatch.setattr(cgroups, name, file)


@pytest.mark.parametrize(
    ("mounts", "membership"),
    [
        ("", ""),
        ("tmpfs / tmpfs rw 0 0\n", "0::/\n"),
        ("cgroup2 {root} cgroup2 rw 0 0\n", "0::/user.slice/terminal\n"),
        ("cgroup {root}/memory cgroup rw,memory 0 0\n", "4:memory:/\n"),
    ],
    ids=["no proc", "nothing mounted", "nothing delegated", "only memory"],
)
def test_without_groups_that_can_be_made_there_are_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mounts: str, membership: str
) -> None:
    root = tmp_path / "cgroup"
    (root / "memory").mkdir(parents=True)
    kernel(monkeypatch, tmp_path, mounts.format(root=root), membership)
    monkeypatch.setattr(cgroups, "_PAUSE", 0)  # nothing runs in a plain folder
    assert find_control_groups() is None


def test_version_2_uses_the_highest_place_where_controllers_can_be_delegated(tmp_path: Path) -> None:
    """Use plain folders, in which a folder in a file's place stands for the kernel's refusal."""
    root = tmp_path / "cgroup"
    own = root / "user.slice" / "user.service" / "terminal"
    own.mkdir(parents=True)
    (root / "cgroup.subtree_control").mkdir()
    (root / "user.slice" / "cgroup.subtree_control").mkdir()
    place = root / "user.slice" / "user.service"
    (place / "judge-programs").mkdir()
    (place / "judge-programs" / "cgroup.subtree_control").write_text("cpu memory pids\n")
    found = cgroups._version_2(
        [["cgroup2", str(root), "cgroup2", "rw"]], [["0", "", own.relative_to(root).as_posix()]]
    )
    assert found is not None
    assert found.parents() == [place / "judge-programs"]


def test_a_group_that_only_its_own_processes_keep_from_limits_is_left_by_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """systemd gives a service with `Delegate=yes` such a group. The kernel enables no limits beside processes."""
    own = tmp_path / "service"
    own.mkdir()
    (own / "cgroup.procs").write_text("17\n")
    moved = own / "judge-itself" / "cgroup.procs"
    delegated = []

    def delegate(folder: Path) -> None:
        if folder == tmp_path or not moved.exists():
            raise OSError(errno.EBUSY, "processes")
        delegated.append(folder)

    monkeypatch.setattr(cgroups, "_delegate", delegate)
    found = cgroups._version_2([["cgroup2", str(tmp_path), "cgroup2", "rw"]], [["0", "", "/service"]])
    assert found is not None
    assert found.parents() == [own / "judge-programs"]
    assert delegated == [own, own / "judge-programs"]
    assert moved.read_text() == "17"


def test_the_files_of_both_versions_are_those_the_kernel_documents(tmp_path: Path) -> None:
    files = Version2(tmp_path).make("one", 64)
    assert (files.time.name, files.usage.name, files.limit.name, files.events.name, files.time_unit) == (
        "cpu.stat", "memory.current", "memory.max", "memory.events", 1,
    )  # fmt: skip
    assert files.peak is None
    assert (tmp_path / "one" / "pids.max").read_text() == "64"
    for name in ("memory", "cpu", "pids"):
        (tmp_path / name).mkdir()
    old = Version1(tmp_path / "memory", tmp_path / "cpu", tmp_path / "pids").make("two", 64)
    assert (old.time.name, old.usage.name, old.limit.name, old.events.name, old.time_unit) == (
        "cpuacct.usage", "memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control", 1000,
    )  # fmt: skip
