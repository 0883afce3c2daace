"""The labelled submissions of a problem package: which verdicts each of them may get."""

import re
from dataclasses import dataclass
from pathlib import Path

from judge.languages import UnknownLanguage, language_of
from judge.verdicts import Verdict

# Packages know fewer verdicts than this judge: there, a program that runs out of memory or prints without end
# counts as a run-time error.
_CRASH = frozenset({Verdict.RTE, Verdict.MLE, Verdict.OLE})
_REJECTED = _CRASH | {Verdict.WA, Verdict.TLE, Verdict.CE}

_FOLDERS: dict[str, frozenset[Verdict]] = {
    "accepted": frozenset({Verdict.AC}),
    "slow_accepted": frozenset({Verdict.AC, Verdict.TLE}),
    "wrong_answer": frozenset({Verdict.WA}),
    "time_limit_exceeded": frozenset({Verdict.TLE}),
    "run_time_error": _CRASH,
    "compiler_error": frozenset({Verdict.CE}),
    "rejected": _REJECTED,
    "brute_force": _CRASH | {Verdict.AC, Verdict.TLE},
}

_TAG = re.compile(rb"@EXPECTED_RESULTS@:([^\n]*)")
_TAG_NAMES: dict[str, frozenset[Verdict]] = {
    "CORRECT": frozenset({Verdict.AC}),
    "ACCEPTED": frozenset({Verdict.AC}),
    "WRONG-ANSWER": frozenset({Verdict.WA}),
    "NO-OUTPUT": frozenset({Verdict.WA}),
    "TIMELIMIT": frozenset({Verdict.TLE}),
    "TIME-LIMIT-EXCEEDED": frozenset({Verdict.TLE}),
    "RUN-ERROR": _CRASH,
    "RUNTIME-ERROR": _CRASH,
    "RUN-TIME-ERROR": _CRASH,
    "MEMORY-LIMIT": frozenset({Verdict.MLE}),
    "OUTPUT-LIMIT": frozenset({Verdict.OLE}),
    "COMPILER-ERROR": frozenset({Verdict.CE}),
    "COMPILE-ERROR": frozenset({Verdict.CE}),
    "COMPILATION-ERROR": frozenset({Verdict.CE}),
    "REJECTED": _REJECTED,
}


@dataclass(frozen=True)
class Submission:
    """A labelled program. `label` is its folder's name, `expected` the verdicts that agree with its label.

    `left_out` says why it cannot be judged (another language, no usable label); it is empty where it can.
    """

    path: Path
    language: str | None
    expected: frozenset[Verdict]
    label: str
    left_out: str


def read_submissions(package: Path) -> tuple[Submission, ...]:
    """Everything in the folders below `submissions`, by path. An @EXPECTED_RESULTS@ tag outweighs the folder."""
    folders = sorted(folder for folder in (package / "submissions").glob("*") if folder.is_dir())
    paths = [path for folder in folders for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    return tuple(map(_submission, paths))


def _submission(path: Path) -> Submission:
    label = path.parent.name
    language = None
    expected: frozenset[Verdict] = frozenset()
    try:
        if path.is_dir():
            raise _LeftOut("it consists of several files")
        language = language_of(path)
        expected = _expected(path.read_bytes(), label)
    except (_LeftOut, UnknownLanguage) as reason:
        return Submission(path, language, expected, label, str(reason))
    return Submission(path, language, expected, label, "")


class _LeftOut(Exception):
    pass


def _expected(content: bytes, label: str) -> frozenset[Verdict]:
    names: list[str] = []
    for tag in _TAG.findall(content):
        text = re.sub(rb"\*/|-->", b"", tag).decode("utf-8", "replace")
        names += [re.sub(r"[\s_]+", "-", name.strip().upper()) for name in text.split(",") if name.strip()]
    if names:
        if unknown := [name for name in names if name not in _TAG_NAMES]:
            raise _LeftOut(f"its tag expects {', '.join(unknown)}, which this judge does not give")
        return frozenset[Verdict]().union(*(_TAG_NAMES[name] for name in names))
    if label not in _FOLDERS:
        raise _LeftOut(f"the folder {label} does not say which verdict is expected, and no tag does")
    return _FOLDERS[label]
