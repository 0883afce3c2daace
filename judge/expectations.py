"""The labelled submissions of a problem package: which verdicts each of them may get."""

import re
from dataclasses import dataclass
from pathlib import Path

from judge.languages import UnknownLanguage, language_of
from judge.package_files import shown
from judge.submission_rules import Rule, SubmissionsFile
from judge.verdicts import Verdict

# Packages know fewer verdicts than this judge: there, a program that runs out of memory or prints without end
# counts as a run-time error.
_CRASH = frozenset({Verdict.RTE, Verdict.MLE, Verdict.OLE})
_REJECTED = _CRASH | {Verdict.WA, Verdict.TLE, Verdict.CE}
_LARGEST_SOURCE = 2**20

_FOLDERS: dict[str, frozenset[Verdict]] = {
    "accepted": frozenset({Verdict.AC}),
    "slow_accepted": frozenset({Verdict.AC, Verdict.TLE}),
    "wrong_answer": frozenset({Verdict.WA}),
    "time_limit_exceeded": frozenset({Verdict.TLE}),
    "run_time_error": _CRASH,
    "memory_limit_exceeded": frozenset({Verdict.MLE}),
    "memory_limit": frozenset({Verdict.MLE}),
    "output_limit_exceeded": frozenset({Verdict.OLE}),
    "output_limit": frozenset({Verdict.OLE}),
    "compiler_error": frozenset({Verdict.CE}),
    "compile_error": frozenset({Verdict.CE}),
    "rejected": _REJECTED,
    "brute_force": _CRASH | {Verdict.AC, Verdict.TLE},
}

_TAG = re.compile(rb"@EXPECTED_RESULTS@\s*:([^\r\n]*)")
_TAG_NAME = re.compile(r"[A-Za-z](?:[A-Za-z _-]*[A-Za-z])?")
_TAG_NAMES: dict[str, frozenset[Verdict]] = {
    "CORRECT": frozenset({Verdict.AC}),
    "ACCEPTED": frozenset({Verdict.AC}),
    "WRONG-ANSWER": frozenset({Verdict.WA}),
    "PRESENTATION-ERROR": frozenset({Verdict.WA}),
    "NO-OUTPUT": frozenset({Verdict.WA}),
    "TIMELIMIT": frozenset({Verdict.TLE}),
    "TIME-LIMIT": frozenset({Verdict.TLE}),
    "TIME-LIMIT-EXCEEDED": frozenset({Verdict.TLE}),
    "RUN-ERROR": _CRASH,
    "RUNTIME-ERROR": _CRASH,
    "RUN-TIME-ERROR": _CRASH,
    "MEMORY-LIMIT": frozenset({Verdict.MLE}),
    "MEMORY-LIMIT-EXCEEDED": frozenset({Verdict.MLE}),
    "OUTPUT-LIMIT": frozenset({Verdict.OLE}),
    "OUTPUT-LIMIT-EXCEEDED": frozenset({Verdict.OLE}),
    "COMPILER-ERROR": frozenset({Verdict.CE}),
    "COMPILE-ERROR": frozenset({Verdict.CE}),
    "COMPILATION-ERROR": frozenset({Verdict.CE}),
    "REJECTED": _REJECTED,
}

_LANGUAGES = {"cpp": "cpp", "python3": "python", "java": "java", "kotlin": "kotlin"}
"""The languages of `submissions.yaml` that this judge has."""

_HEADERS = (".h", ".hh", ".hpp", ".hxx")


@dataclass(frozen=True)
class Submission:
    """A labelled program. `label` is its folder's name, `expected` the verdicts that agree with its label.

    `files` are those it consists of. `rules`, where the package has any for it, must hold as well, for all tests.
    `sets_time_limit`: a missing time limit follows from the slowest of these. `left_out` says why the submission cannot
    be judged (another language, no usable label); it is empty where it can.
    """

    path: Path
    language: str | None
    expected: frozenset[Verdict]
    label: str
    left_out: str
    files: tuple[Path, ...] = ()
    rules: tuple[Rule, ...] = ()
    sets_time_limit: bool = False

    @property
    def name(self) -> str:
        """Folder and name, as people refer to it, on one line."""
        return shown(f"{self.label}/{self.path.name}")

    def sources(self) -> dict[str, str]:
        """The text of each of its files by name. Raises OSError."""
        return {file.name: file.read_text(encoding="utf-8", errors="replace") for file in self.files}


