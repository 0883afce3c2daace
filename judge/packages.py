"""Reading ICPC problem packages as far as judging needs them: limits, tests, comparison, labelled submissions.

Formats: legacy and 2023-07 (METHODS.md 10.6). A package is a folder.
"""

import configparser
import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from judge.checkers import Checker
from judge.expectations import Submission, read_submissions
from judge.judgement import Test
from judge.limits import MEBIBYTE, Limits

_LONGEST = 3600.0  # seconds
_MEMORY = 2048  # MiB, where the package sets none
_OUTPUT = 8  # MiB
_UNSUPPORTED_TYPES = {
    "interactive": "it is interactive",
    "multi-pass": "its submissions run in several passes",
    "submit-answer": "its submissions are answers, not programs",
    "scoring": "its submissions get scores",
}


class PackageError(Exception):
    """The folder is not a problem package that can be judged; the message says where and why."""


@dataclass(frozen=True)
class Package:
    """A problem package.

    `time_limit` (CPU seconds) is None where the package leaves it to be derived: the slowest accepted
    submission times `time_multiplier`, rounded up to a multiple of `time_resolution`, and at least 1 second.
    `memory` and `output` are bytes. `unsupported` says why this judge cannot judge the package faithfully
    (custom validators, interaction, scores …); it is empty where it can. Tests: samples first.
    """

    name: str
    path: Path
    time_limit: float | None
    time_multiplier: float
    time_resolution: float
    memory: int
    output: int
    checker: Checker
    tests: tuple[Test, ...]
    submissions: tuple[Submission, ...]
    format_version: str
    problem_yaml: dict[str, Any]
    interactive: bool
    custom_validator: bool
    unsupported: str

    @property
    def limits(self) -> Limits | None:
        """The limits of the problem, or None where the time limit is to be derived."""
        return None if self.time_limit is None else self.limits_with(self.time_limit)

    def limits_with(self, time: float) -> Limits:
        """The limits of the problem with this time limit."""
        return Limits(time=time, memory=self.memory, output=self.output)

    def derived_time_limit(self, slowest_accepted: float) -> float:
        """The time limit that follows from the slowest accepted submission; both in CPU seconds."""
        steps = math.ceil(slowest_accepted * self.time_multiplier / self.time_resolution)
        return max(1.0, steps * self.time_resolution)


def read_package(path: Path) -> Package:
    """Read the package in the folder `path`. Raises PackageError."""
    settings = _mapping(path / "problem.yaml", required=True)
    version = str(settings.get("problem_format_version", "legacy"))
    limits = settings.get("limits") or {}
    if not isinstance(limits, dict):
        raise PackageError(f"{path / 'problem.yaml'}: limits must be a mapping")
    multipliers = limits.get("time_multipliers") or {}
    if not isinstance(multipliers, dict):
        raise PackageError(f"{path / 'problem.yaml'}: time_multipliers must be a mapping")
    legacy = version == "legacy"
    types = _types(settings)
    interactive = "interactive" in types
    custom = _has_custom_validator(path, settings, legacy)
    flags, own_flags = _validator_flags(path, settings)
    unsupported = next((reason for name, reason in _UNSUPPORTED_TYPES.items() if name in types), "")
    if not unsupported and custom:
        unsupported = "it has its own output validator"
    if not unsupported and own_flags:
        unsupported = f"{own_flags} sets output validator flags for one group of tests"
    return Package(
        name=path.resolve().name,
        path=path,
        time_limit=_time_limit(path, limits),
        time_multiplier=_number(
            path,
            "time_multiplier",
            limits.get("time_multiplier", 5) if legacy else multipliers.get("ac_to_time_limit", 2),
        ),
        time_resolution=_number(path, "time_resolution", limits.get("time_resolution", 1)),
        memory=int(_number(path, "memory", limits.get("memory", _MEMORY)) * MEBIBYTE),
        output=int(_number(path, "output", limits.get("output", _OUTPUT)) * MEBIBYTE),
        checker=Checker() if unsupported else _checker(path, flags),
        tests=_tests(path),
        submissions=read_submissions(path),
        format_version=version,
        problem_yaml=settings,
        interactive=interactive,
        custom_validator=custom,
        unsupported=unsupported,
    )


