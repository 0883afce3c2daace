"""Compiled programs and precompiled headers are cached, which no verdict depends on."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import judge
from judge import Verdict
from judge.cache import load_program, remove, store_program
from judge.sandbox import Container, Mounts, RunOutcome, SandboxRun, open_sandbox
from tests.judge.conftest import SMALL, Grade
from tests.judge.corpus import Program, programs

SMALL_PROGRAM = 'int main() { __builtin_puts("14"); }'
WRONG_PROGRAM = 'int main() { __builtin_puts("15"); }'
WITH_VECTOR = (
    '#include <vector>\n#include <cstdio>\nint main() { std::vector<int> v{14}; printf("%d", v[0]); }'
)
HEADER_USED = "! /headers/vector.gch"


class Recording:
    """The real sandbox with a record of its compilations."""

    isolation = "recording"

    def __init__(self) -> None:
        self.compilations: list[Mounts] = []
        self.before: Callable[[Mounts], None] = lambda mounts: None

    @contextmanager
    def open(self, mounts: Mounts) -> Iterator[Container]:
        with open_sandbox().open(mounts) as container:
            yield RecordingContainer(self, mounts, container)


@dataclass(frozen=True)
class RecordingContainer:
    recording: Recording
    mounts: Mounts
    container: Container

    def run(self, run: SandboxRun) -> RunOutcome:
        if run.command[0] == "/bin/sh":
            self.recording.compilations.append(self.mounts)
            self.recording.before(self.mounts)
        return self.container.run(run)


@pytest.fixture
def recording(sandbox: judge.SandboxStatus, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """Record the compilations of all programs."""
    recording = Recording()
    for module in ("grading.grading", "compilation.precompiled_headers"):
        monkeypatch.setattr(f"judge.{module}.open_sandbox", lambda: recording)
    return recording


@pytest.fixture
def empty_cache(sandbox: judge.SandboxStatus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of an empty cache."""
    open_sandbox()
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def precompiled_vector(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> Path:
    """Precompile a small header, and let the compiler print the headers that it reads."""
    row = judge.get_language("cpp")
    command = (row.compile[0], "-H", *row.compile[1:])
    monkeypatch.setitem(judge.LANGUAGES, "cpp", replace(row, compile=command, precompiled="vector"))
    return empty_cache


@pytest.fixture
def visible_folder() -> Iterator[Path]:
    """Return a folder that the sandbox can show; /tmp is the scratch folder there."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def test_the_same_source_is_compiled_once(grade: Grade, recording: Recording, empty_cache: Path) -> None:
    first, again = (grade(SMALL_PROGRAM, "cpp") for _ in range(2))
    assert (first.verdict, again.verdict) == (Verdict.AC, Verdict.AC)
    assert len(recording.compilations) == 1
    assert len(entries(empty_cache / "programs")) == 1


def test_what_the_compiler_said_of_a_program_is_kept_with_it(grade: Grade, empty_cache: Path) -> None:
    source = '#warning "mind the gap"\n' + SMALL_PROGRAM
    first, again = (grade(source, "cpp") for _ in range(2))
    assert "mind the gap" in first.compiler_output
    assert again.compiler_output == first.compiler_output


def test_programs_that_do_not_compile_are_not_kept(grade: Grade, empty_cache: Path) -> None:
    assert grade("int main() { return }", "cpp").verdict is Verdict.CE
    assert entries(empty_cache / "programs") == []


@pytest.mark.parametrize("change", ["flags", "compiler", "touched compiler"])
def test_other_flags_or_another_compiler_are_compiled_again(
    grade: Grade,
    recording: Recording,
    empty_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    visible_folder: Path,
    change: str,
) -> None:
    row = judge.get_language("cpp")
    real = row.tool()
    wrapper = visible_folder / "bin" / "g++"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    for path in (visible_folder, wrapper.parent, wrapper):
        path.chmod(0o755)
    if change == "touched compiler":
        monkeypatch.setitem(judge.LANGUAGES, "cpp", replace(row, find_tool=lambda: wrapper))
    assert grade(SMALL_PROGRAM, "cpp").verdict is Verdict.AC
    if change == "flags":
        changed = replace(row, compile=(*row.compile, "-O1"))
    else:
        changed = replace(row, find_tool=lambda: wrapper)
    wrapper.write_text(f'#!/bin/sh\n\nexec {real} "$@"\n')
    monkeypatch.setitem(judge.LANGUAGES, "cpp", changed)
    assert grade(SMALL_PROGRAM, "cpp").verdict is Verdict.AC
    assert len(recording.compilations) == len(entries(empty_cache / "programs")) == 2


def _flip_last_bit(entry: Path) -> None:
    content = bytearray(entry.read_bytes())
    content[-1] ^= 1
    entry.write_bytes(content)


def _make_link(entry: Path) -> None:
    entry.rename(entry.with_name("other"))
    entry.symlink_to("other")


def _make_folder(entry: Path) -> None:
    entry.unlink()
    entry.mkdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "vanished": Path.unlink,
    "empty": lambda entry: entry.write_bytes(b""),
    "cut short": lambda entry: os.truncate(entry, 1000),
    "a bit is flipped": _flip_last_bit,
    "a link": _make_link,
    "a folder": _make_folder,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_or_vanished_program_is_compiled_again(
    grade: Grade, recording: Recording, empty_cache: Path, damage: Callable[[Path], object]
) -> None:
    grade(SMALL_PROGRAM, "cpp")
    damage(entries(empty_cache / "programs")[0])
    assert grade(SMALL_PROGRAM, "cpp").verdict is Verdict.AC
    assert len(recording.compilations) == 2


def test_a_program_stored_in_the_place_of_another_is_not_taken_for_it(
    grade: Grade, recording: Recording, empty_cache: Path
) -> None:
    grade(SMALL_PROGRAM, "cpp")
    (right,) = entries(empty_cache / "programs")
    grade(WRONG_PROGRAM, "cpp")
    wrong = next(entry for entry in entries(empty_cache / "programs") if entry != right)
    wrong.replace(right)
    assert grade(SMALL_PROGRAM, "cpp").verdict is Verdict.AC


@pytest.mark.parametrize("trusted", [True, False])
def test_a_program_that_others_could_have_written_is_not_trusted(
    grade: Grade, recording: Recording, empty_cache: Path, trusted: bool
) -> None:
    grade(SMALL_PROGRAM, "cpp")
    grade(WRONG_PROGRAM, "cpp")
    key, other = (entry.name for entry in entries(empty_cache / "programs"))
    found = {name: load_program(name) for name in (key, other)}
    assert all(found.values())
    for name, forged in ((key, found[other]), (other, found[key])):
        assert forged
        store_program(name, *forged)
        (empty_cache / "programs" / name).chmod(0o600 if trusted else 0o620)
    assert grade(SMALL_PROGRAM, "cpp").verdict is (Verdict.WA if trusted else Verdict.AC)


def test_a_cache_that_cannot_be_written_is_done_without(
    grade: Grade, recording: Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        assert grade(WITH_VECTOR + "// bits/stdc++.h", "cpp").verdict is Verdict.AC
    assert len(recording.compilations) == 2


def test_the_programs_used_longest_ago_go_when_the_cache_is_full(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    monkeypatch.setattr("judge.cache.folder.SIZE_LIMIT", 3500)
    for number, key in enumerate(("1", "2", "3")):
        store_program(key, b"\0" * 900, b"")
        os.utime(empty_cache / "programs" / key, (number, number))
    assert load_program("1")  # which makes it the most recently used
    store_program("0", b"\0" * 900, b"")
    assert [entry.name for entry in entries(empty_cache / "programs")] == ["0", "1", "3"]


def test_judges_that_compile_the_same_at_once_share_one_entry(grade: Grade, precompiled_vector: Path) -> None:
    verdicts: list[Verdict] = []

    def work() -> None:
        verdicts.append(grade(WITH_VECTOR, "cpp").verdict)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [Verdict.AC] * 3
    assert len(entries(precompiled_vector / "programs")) == 1
    assert len(entries(precompiled_vector / "headers")) == 1


def test_the_header_is_compiled_once_for_all_programs_and_used_by_each(
    grade: Grade, recording: Recording, precompiled_vector: Path
) -> None:
    for number in range(2):
        judgement = grade(f"{WITH_VECTOR}// {number}", "cpp")
        assert judgement.verdict is Verdict.AC
        assert HEADER_USED in judgement.compiler_output
    assert len(recording.compilations) == 3
    grade(SMALL_PROGRAM, "cpp")
    assert recording.compilations[-1].mounted == ()


def test_headers_can_be_made_before_the_first_program(
    grade: Grade, recording: Recording, precompiled_vector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = replace(judge.get_language("c"), precompiled="vector", find_tool=lambda: None)
    monkeypatch.setitem(judge.LANGUAGES, "c", missing)  # C++ 17 and 23 wait for their first program
    unfinished = precompiled_vector / "headers" / "new-by-one-that-was-killed"
    unfinished.mkdir(parents=True, mode=0o700)
    unfinished.parent.chmod(0o700)
    threads = [threading.Thread(target=judge.prepare) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recording.compilations) == len(entries(precompiled_vector / "headers")) == 1
    assert HEADER_USED in grade(WITH_VECTOR, "cpp").compiler_output
    assert len(recording.compilations) == 2


def test_each_set_of_flags_has_its_own_header(
    grade: Grade, precompiled_vector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = judge.get_language("cpp")
    for standard in ("-std=gnu++17", "-std=gnu++20"):
        changed = replace(row, compile=(*row.compile[:-1], standard, row.compile[-1]))
        monkeypatch.setitem(judge.LANGUAGES, "cpp", changed)
        assert HEADER_USED in grade(WITH_VECTOR, "cpp").compiler_output
    assert len(entries(precompiled_vector / "headers")) == 2


@pytest.mark.parametrize("harm", ["cut short", "writable by others", "removed while in use"])
def test_a_header_that_is_damaged_or_not_ours_is_replaced(
    grade: Grade, recording: Recording, precompiled_vector: Path, harm: str
) -> None:
    grade(WITH_VECTOR, "cpp")
    (entry,) = entries(precompiled_vector / "headers")
    file = entry / "include" / "vector.gch"
    if harm == "cut short":
        os.truncate(file, 10_000)
    elif harm == "writable by others":
        file.parent.chmod(0o777)
    else:
        recording.before = lambda mounts: remove(entry) if mounts.mounted else None
    judgement = grade(WITH_VECTOR + "// again", "cpp")
    assert judgement.verdict is Verdict.AC
    assert (HEADER_USED in judgement.compiler_output) == (harm != "removed while in use")


def test_a_header_that_cannot_be_compiled_is_tried_once_and_done_without(
    grade: Grade, recording: Recording, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = judge.get_language("cpp")
    monkeypatch.setitem(judge.LANGUAGES, "cpp", replace(row, precompiled="no/such/header"))
    for number in range(2):
        assert grade(f"// no/such/header {number}\n{SMALL_PROGRAM}", "cpp").verdict is Verdict.AC
    assert len(recording.compilations) == 3


def test_what_is_wrong_with_a_program_is_said_as_without_the_header(
    grade: Grade, precompiled_vector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "#include <vector>\nint main() { std::vector<int> v; v.push_back(main, 1); }"
    with_header = grade(source, "cpp")
    row = judge.get_language("cpp")
    monkeypatch.setitem(judge.LANGUAGES, "cpp", replace(row, precompiled=None))
    without = grade(source, "cpp")
    assert with_header.verdict is without.verdict is Verdict.CE
    assert with_header.compiler_output == without.compiler_output


def test_other_headers_may_precede_the_precompiled_one(grade: Grade, precompiled_vector: Path) -> None:
    before = "#include <array>\n#include <iostream>\n#include <vector>\n#include <iostream>\n"
    assert grade(before + WITH_VECTOR, "cpp").verdict is Verdict.AC


def test_a_macro_before_the_precompiled_header_has_its_effect(grade: Grade, precompiled_vector: Path) -> None:
    source = """
#define _GLIBCXX_DEBUG
#include <vector>
int main() { volatile int one = 1; std::vector<int> v(1); __builtin_printf("%d", v[one]); }
"""
    judgement = grade(source, "cpp")
    assert judgement.verdict is Verdict.RTE, judgement


SUM = "int main() { int n, s = 0, x; std::cin >> n; while (std::cin >> x) s += x; std::cout << s; }"
BEFORE_THE_HEADER = {
    "nothing": "",
    "pragmas": '#pragma GCC optimize("O3,unroll-loops")\n#pragma GCC target("popcnt")',
}


@pytest.mark.parametrize("before", BEFORE_THE_HEADER.values(), ids=BEFORE_THE_HEADER)
def test_any_lines_around_the_precompiled_header_compile(grade: Grade, before: str) -> None:
    source = f"{before}\n#include <bits/stdc++.h>\n#include <iostream>\n#include <bits/stdc++.h>\n{SUM}"
    assert grade(source, "cpp").verdict is Verdict.AC


@pytest.mark.parametrize(
    "program",
    [
        program
        for name in ("idioms.txt", "faults.txt")
        for program in programs(name)
        if program.language == "cpp"
    ][::8],
    ids=str,
)
def test_the_header_changes_no_verdict(grade: Grade, program: Program) -> None:
    judgement = grade("#include <bits/stdc++.h>\n" + program.source, "cpp", limits=replace(SMALL, time=0.2))
    assert judgement.verdict is program.verdict, judgement


def test_no_source_can_read_the_cache_or_another_program(grade: Grade, empty_cache: Path) -> None:
    grade(SMALL_PROGRAM, "cpp")
    (entry,) = entries(empty_cache / "programs")
    for thief in (f'#include "{entry}"\nint main() {{}}', f'asm(".incbin \\"{entry}\\"");\nint main() {{}}'):
        judgement = grade(thief, "cpp")
        assert judgement.verdict is Verdict.CE
        assert "No such file" in judgement.compiler_output or "file not found" in judgement.compiler_output
    looking = (
        f"import os\nprint([os.path.exists(p) for p in ({str(entry)!r}, {str(empty_cache)!r}, '/headers')])"
    )
    judgement = grade(looking)
    assert judgement.tests[0].output == "[False, False, False]\n"


def test_a_compiler_turned_against_the_judge_could_not_change_the_precompiled_header(
    grade: Grade, recording: Recording, precompiled_vector: Path
) -> None:
    grade(WITH_VECTOR, "cpp")
    mounts = recording.compilations[-1]
    attempts = (
        "for f in /headers/vector.gch /headers/new /headers/../headers; do rm -rf $f; echo x > $f; done"
    )
    command = ("/bin/sh", "-c", f"ls /headers; {attempts}; ls /headers")
    with open_sandbox().open(mounts) as container:
        outcome = container.run(SandboxRun(command, SMALL, 10))
    assert outcome.stdout == b"vector.gch\nvector.gch\n"
    assert b"Read-only file system" in outcome.stderr
    assert HEADER_USED in grade(WITH_VECTOR + "// again", "cpp").compiler_output