def read_submissions(package: Path) -> tuple[Submission, ...]:
    """Everything in the folders below `submissions`, by path. An @EXPECTED_RESULTS@ tag outweighs the folder.

    Raises PackageError for a `submissions.yaml` that cannot be read, and OSError.
    """
    about = SubmissionsFile(package / "submissions")
    folders = sorted(folder for folder in (package / "submissions").glob("*") if folder.is_dir())
    return tuple(
        _submission(path, about)
        for folder in folders
        for path in sorted(folder.iterdir())
        if not path.name.startswith((".", "__pycache__"))
    )


def _submission(path: Path, about: SubmissionsFile) -> Submission:
    label = path.parent.name
    settings = about.about(label, path.name)
    language = None
    files: tuple[Path, ...] = ()
    expected: frozenset[Verdict] = frozenset()
    left_out = ""
    try:
        files = _files(path)
        language = _language(files, settings.language)
        expected = _expected(
            b"\n".join(file.read_bytes() for file in files), label, settings.rules, settings.replaces_folder
        )
    except (_LeftOut, UnknownLanguage) as reason:
        left_out = str(reason)
    sets_time_limit = settings.sets_time_limit
    return Submission(
        path=path,
        language=language,
        expected=expected,
        label=label,
        left_out=left_out,
        files=files,
        rules=settings.rules,
        sets_time_limit=expected == {Verdict.AC} if sets_time_limit is None else sets_time_limit,
    )


class _LeftOut(Exception):
    pass


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_dir():
        files = tuple(
            file for file in sorted(path.iterdir()) if not file.name.startswith((".", "__pycache__"))
        )
        if not files:
            raise _LeftOut("its folder is empty")
    else:
        files = (path,)
    for file in files:
        if not file.is_file():
            raise _LeftOut(f"{shown(file.name)} is no regular file")
        if not file.name.isprintable():
            raise _LeftOut(f"the name {shown(file.name)} holds more than printable characters")
        if file.stat().st_size > _LARGEST_SOURCE:
            raise _LeftOut(f"{shown(file.name)} is larger than {_LARGEST_SOURCE} bytes")
    return files


def _language(files: tuple[Path, ...], given: str) -> str:
    if given:
        if given not in _LANGUAGES:
            raise _LeftOut(f"submissions.yaml says it is in {shown(given)}, which this judge does not have")
        return _LANGUAGES[given]
    found = {language_of(file) for file in files if len(files) == 1 or file.suffix not in _HEADERS}
    if len(found) != 1:
        raise _LeftOut(f"its files are in {' and '.join(sorted(found)) or 'no language'}")
    return found.pop()


def _expected(
    content: bytes, label: str, rules: tuple[Rule, ...], replaces_folder: bool
) -> frozenset[Verdict]:
    """What the tag says, else the folder or what stands in its place; rules for all tests narrow it further."""
    expected = _tagged(content)
    if not expected:
        if label == "partially_accepted":
            raise _LeftOut("it is worth a part of the score, and this judge gives none")
        if label not in _FOLDERS and not rules:
            raise _LeftOut(
                f"the folder {shown(label)} does not say which verdict is expected, and no tag does"
            )
        replaced = replaces_folder or label not in _FOLDERS
        expected = frozenset(Verdict) - {Verdict.JE, Verdict.NO_CODE} if replaced else _FOLDERS[label]
    for rule in rules:
        if not rule.tests:
            expected &= rule.first_failures
    if not expected:
        raise _LeftOut("no verdict satisfies its label and submissions.yaml")
    return expected


def _tagged(content: bytes) -> frozenset[Verdict]:
    """The verdicts that @EXPECTED_RESULTS@ tags name, which stand in comments of any style; none without a tag."""
    parts = [
        part for tag in _TAG.findall(content) for part in re.split(r"[,;|]", tag.decode("utf-8", "replace"))
    ]
    names = [re.sub(r"[\s_-]+", "-", found[0].upper()) for part in parts if (found := _TAG_NAME.search(part))]
    if unknown := [name for name in names if name not in _TAG_NAMES]:
        raise _LeftOut(f"its tag expects {', '.join(unknown)}, which this judge does not give")
    return frozenset[Verdict]().union(*(_TAG_NAMES[name] for name in names))
