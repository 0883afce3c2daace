"""ICPC problem packages: limits, tests, checker and labelled submissions.

Formats: legacy, 2023-07 and 2025-09 (docs/spec.md 10.6). A package is a folder.
"""

import configparser
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.checking import Checker
from judge.packages.files import (
    PackageError,
    files_below,
    quoted,
    read_mapping,
    read_text,
    refuse_links_outside,
    shown,
)
from judge.packages.labelled_submissions import LabelledSubmission, read_submissions
from judge.packages.output_validator import UnusableValidatorError, find_validator, read_validator
from judge.records import MEBIBYTE, Limits, Test

_LEGACY_VERSIONS = ("legacy", "legacy-icpc")
_VERSIONS = (*_LEGACY_VERSIONS, "2023-07", "2023-07-draft", "2025-09", "2025-09-draft", "draft")
_MAXIMUM_SECONDS = 3600.0
_DEFAULT_MEMORY = 2048  # MiB
_DEFAULT_OUTPUT = 8  # MiB
_MAXIMUM_MEBIBYTES = 2**20
_MAXIMUM_PASSES = 1000
_TYPES = {
    "pass-fail": "",
    "interactive": "",
    "multi-pass": "",
    "default": "",
    "custom": "",
    "submit-answer": "its submissions are answers, not programs",
    "scoring": "its submissions get scores",
    "score": "its submissions get scores",
}
_PARTS = ("problem.yaml", ".timelimit", "domjudge-problem.ini", "data", "submissions", "output_validator",
          "output_validators")  # fmt: skip
"""The parts that this module reads. Packages often share files of other parts with neighbours, by links."""

_MOST_FLAGS, _LONGEST_FLAGS = 100, 10_000
"""Flags of a validator, and their bytes: a run has room for these and for its files (`judge.sandbox.packets`)."""

_FLAGS = ("output_validator_args", "output_validator_flags", "validator_flags")


@dataclass(frozen=True)
class Package:
    """A problem package.

    `time_limit` (CPU seconds) is None if it must be derived from submissions. `memory` and `output` are bytes.
    `unsupported` is the reason why this judge cannot judge the package faithfully (scores, several validators …), else
    empty. Samples are the first tests.
    """

    name: str
    path: Path
    time_limit: float | None
    time_multiplier: float
    time_resolution: float
    safety_margin: float
    memory: int
    output: int
    compile_time: float
    checker: Checker
    tests: tuple[Test, ...]
    submissions: tuple[LabelledSubmission, ...]
    format_version: str
    problem_yaml: dict[str, Any]
    unsupported: str

    @property
    def limits(self) -> Limits | None:
        """The limits of the problem, or None if the time limit must be derived."""
        return None if self.time_limit is None else self.limits_with(self.time_limit)

    def limits_with(self, time: float) -> Limits:
        """Return the limits of the problem with this time limit, in CPU seconds."""
        return Limits(time=time, memory=self.memory, output=self.output)

    def derived_time_limit(self, slowest_accepted: float) -> float:
        """Return the slowest accepted submission's time multiplied by `time_multiplier`, rounded up to the resolution.

        All in CPU seconds. The resolution is 1 s unless a package in the newer formats sets another.
        """
        exact = slowest_accepted * self.time_multiplier / self.time_resolution
        return max(1, math.ceil(round(exact, 9))) * self.time_resolution


def read_package(path: Path) -> Package:
    """Read the package in the folder `path`. Raises PackageError for every invalid content."""
    try:
        return _read(path)
    except (OSError, ValueError) as error:  # for example a number with more digits than Python converts
        raise PackageError(f"{shown(path)} cannot be read: {shown(error)}") from error


def _read(path: Path) -> Package:
    for part in _PARTS:
        refuse_links_outside(path, part)
    settings = read_mapping(path / "problem.yaml", required=True)
    version = str(settings.get("problem_format_version", "legacy"))
    legacy = version in _LEGACY_VERSIONS
    types = _types(path, settings)
    limits = _submapping(path, settings, "limits")
    multipliers = {} if legacy else _submapping(path, limits, "time_multipliers")
    flags, flags_unsupported = _validator_flags(path, settings)
    unsupported = (
        _unsupported(path, version, types, _submapping(path, settings, "constants")) or flags_unsupported
    )
    checker = Checker()
    if not unsupported:
        try:
            checker = _checker(path, limits, types, tuple(flags), legacy=legacy)
        except UnusableValidatorError as reason:
            unsupported = str(reason)
    return Package(
        name=path.resolve().name,
        path=path,
        time_limit=_time_limit(path, limits),
        time_multiplier=_limit(path, limits, "time_multiplier", 5)
        if legacy
        else _limit(path, multipliers, "ac_to_time_limit", 2),
        time_resolution=1.0 if legacy else _limit(path, limits, "time_resolution", 1, _MAXIMUM_SECONDS),
        safety_margin=_limit(path, limits, "time_safety_margin", 2)
        if legacy
        else _limit(path, multipliers, "time_limit_to_tle", 1.5),
        memory=_bytes(path, limits, "memory", _DEFAULT_MEMORY),
        output=_bytes(path, limits, "output", _DEFAULT_OUTPUT),
        compile_time=_limit(path, limits, "compilation_time", 60, _MAXIMUM_SECONDS),
        checker=checker,
        tests=_tests(path),
        submissions=read_submissions(path),
        format_version=version,
        problem_yaml=settings,
        unsupported=unsupported,
    )


