"""ICPC-Eval's result files (`eval_results_<model>.json`, docs/spec.md 10.4), rescored from their attempts.

The keys are those that the published program writes (RUCAIBox/ICPC-Eval, `eval_local.py`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.datasets.json_stream import read_object
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
    """One attempt of a file: its program, blank if the reply has none, and the verdict of the published judge.

    `number` counts from 1 through all starts; `generation` is the number of the start from scratch, from 1. `verdict`
    is None if the file holds none or an unknown one. `charged` marks an empty reply: the published program counts a
    failed call as an attempt.
    """

    problem: str
    number: int
    generation: int
    code: str
    verdict: Verdict | None
    charged: bool


@dataclass(frozen=True)
class EvalResults:
    """The attempts of a file, its chains, and its inconsistencies.

    `k` is the number of attempts in the longest start. `refinements` count charged attempts as the published program
    does, `uncharged` leaves them out. `unfinished` names problems without a final status; they are left out, as in the
    summary of the file.
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
        """Return the number of attempts with an empty reply."""
        return sum(attempt.charged for attempt in self.attempts)


def read_eval_results(path: Path) -> EvalResults:
    """Read the results of a file. Raises SourceError for a file of another format."""
    content = dict(read_object(path))
    entries = content.get("detailed_results")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        raise SourceError(f"{path} is not a result file of ICPC-Eval: it has no list detailed_results")
    found: list[Refinement] = []
    uncharged: list[Refinement] = []
    inconsistencies: list[str] = []
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
        inconsistencies += _inconsistencies(name, entry, rows, found[-1])
    if not found:
        raise SourceError(f"{path} holds no problem with a finished evaluation")
    inconsistencies += _summary_inconsistencies(content.get("summary"), found)
    longest = max(Counter((one.problem, one.generation) for one in read).values(), default=1)
    return EvalResults(
        path.name,
        longest,
        tuple(read),
        tuple(found),
        tuple(uncharged),
        tuple(unfinished),
        tuple(inconsistencies),
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
    """Return the tokens of prompt and reply; None if unknown, for which the published program writes 0."""
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
    """Return the verdict on the hidden tests, or on the samples if they failed; None if the file holds neither."""
    submission = row.get("submission")
    details = submission.get("details") if isinstance(submission, dict) else None
    if isinstance(details, dict):
        return _VERDICTS.get(_text(details, "verdict"))
    samples = row.get("sample_tests")
    verdict = _VERDICTS.get(_text(samples, "status")) if isinstance(samples, dict) else None
    return None if verdict is Verdict.AC else verdict  # only the hidden tests accept a program


def _text(entry: Mapping[str, Any], name: str) -> str:
    return str(entry.get(name) or "").strip().lower()


def _inconsistencies(
    name: str, entry: Mapping[str, Any], attempts: list[dict[str, Any]], result: Refinement
) -> list[str]:
    inconsistencies = []
    status = _text(entry, "final_status")
    if status and (status == "accepted") != (result.accepted is not None):
        verdict = "accepted" if result.accepted else "not accepted"
        inconsistencies.append(f"problem {name}: final_status is {status!r}, its attempts are {verdict}")
    if result.accepted is not None and result.accepted < result.attempts:
        inconsistencies.append(
            f"problem {name}: attempts follow the accepted one ({result.accepted} of {result.attempts})"
        )
    numbers = [
        (one.get("generation", 1), one["attempt_number"])
        for one in attempts
        if isinstance(one.get("attempt_number"), int) and isinstance(one.get("generation", 1), int)
    ]
    if numbers != sorted(numbers):
        inconsistencies.append(f"problem {name}: its attempts are not in order")
    return inconsistencies


def _summary_inconsistencies(summary: object, found: list[Refinement]) -> list[str]:
    if not isinstance(summary, dict):
        return []
    solved = sum(one.accepted is not None for one in found)
    inconsistencies = []
    for key, obtained in (("evaluated_problems", len(found)), ("passed_problems", solved)):
        if isinstance(summary.get(key), int) and summary[key] != obtained:
            inconsistencies.append(f"summary: {key} is {summary[key]}, the attempts give {obtained}")
    return inconsistencies
