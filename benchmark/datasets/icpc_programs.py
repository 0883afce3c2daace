"""The programs of a problem package that are no solutions: generators, input validators, known wrong submissions.

Generators are called as `generators/generators.yaml` says (the format of BAPCtools): a program without such a
line is not used, because nothing says how it is called.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark.datasets.records import ProgramRecord, TestKind
from judge import UnknownLanguage, Verdict, get_language, language_of
from judge.package_files import PackageError, read_mapping, shown
from judge.packages import Package

_LARGEST_PROGRAM = 2**20
_DEEPEST = 20
_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_SPARED = (".yaml", ".yml", ".md", ".txt", ".pyc")
_STRESS = re.compile(r"stress|large|big|huge|max|worst|tle", re.IGNORECASE)
_CORNER = re.compile(r"corner|edge|special", re.IGNORECASE)
_RANDOM = re.compile(r"rand", re.IGNORECASE)


def package_programs(package: Package) -> tuple[tuple[ProgramRecord, ...], Sequence[str]]:
    """The programs, and notes on those that are left out. Raises PackageError for an unreadable generators.yaml."""
    notes: list[str] = []
    programs = [*_generators(package.path, notes), *_validators(package.path, notes), *_wrong(package, notes)]
    return tuple(programs), notes


def _wrong(package: Package, notes: list[str]) -> Iterator[ProgramRecord]:
    """Submissions that must fail, of one file each. One that must not compile tells nothing about tests."""
    for submission in package.submissions:
        if submission.left_out or Verdict.AC in submission.expected or submission.expected == {Verdict.CE}:
            continue
        if submission.language is None or len(submission.files) != 1:
            notes.append(f"the wrong submission {submission.name} is not one program file")
            continue
        yield ProgramRecord(
            role="wrong",
            name=submission.name,
            language=submission.language,
            files=submission.sources(),
            expected=tuple(sorted(verdict.value for verdict in submission.expected)),
        )


def _validators(package: Path, notes: list[str]) -> Iterator[ProgramRecord]:
    for path in _entries(package / "input_validators"):
        try:
            language, files = _program(path)
        except _NoProgram as reason:
            notes.append(f"the input validator {shown(path.name)} is not used: {reason}")
        else:
            yield ProgramRecord("input_validator", path.name, language, files)


def _generators(package: Path, notes: list[str]) -> Iterator[ProgramRecord]:
    """Each generator that generators.yaml calls, with its calls."""
    folder = package / "generators"
    settings = read_mapping(folder / "generators.yaml")
    calls: dict[str, dict[tuple[TestKind, str], None]] = {}
    for name, command in _commands(settings.get("data"), "", 0):
        program, _, arguments = command.strip().partition(" ")
        arguments = arguments.strip().replace("{name}", name.rpartition("/")[2])
        calls.setdefault(program, {})[_kind(f"{name} {command}", arguments), arguments] = None
    aliases = settings.get("generators")
    for called, commands in calls.items():
        try:
            language, files = _generator(folder, called, aliases, calls)
        except _NoProgram as reason:
            notes.append(f"the generator {shown(called)} is not used: {reason}")
        else:
            yield ProgramRecord("generator", called, language, files, commands=tuple(commands))


def _commands(entry: Any, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """The tests' names and the commands that make them, however deep in folders. Copied tests have no command."""
    if depth > _DEEPEST:
        raise PackageError("generators.yaml: its folders are nested too deeply")
    if isinstance(entry, list):
        for one in entry:
            yield from _commands(one, name, depth + 1)
    elif isinstance(entry, dict):
        if isinstance(command := entry.get("generate"), str):
            yield name, command
        elif "data" in entry:
            yield from _commands(entry["data"], name, depth + 1)
        elif not entry.keys() & {"in", "copy"}:
            for key, value in entry.items():
                yield from _commands(value, f"{name}/{key}" if name else str(key), depth + 1)
    elif isinstance(entry, str) and not entry.endswith(".in"):
        yield name, entry


def _kind(words: str, arguments: str) -> TestKind:
    """What kind of test a command makes: the package does not say, its names and arguments suggest it."""
    if _STRESS.search(words):
        return "stress"
    if _CORNER.search(words):
        return "corner"
    return "random" if "{seed" in arguments or _RANDOM.search(words) else "corner"


def _generator(folder: Path, called: str, aliases: object, calls: Any) -> tuple[str, dict[str, str]]:
    listed = aliases.get(called) if isinstance(aliases, dict) else None
    if isinstance(listed, list) and listed:
        paths = [_inside(folder, str(name)) for name in listed]
    else:
        paths = [_inside(folder, called)]
    language, files = _program(paths[0])
    if len(files) == 1 and language == "python":  # so that it is known which one to start
        files = {"main.py": next(iter(files.values()))}
    beside = paths[1:] if listed else [path for path in _entries(folder) if path.name not in calls]
    for path in beside:
        if path.is_file() and language == "python" and path.suffix == ".py":
            files.setdefault(path.name, _text(path))
    return language, files


def _inside(folder: Path, name: str) -> Path:
    path = folder / name.lstrip("/")
    if not path.resolve().is_relative_to(folder.resolve()) or not path.exists():
        raise _NoProgram("there is no such file in generators/")
    return path


class _NoProgram(Exception):
    pass


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    unwanted = (".", "__pycache__", "README")
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith(unwanted))
    return [path for path in paths if path.suffix not in (*_SPARED, *_HEADERS)]


def _program(path: Path) -> tuple[str, dict[str, str]]:
    """The language and the texts of a program: the files of a folder, or one file with the headers beside it."""
    folder = path if path.is_dir() else path.parent
    files = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file() and (file == path or file.suffix in _HEADERS or path.is_dir())
    ]
    try:
        languages = {language_of(file) for file in files if file.suffix not in _HEADERS}
    except UnknownLanguage as error:
        raise _NoProgram(str(error)) from None
    if len(languages) != 1:
        raise _NoProgram("it is not in one language")
    language = languages.pop()
    kept = [
        file for file in files if file.suffix not in _HEADERS or get_language(language).family in ("c", "cpp")
    ]
    return language, {file.name: _text(file) for file in kept}


def _text(file: Path) -> str:
    if not file.is_file() or file.stat().st_size > _LARGEST_PROGRAM:
        raise _NoProgram(f"{shown(file.name)} is no file of at most {_LARGEST_PROGRAM} bytes")
    return file.read_bytes().decode("utf-8-sig", "replace")