def _submapping(path: Path, settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = settings.get(key) or {}
    if not isinstance(value, dict):
        raise PackageError(f"{shown(path / 'problem.yaml')}: {key} must be a mapping, not {quoted(value)}")
    return value


def _types(path: Path, settings: dict[str, Any]) -> set[str]:
    """Return the words of `type` and of the legacy `validation`."""
    kind = settings.get("type") or []
    words = {str(word) for word in (kind if isinstance(kind, list) else [kind])}
    words |= set(str(settings.get("validation", "")).split())
    if unknown := sorted(words - _TYPES.keys()):
        raise PackageError(
            f"{shown(path / 'problem.yaml')}: no type of problem is called {quoted(unknown[0])}"
        )
    return words


def _unsupported(path: Path, version: str, types: set[str], constants: Mapping[str, Any]) -> str:
    """Return the reason why this judge does not support the package, or ""."""
    if version not in _VERSIONS:
        return f"its format version {quoted(version)} is unknown"
    if reason := next((_TYPES[word] for word in sorted(types) if _TYPES[word]), ""):
        return reason
    for folder, reason in (
        ("static_validator", "its validator reads the source of submissions"),
        ("include", "it adds files of its own to submissions"),
    ):
        if (path / folder).is_dir() and any((path / folder).iterdir()):
            return f"{reason} ({folder}/)"
    if used := _constant_used(path, constants):
        return f"the constant {used} would have to be filled in"
    for name in ("sample", "secret"):
        folders = (one for one in (path / "data" / name).rglob("*.files") if one.is_dir())
        if found := next(folders, None):
            return f"its submissions read files ({shown(found.relative_to(path))})"
    return ""


def _constant_used(path: Path, constants: Mapping[str, Any]) -> str:
    """Return a placeholder of a constant in a program of the package, or ""."""
    places = [f"{{{{{name}}}}}".encode("utf-8", "replace") for name in constants]
    for part in ("submissions", "output_validator") if places else ():
        for file in files_below(path / part):
            content = file.read_bytes() if file.is_file() else b""
            if found := next((place for place in places if place in content), None):
                return f"{shown(found.decode())} of {shown(file.relative_to(path))}"
    return ""


def _checker(
    path: Path, limits: dict[str, Any], types: set[str], flags: tuple[str, ...], *, legacy: bool
) -> Checker:
    interactive, multi_pass = "interactive" in types, "multi-pass" in types
    validator = find_validator(path, legacy=legacy) if not legacy or "custom" in types else None
    if validator is None:
        if interactive or multi_pass or "custom" in types:
            raise PackageError(f"{shown(path)} needs its own output validator, and has none")
        try:
            return Checker.from_flags(list(flags))
        except ValueError as error:
            raise PackageError(f"{shown(path)}: {shown(error)}") from error
    passes = _limit(path, limits, "validation_passes", 2, _MAXIMUM_PASSES) if multi_pass else 1.0
    if not passes.is_integer():
        raise PackageError(f"{shown(path)}: validation_passes must be a whole number, not {passes:g}")
    program = read_validator(
        validator,
        flags,
        interactive=interactive,
        passes=int(passes),
        limits=Limits(
            time=_limit(path, limits, "validation_time", 60, _MAXIMUM_SECONDS),
            memory=_bytes(path, limits, "validation_memory", _DEFAULT_MEMORY),
            output=_bytes(path, limits, "validation_output", _DEFAULT_OUTPUT),
        ),
    )
    return Checker("validator", program=program)


def _validator_flags(path: Path, settings: dict[str, Any]) -> tuple[list[str], str]:
    """Return the output validator's flags for all tests, and a reason if a file sets flags for some tests only."""
    flags = _flags(path, settings)
    data = path / "data"
    files = [file for file in files_below(data) if file.suffix == ".yaml" and _belongs_to_tests(file, data)]
    for file in sorted(files, key=lambda file: (len(file.parts), file)):
        configuration = read_mapping(file)
        if configuration.get("args"):
            return [], f"{shown(file.relative_to(path))} sets arguments for submissions"
        given = _flags(path, configuration)
        if given is None:
            continue
        for_all = file.stem in ("testdata", "test_group") and file.parent in (data, data / "secret")
        if flags is None and for_all:
            flags = given
        elif given != flags:
            return [], f"{shown(file.relative_to(path))} sets output validator flags for some of the tests"
    return flags or [], ""


def _belongs_to_tests(file: Path, data: Path) -> bool:
    return file.parent == data or file.relative_to(data).parts[0] in ("sample", "secret")


def _flags(path: Path, settings: dict[str, Any]) -> list[str] | None:
    value = next((settings[key] for key in _FLAGS if settings.get(key) is not None), None)
    if isinstance(value, dict):  # with the name of the validator
        value = value.get("flags")
    if value is None:
        return None
    words = value if isinstance(value, list) else str(value)
    try:
        flags = [str(word) for word in words] if isinstance(words, list) else shlex.split(words)
    except ValueError as error:
        raise PackageError(
            f"{shown(path)}: the validator flags {quoted(value)} cannot be read: {error}"
        ) from error
    if not all(flag.isprintable() for flag in flags):
        raise PackageError(
            f"{shown(path)}: the validator flags {quoted(value)} contain more than printable characters"
        )
    if len(flags) > _MOST_FLAGS or len(" ".join(flags).encode()) > _LONGEST_FLAGS:
        raise PackageError(
            f"{shown(path)}: the validator has more than {_MOST_FLAGS} flags or {_LONGEST_FLAGS} bytes of them"
        )
    return flags


def _time_limit(path: Path, limits: dict[str, Any]) -> float | None:
    """Return the limit of problem.yaml, else .timelimit, else domjudge-problem.ini, else None."""
    if limits.get("time_limit") is not None:
        return _limit(path, limits, "time_limit", 0, _MAXIMUM_SECONDS)
    if (text := read_text(path / ".timelimit")) is not None:
        return _number(path, ".timelimit", text.strip(), _MAXIMUM_SECONDS)
    if (text := read_text(path / "domjudge-problem.ini")) is None:
        return None
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string("[problem]\n" + text)
    except configparser.Error as error:
        raise PackageError(f"{shown(path / 'domjudge-problem.ini')}: {shown(error)}") from error
    for section in parser.sections():
        if value := parser.get(section, "timelimit", fallback=None):
            return _number(path, "domjudge-problem.ini timelimit", value.strip("'\" "), _MAXIMUM_SECONDS)
    return None


def _limit(
    path: Path, limits: Mapping[str, Any], key: str, default: float, largest: float = _MAXIMUM_MEBIBYTES
) -> float:
    value = limits.get(key)
    return _number(path, key, default if value is None else value, largest)


def _bytes(path: Path, limits: Mapping[str, Any], key: str, default: int) -> int:
    """Return the bytes of a limit given in MiB."""
    return math.ceil(_limit(path, limits, key, default) * MEBIBYTE)


def _number(path: Path, name: str, value: object, largest: float) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 < number <= largest:
        raise PackageError(
            f"{shown(path)}: {name} must be a positive number of at most {largest:g}, not {quoted(value)}"
        )
    return number


def _tests(path: Path) -> tuple[Test, ...]:
    """Return the pairs of .in and .ans below data/sample, then data/secret, each in lexicographic order."""
    tests = []
    for folder in (path / "data" / "sample", path / "data" / "secret"):
        files = [file for file in files_below(folder) if file.suffix in (".in", ".ans")]
        for stem in sorted(
            {file.with_suffix("") for file in files}, key=lambda stem: stem.relative_to(folder).as_posix()
        ):
            name = f"{folder.name}/{stem.relative_to(folder).as_posix()}"
            if not name.isprintable():
                raise PackageError(
                    f"{shown(path)}: the name of the test {shown(name)} contains more than printable characters"
                )
            given, answer = Path(f"{stem}.in"), Path(f"{stem}.ans")
            for file in (given, answer):
                if not file.is_file():
                    why = "is not a regular file" if file.exists() else "is missing; its other half is there"
                    raise PackageError(f"{shown(file)} {why}")
            tests.append(Test(name, given, answer, sample=folder.name == "sample"))
    return tuple(tests)