def _mapping(file: Path, *, required: bool = False) -> dict[str, Any]:
    if not file.is_file():
        if required:
            raise PackageError(f"{file.parent} is not a problem package: it has no {file.name}")
        return {}
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PackageError(f"{file} is not valid YAML: {' '.join(str(error).split())}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise PackageError(f"{file} must hold a mapping, not a {type(content).__name__}")
    return content


def _types(settings: dict[str, Any]) -> set[str]:
    """The words of `type` and of the legacy `validation`, where "score" stands for scoring."""
    kind = settings.get("type") or []
    words = {str(word) for word in (kind if isinstance(kind, list) else [kind])}
    validation = str(settings.get("validation", "")).split()
    return words | {"scoring" if word == "score" else word for word in validation}


def _has_custom_validator(path: Path, settings: dict[str, Any], legacy: bool) -> bool:
    if legacy:
        return "custom" in str(settings.get("validation", "default")).split()
    return any(
        (path / name).is_dir() and any((path / name).iterdir())
        for name in ("output_validator", "output_validators")
    )


def _validator_flags(path: Path, settings: dict[str, Any]) -> tuple[list[str], str]:
    """The flags of the default output validator, and the file of a test group that changes them, if any."""
    keys = ("output_validator_args", "output_validator_flags", "validator_flags")
    flags = _flags(path, settings, keys)
    data = path / "data"
    groups = [file for name in ("testdata.yaml", "test_group.yaml") for file in sorted(data.rglob(name))]
    for file in sorted(groups, key=lambda file: len(file.parts)):
        given = _flags(path, _mapping(file), keys)
        if given is None:
            continue
        if flags is None and file.parent in (data, data / "secret"):
            flags = given
        elif given != flags:
            return flags or [], str(file.relative_to(path))
    return flags or [], ""


def _flags(path: Path, settings: dict[str, Any], keys: tuple[str, ...]) -> list[str] | None:
    value = next((settings[key] for key in keys if settings.get(key) is not None), None)
    if value is None:
        return None
    if isinstance(value, list):
        return [str(word) for word in value]
    try:
        return shlex.split(str(value))
    except ValueError as error:
        raise PackageError(f"{path}: the validator flags {value!r} cannot be read: {error}") from error


def _checker(path: Path, flags: list[str]) -> Checker:
    try:
        return Checker.from_flags(flags)
    except ValueError as error:
        raise PackageError(f"{path}: {error}") from error


def _time_limit(path: Path, limits: dict[str, Any]) -> float | None:
    """From problem.yaml, else .timelimit, else domjudge-problem.ini, else None."""
    if limits.get("time_limit") is not None:
        return _number(path, "time_limit", limits["time_limit"], _LONGEST)
    file = path / ".timelimit"
    if file.is_file():
        return _number(
            path, ".timelimit", file.read_text(encoding="utf-8", errors="replace").strip(), _LONGEST
        )
    file = path / "domjudge-problem.ini"
    if file.is_file():
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string("[problem]\n" + file.read_text(encoding="utf-8", errors="replace"))
        except configparser.Error as error:
            raise PackageError(f"{file}: {' '.join(str(error).split())}") from error
        for section in parser.sections():
            if value := parser.get(section, "timelimit", fallback=None):
                return _number(path, f"{file.name} timelimit", value.strip("'\" "), _LONGEST)
    return None


def _number(path: Path, name: str, value: object, largest: float = math.inf) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not (0 < number <= largest and math.isfinite(number)):
        bound = f" of at most {largest:g}" if math.isfinite(largest) else ""
        raise PackageError(f"{path}: {name} must be a positive number{bound}, not {value!r}")
    return number


def _tests(path: Path) -> tuple[Test, ...]:
    """All pairs of .in and .ans below data/sample and data/secret, each in lexicographic order of their paths."""
    tests = []
    for folder in (path / "data" / "sample", path / "data" / "secret"):
        inputs = {file.with_suffix("") for file in folder.rglob("*.in") if file.is_file()}
        answers = {file.with_suffix("") for file in folder.rglob("*.ans") if file.is_file()}
        for stems, missing in ((inputs - answers, ".ans"), (answers - inputs, ".in")):
            if stems:
                raise PackageError(f"{min(stems)}{missing} is missing; its other half is there")
        for stem in sorted(inputs, key=lambda stem: stem.relative_to(folder).as_posix()):
            name = f"{folder.name}/{stem.relative_to(folder).as_posix()}"
            tests.append(Test(name, Path(f"{stem}.in"), Path(f"{stem}.ans"), sample=folder.name == "sample"))
    return tuple(tests)
