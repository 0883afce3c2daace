"""The input validators and known wrong submissions of a problem package."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark.datasets.records import ProgramRecord
from judge import (
    CHECKTESTDATA,
    CHECKTESTDATA_SUFFIX,
    UnknownLanguageError,
    Verdict,
    get_language,
    is_header,
    language_of,
)
from judge.packages import Package, shown

_LARGEST_PROGRAM = 2**20
_VALIDATORS = ("input_validators", "input_format_validators")
"""The folder's name in current and in older packages."""
_OTHER_SUFFIXES = (".yaml", ".yml", ".md", ".txt", ".pyc")


def package_programs(package: Package) -> tuple[tuple[ProgramRecord, ...], Sequence[str]]:
    """Return the programs, and notes on skipped ones."""
    notes: list[str] = []
    programs = [*_validators(package.path, notes), *_wrong(package, notes)]
    return tuple(programs), notes


def _wrong(package: Package, notes: list[str]) -> Iterator[ProgramRecord]:
    """Yield submissions of one file that must fail. Expected compile errors are skipped: they measure no test."""
    for submission in package.submissions:
        if submission.skipped or Verdict.AC in submission.expected or submission.expected == {Verdict.CE}:
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
    paths = [path for name in _VALIDATORS for path in program_files_of(package / name)]
    for path in paths:
        try:
            language, files = _grammar(path) or read_program(path)
        except ProgramFileError as reason:
            notes.append(f"the input validator {shown(path.name)} is not used: {reason}")
        else:
            yield ProgramRecord("input_validator", path.name, language, files)


def _grammar(path: Path) -> tuple[str, dict[str, str]] | None:
    """Return the Checktestdata grammar in the file, or alone in the folder; None without one."""
    files = program_files_of(path) if path.is_dir() else [path]
    if len(files) != 1 or files[0].suffix != CHECKTESTDATA_SUFFIX:
        return None
    return CHECKTESTDATA, {files[0].name: program_text(files[0])}


class ProgramFileError(Exception):
    """A file or folder that is not a supported program; the message is the reason."""


def program_files_of(folder: Path) -> list[Path]:
    """Return the potential programs of a folder, without notes, settings and headers; none without a folder."""
    if not folder.is_dir():
        return []
    unwanted = (".", "__pycache__", "README")
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith(unwanted))
    return [path for path in paths if path.suffix not in _OTHER_SUFFIXES and not is_header(path)]


def read_program(path: Path) -> tuple[str, dict[str, str]]:
    """Return language and texts of a program: a folder's files, or a file with the headers next to it.

    Raises ProgramFileError.
    """
    folder = path if path.is_dir() else path.parent
    files = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file() and (file == path or is_header(file) or path.is_dir())
    ]
    try:
        languages = {language_of(file) for file in files if not is_header(file)}
    except UnknownLanguageError as error:
        raise ProgramFileError(str(error)) from None
    if len(languages) != 1:
        raise ProgramFileError("it is not in exactly one language")
    language = languages.pop()
    kept = [
        file for file in files if not is_header(file) or get_language(language).family.name in ("c", "cpp")
    ]
    return language, {file.name: program_text(file) for file in kept}


def program_text(file: Path) -> str:
    """Return the text of a source file. Raises ProgramFileError."""
    if not file.is_file() or file.stat().st_size > _LARGEST_PROGRAM:
        raise ProgramFileError(f"{shown(file.name)} is not a file of at most {_LARGEST_PROGRAM} bytes")
    return file.read_bytes().decode("utf-8-sig", "replace")
