"""The labelled submissions of a problem package, and the verdicts that each label allows."""

import re
from dataclasses import dataclass
from pathlib import Path

from judge.packages.files import shown
from judge.packages.submission_rules import Rule, SubmissionsFile
from judge.records import Verdict
from judge.toolchains import LANGUAGES, UnknownLanguageError, is_header, language_of

# Packages have fewer verdicts than this judge: exceeded limits of memory or output count as run-time errors.
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


@dataclass(frozen=True)
class LabelledSubmission:
    """A labelled program of a package. `label` is its folder's name, `expected` the verdicts that the label allows.

    `files` are its files. `rules` are further conditions on the results of all tests. A missing time limit is derived
    from the slowest submission with `sets_time_limit`. `skipped` is the reason why the submission cannot be judged
    (another language, no usable label), else empty.
    """

    path: Path
    language: str | None
    expected: frozenset[Verdict]
    label: str
    skipped: str
    files: tuple[Path, ...] = ()
    rules: tuple[Rule, ...] = ()
    sets_time_limit: bool = False

    @property
    def name(self) -> str:
        """Folder and name on one line."""
        return shown(f"{self.label}/{self.path.name}")

    def sources(self) -> dict[str, str]:
        """Return the text of each file by name. Raises OSError."""
        return {file.name: file.read_text(encoding="utf-8", errors="replace") for file in self.files}


def read_submissions(package: Path) -> tuple[LabelledSubmission, ...]:
    """Return the submissions below `submissions`, by path. An @EXPECTED_RESULTS@ tag overrides the folder.

    Raises PackageError for a `submissions.yaml` that cannot be read, and OSError.
    """
    settings = SubmissionsFile(package / "submissions")
    folders = sorted(folder for folder in (package / "submissions").glob("*") if folder.is_dir())
    return tuple(
        _submission(path, settings)
        for folder in folders
        for path in sorted(folder.iterdir())
        if not path.name.startswith((".", "__pycache__"))
    )


def _submission(path: Path, file: SubmissionsFile) -> LabelledSubmission:
    label = path.parent.name
    settings = file.settings_of(label, path.name)
    language = None
    files: tuple[Path, ...] = ()
    expected: frozenset[Verdict] = frozenset()
    skipped = ""
    try:
        files = _files(path)
        language = _language(files, settings.language)
        expected = _expected(
            b"\n".join(file.read_bytes() for file in files), label, settings.rules, settings.replaces_folder
        )
    except (_SkippedError, UnknownLanguageError) as reason:
        skipped = str(reason)
    sets_time_limit = settings.sets_time_limit
    return LabelledSubmission(
        path=path,
        language=language,
        expected=expected,
        label=label,
        skipped=skipped,
        files=files,
        rules=settings.rules,
        sets_time_limit=expected == {Verdict.AC} if sets_time_limit is None else sets_time_limit,
    )


class _SkippedError(Exception):
    """A submission that cannot be judged; the message is the reason."""


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_dir():
        files = tuple(
            file for file in sorted(path.iterdir()) if not file.name.startswith((".", "__pycache__"))
        )
        if not files:
            raise _SkippedError("its folder is empty")
    else:
        files = (path,)
    for file in files:
        if not file.is_file():
            raise _SkippedError(f"{shown(file.name)} is not a regular file")
        if not file.name.isprintable():
            raise _SkippedError(f"the name {shown(file.name)} contains more than printable characters")
        if file.stat().st_size > _LARGEST_SOURCE:
            raise _SkippedError(f"{shown(file.name)} is larger than {_LARGEST_SOURCE} bytes")
    return files


def _language(files: tuple[Path, ...], given: str) -> str:
    if given:
        name = next((name for name, language in LANGUAGES.items() if language.package_code == given), None)
        if name is None:
            raise _SkippedError(
                f"submissions.yaml says it is in {shown(given)}, which this judge does not have"
            )
        return name
    found = {language_of(file) for file in files if len(files) == 1 or not is_header(file)}
    if len(found) != 1:
        raise _SkippedError(f"its files are in {' and '.join(sorted(found)) or 'no language'}")
    return found.pop()


def _expected(
    content: bytes, label: str, rules: tuple[Rule, ...], replaces_folder: bool
) -> frozenset[Verdict]:
    """Return the verdicts of the tag, else of the folder or its replacement, restricted by rules for all tests."""
    expected = _tagged(content)
    if not expected:
        if label == "partially_accepted":
            raise _SkippedError("it is worth a part of the score, and this judge gives no scores")
        if label not in _FOLDERS and not rules:
            raise _SkippedError(f"neither the folder {shown(label)} nor a tag says which verdict is expected")
        replaced = replaces_folder or label not in _FOLDERS
        expected = frozenset(Verdict) - {Verdict.JE, Verdict.NO_CODE} if replaced else _FOLDERS[label]
    for rule in rules:
        if not rule.tests:
            expected &= rule.first_failures
    if not expected:
        raise _SkippedError("no verdict satisfies its label and submissions.yaml")
    return expected


def _tagged(content: bytes) -> frozenset[Verdict]:
    """Return the verdicts that @EXPECTED_RESULTS@ tags in comments of any style name; none without a tag."""
    parts = [
        part for tag in _TAG.findall(content) for part in re.split(r"[,;|]", tag.decode("utf-8", "replace"))
    ]
    names = [re.sub(r"[\s_-]+", "-", found[0].upper()) for part in parts if (found := _TAG_NAME.search(part))]
    if unknown := [name for name in names if name not in _TAG_NAMES]:
        raise _SkippedError(f"its tag expects {', '.join(unknown)}, which this judge does not give")
    return frozenset[Verdict]().union(*(_TAG_NAMES[name] for name in names))
