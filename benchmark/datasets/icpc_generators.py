"""The generators of a problem package, and the tests that `generators/generators.yaml` lists, with their files.

Programs that the file does not call are ignored, because their arguments are unknown.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.datasets.generators_yaml import Listing, ListingEntry, ListingError, read_listing
from benchmark.datasets.icpc_programs import ProgramFileError, program_files_of, program_text, read_program
from benchmark.datasets.records import ListedTestRecord, ProgramRecord, TestKind
from judge.packages import shown

_LARGEST_TEST = 256 * 2**20
_STRESS = re.compile(r"stress|large|big|huge|max|worst|tle", re.IGNORECASE)
_CORNER = re.compile(r"corner|edge|special", re.IGNORECASE)
_RANDOM = re.compile(r"rand", re.IGNORECASE)

_Calls = dict[str, dict[tuple[TestKind, str], None]]


def generators_and_tests(
    package: Path,
) -> tuple[tuple[ProgramRecord, ...], tuple[ListedTestRecord, ...], Sequence[str]]:
    """Return the generators that generators.yaml calls, its tests in their order, and notes.

    An invalid or missing test becomes a test with a fault. Raises PackageError for an unreadable file.
    """
    listing = read_listing(package / "generators" / "generators.yaml")
    calls = _calls(listing)
    programs, broken = _generators(package / "generators", listing, calls)
    tests = [_listed(package, entry, broken) for entry in listing.tests]
    tests += [ListedTestRecord(fault.name, fault=fault.reason) for fault in listing.faults]
    notes = [f"the generator {shown(name)} is not used: {reason}" for name, reason in broken.items()]
    notes += [f"generators.yaml, {fault.name}: {fault.reason}" for fault in listing.faults]
    if listing.elsewhere:
        notes.append(
            f"{listing.elsewhere} tests of generators.yaml are outside sample and secret: no submission is judged "
            "on them"
        )
    return tuple(programs), tuple(tests), notes


def _calls(listing: Listing) -> _Calls:
    """Return each generator with its calls below `secret`: kind of test and arguments."""
    calls: _Calls = {}
    for entry in listing.tests:
        if entry.command and entry.input is None and not entry.copy and entry.name.startswith("secret/"):
            program, arguments = _split(entry.command)
            calls.setdefault(program, {})[_kind(entry), arguments] = None
        elif entry.command:
            calls.setdefault(_split(entry.command)[0], {})
    return calls


def _generators(
    folder: Path, listing: Listing, calls: _Calls
) -> tuple[list[ProgramRecord], Mapping[str, str]]:
    """Return the usable generators, and the reasons why the others are not usable."""
    programs, broken = [], {}
    for called, commands in calls.items():
        try:
            language, files = _generator(folder, called, listing.aliases.get(called), calls)
        except ProgramFileError as reason:
            broken[called] = str(reason)
        else:
            programs.append(ProgramRecord("generator", called, language, files, commands=tuple(commands)))
    return programs, broken


def _listed(package: Path, entry: ListingEntry, broken: Mapping[str, str]) -> ListedTestRecord:
    try:
        given, answer = _files(package, entry)
        if given is None:
            return _generated(entry, broken)
    except ListingError as reason:
        return ListedTestRecord(entry.name, fault=str(reason))
    return ListedTestRecord(entry.name, input=given, answer=answer, solution=_solution(entry))


def _generated(entry: ListingEntry, broken: Mapping[str, str]) -> ListedTestRecord:
    program, arguments = _split(entry.command)
    if program in broken:
        raise ListingError(f"its generator {shown(program)} cannot be run: {broken[program]}")
    try:
        shlex.split(arguments)
    except ValueError as error:
        raise ListingError(f"its command {shown(entry.command)} cannot be split: {error}") from None
    return ListedTestRecord(
        entry.name,
        kind=_kind(entry),
        generator=program,
        arguments=arguments,
        salt=entry.salt,
        solution=_solution(entry),
        answer=_encoded(entry.answer),
    )


def _files(package: Path, entry: ListingEntry) -> tuple[bytes | Path | None, bytes | Path | None]:
    """Return input and answer from files or generators.yaml; the input is None if a command generates it."""
    answer: bytes | Path | None = _encoded(entry.answer)
    if entry.input is not None:
        return entry.input.encode("utf-8", "replace"), answer
    if entry.copy:
        stem, what = package / "generators" / entry.copy, f"its copy {entry.copy}.in"
    elif entry.command:
        return None, answer
    else:
        stem, what = package / "data" / entry.name, f"it has no input, and data/{entry.name}.in"
    given = _file(package, stem, ".in")
    if given is None:
        raise ListingError(
            shown(f"{what} is not a file of the package of at most {_LARGEST_TEST // 2**20} MiB")
        )
    return given, answer if answer is not None else _file(package, stem, ".ans")


def _file(package: Path, stem: Path, suffix: str) -> Path | None:
    """Return the file of this name; None if it is outside the package or too large."""
    try:
        path = stem.with_name(stem.name + suffix).resolve()
        inside = path.is_relative_to(package.resolve()) and path.is_file()
        return path if inside and path.stat().st_size <= _LARGEST_TEST else None
    except (OSError, ValueError, RuntimeError):  # an invalid file name, or a link to itself
        return None


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "replace")


def _solution(entry: ListingEntry) -> str:
    """Return the file name of the solution, which is the name of its reference solution."""
    return entry.solution.rpartition("/")[2]


def _split(command: str) -> tuple[str, str]:
    """Return the generator's name and its arguments."""
    program, *rest = command.split(None, 1)
    return program, rest[0].strip() if rest else ""


def _kind(entry: ListingEntry) -> TestKind:
    """Return the kind of test of a command, guessed from its names and arguments."""
    words = f"{entry.key} {entry.command}"
    if _STRESS.search(words):
        return "stress"
    if _CORNER.search(words):
        return "corner"
    return "random" if "{seed" in entry.command or _RANDOM.search(words) else "corner"


def _generator(
    folder: Path, called: str, alias: Sequence[str] | None, calls: _Calls
) -> tuple[str, dict[str, str]]:
    paths = [_inside(folder, name) for name in alias or (called,)]
    language, files = read_program(paths[0])
    if len(files) == 1 and language == "python":  # names the main file
        files = {"main.py": next(iter(files.values()))}
    extra_files = (
        paths[1:] if alias else [path for path in program_files_of(folder) if path.name not in calls]
    )
    for path in extra_files:
        if path.is_file() and (alias or (language == "python" and path.suffix == ".py")):
            files.setdefault(path.name, program_text(path))
    return language, files


def _inside(folder: Path, name: str) -> Path:
    path = folder / name.lstrip("/")
    if not path.resolve().is_relative_to(folder.resolve()) or not path.exists():
        raise ProgramFileError(f"there is no file {shown(name)} in generators/")
    return path
