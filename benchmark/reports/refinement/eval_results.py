"""ICPC-Eval's result files (`eval_results_<model>.json`, docs/spec.md 10.4): scored again from their attempts.

The names are those that the published program writes (RUCAIBox/ICPC-Eval, `eval_local.py`).
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.datasets.records import SourceError
from benchmark.reports.refinement.curves import Refinement
from judge import Verdict

_VERDICTS = {
    "accepted": Verdict.AC,
    "wrong answer": Verdict.WA,
    "time limit exceeded": Verdict.TLE,
    "memory limit exceeded": Verdict.MLE,
    "runtime error": Verdict.RTE,
    "compilation error": Verdict.CE,
    "system error": Verdict.JE,
}


@dataclass(frozen=True)
class ResultAttempt:
    """One attempt of a file: its program, blank where the reply had none, and what the published judge said of it.

    `number` counts from 1, through all starts; `generation` is the start from scratch, from 1. `verdict` is None
    where the file does not say or says something unknown. `charged` marks an empty reply: the published program takes
    a failed call for an attempt.
    """

    problem: str
    number: int
    generation: int
    code: str
    verdict: Verdict | None
    charged: bool


@dataclass(frozen=True)
class EvalResults:
    """What a file holds, and what in it does not fit together.

    `k` is the number of attempts in the longest start. `refinements` count charged attempts as the published program
    does, `uncharged` leaves them out. `unfinished` names problems that the program was still working on; they count
    nowhere, as in its own summary.
    """

    name: str
    k: int
    attempts: tuple[ResultAttempt, ...]
    refinements: tuple[Refinement, ...]
    uncharged: tuple[Refinement, ...]
    unfinished: tuple[str, ...]
    inconsistencies: tuple[str, ...]

    @property
    def charged(self) -> int:
        """How many attempts have an empty reply."""
        return sum(attempt.charged for attempt in self.attempts)


def read_eval_results(path: Path) -> EvalResults:
    """The results in a file. Raises SourceError for a file that is none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path} cannot be read ({error}). It may be cut off: fetch it again.") from error
    entries = content.get("detailed_results") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        raise SourceError(f"{path} is no result file of ICPC-Eval: it has no list detailed_results")
    found: list[Refinement] = []
    uncharged: list[Refinement] = []
    said: list[str] = []
    read: list[ResultAttempt] = []
    unfinished = [str(entry.get("id")) for entry in entries if _text(entry, "eval_status") == "running"]
    for entry in entries:
        name = str(entry.get("id"))
        if name in unfinished:
            continue
        rows = [one for one in entry.get("attempts") or () if isinstance(one, dict)]
        attempts = [_attempt(name, number, row) for number, row in enumerate(rows, 1)]
        tokens = [_tokens(row) for row in rows]
        read += attempts
        found.append(_refinement(name, attempts, tokens))
        paid = [(one, count) for one, count in zip(attempts, tokens, strict=True) if not one.charged]
        uncharged.append(_refinement(name, [one for one, _ in paid], [count for _, count in paid]))
        said += _inconsistencies(name, entry, rows, found[-1])
    if not found:
        raise SourceError(f"{path} holds no problem that is evaluated to its end")
    said += _summary_inconsistencies(content.get("summary"), found)
    longest = max(Counter((one.problem, one.generation) for one in read).values(), default=1)
    return EvalResults(
        path.name, longest, tuple(read), tuple(found), tuple(uncharged), tuple(unfinished), tuple(said)
    )


def _attempt(name: str, number: int, row: Mapping[str, Any]) -> ResultAttempt:
    code, generation = row.get("code"), row.get("generation")
    return ResultAttempt(
        name,
        number,
        generation if isinstance(generation, int) else 1,
        code if isinstance(code, str) else "",
        _verdict(row),
        not str(row.get("output") or "").strip(),
    )


def _tokens(row: Mapping[str, Any]) -> int | None:
    """Of prompt and reply together. The published program writes 0 for a reply that it streamed: unknown."""
    count = row.get("token_count")
    return count if isinstance(count, int) and (count or not row.get("output")) else None


def _refinement(name: str, attempts: list[ResultAttempt], tokens: list[int | None]) -> Refinement:
    accepted = next((place for place, one in enumerate(attempts, 1) if one.verdict is Verdict.AC), None)
    known = [count for count in tokens if count is not None]
    first = sum(one.generation == attempts[0].generation for one in attempts)
    return Refinement(
        name,
        len(attempts),
        accepted,
        sum(known) if len(known) == len(tokens) else None,
        first if first < len(attempts) else None,
    )


def _verdict(row: Mapping[str, Any]) -> Verdict | None:
    """On the hidden tests, or on the samples where the attempt ended there. None: not told."""
    submission = row.get("submission")
    details = submission.get("details") if isinstance(submission, dict) else None
    if isinstance(details, dict):
        return _VERDICTS.get(_text(details, "verdict"))
    samples = row.get("sample_tests")
    verdict = _VERDICTS.get(_text(samples, "status")) if isinstance(samples, dict) else None
    return None if verdict is Verdict.AC else verdict  # accepted are only the hidden tests


def _text(entry: Mapping[str, Any], name: str) -> str:
    return str(entry.get(name) or "").strip().lower()


def _inconsistencies(
    name: str, entry: Mapping[str, Any], attempts: list[dict[str, Any]], result: Refinement
) -> list[str]:
    said = []
    status = _text(entry, "final_status")
    if status and (status == "accepted") != (result.accepted is not None):
        verdict = "accepted" if result.accepted else "not accepted"
        said.append(f"problem {name}: final_status is {status!r}, its attempts are {verdict}")
    if result.accepted is not None and result.accepted < result.attempts:
        said.append(
            f"problem {name}: attempts follow the accepted one ({result.accepted} of {result.attempts})"
        )
    numbers = [
        (one.get("generation", 1), one["attempt_number"])
        for one in attempts
        if isinstance(one.get("attempt_number"), int) and isinstance(one.get("generation", 1), int)
    ]
    if numbers != sorted(numbers):
        said.append(f"problem {name}: its attempts are not in order")
    return said


def _summary_inconsistencies(summary: object, found: list[Refinement]) -> list[str]:
    if not isinstance(summary, dict):
        return []
    solved = sum(one.accepted is not None for one in found)
    said = []
    for key, obtained in (("evaluated_problems", len(found)), ("passed_problems", solved)):
        if isinstance(summary.get(key), int) and summary[key] != obtained:
            said.append(f"summary: {key} is {summary[key]}, the attempts give {obtained}")
    return said
