"""ICPC-Eval's result files (`eval_results_<model>.json`, METHODS.md 10.4): scored again from their attempts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.datasets.records import BrokenSource
from benchmark.refinement.curves import Refinement

_ACCEPTED = frozenset({"accepted", "ac", "ok"})


@dataclass(frozen=True)
class EvalResults:
    """What a file holds, and what in it does not fit together.

    `charged` counts attempts with an empty reply: the published program takes a failed call for an attempt.
    `refinements` count them as it does, `uncharged` leaves them out.
    """

    name: str
    k: int
    refinements: tuple[Refinement, ...]
    uncharged: tuple[Refinement, ...]
    charged: int
    inconsistencies: tuple[str, ...]


def read_eval_results(path: Path) -> EvalResults:
    """The results in a file. Raises BrokenSource for a file that is none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BrokenSource(f"{path} cannot be read ({error}). It may be cut off: fetch it again.") from error
    entries = content.get("detailed_results") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries) or not entries:
        raise BrokenSource(f"{path} is no result file of ICPC-Eval: it has no list detailed_results")
    found: list[Refinement] = []
    uncharged: list[Refinement] = []
    said: list[str] = []
    charged = longest = 0
    for entry in entries:
        name = str(entry.get("id"))
        attempts = [one for one in entry.get("attempts") or () if isinstance(one, dict)]
        longest = max(longest, len(attempts))
        paid = [one for one in attempts if str(one.get("output") or "").strip()]
        charged += len(attempts) - len(paid)
        found.append(_refinement(name, attempts))
        uncharged.append(_refinement(name, paid))
        said += _inconsistencies(name, entry, attempts, found[-1])
    said += _summary_inconsistencies(content.get("summary"), found)
    return EvalResults(path.name, longest, tuple(found), tuple(uncharged), charged, tuple(said))


def _refinement(name: str, attempts: list[dict[str, Any]]) -> Refinement:
    accepted = next((place for place, one in enumerate(attempts, 1) if _accepted(one)), None)
    counts = [one.get("token_count") for one in attempts]
    known = [count for count in counts if isinstance(count, int)]
    return Refinement(name, len(attempts), accepted, sum(known) if len(known) == len(counts) else None)


def _accepted(attempt: Mapping[str, Any]) -> bool:
    """Whether the hidden tests accepted it. The verdict's name decides; where there is none, `success`."""
    submission = attempt.get("submission")
    details = submission.get("details") if isinstance(submission, dict) else None
    if not isinstance(details, dict):
        return False
    verdict = details.get("verdict")
    return verdict.strip().lower() in _ACCEPTED if isinstance(verdict, str) else bool(details.get("success"))


def _inconsistencies(
    name: str, entry: Mapping[str, Any], attempts: list[dict[str, Any]], result: Refinement
) -> list[str]:
    said = []
    status = str(entry.get("final_status") or "").strip().lower()
    if status and (status in _ACCEPTED | {"passed", "pass"}) != (result.accepted is not None):
        verdict = "accepted" if result.accepted else "not accepted"
        said.append(f"problem {name}: final_status is {status!r}, its attempts are {verdict}")
    if result.accepted is not None and result.accepted < result.attempts:
        said.append(
            f"problem {name}: attempts follow the accepted one ({result.accepted} of {result.attempts})"
        )
    numbers = [one.get("attempt_number") for one in attempts]
    if all(isinstance(number, int) for number in numbers) and numbers != sorted(
        numbers, key=lambda n: n or 0
    ):
        said.append(f"problem {name}: its attempts are not in order")
    return said


def _summary_inconsistencies(summary: object, found: list[Refinement]) -> list[str]:
    if not isinstance(summary, dict):
        return []
    solved = sum(one.accepted is not None for one in found)
    said = []
    for key, obtained in (("total_problems", len(found)), ("passed_problems", solved)):
        if isinstance(summary.get(key), int) and summary[key] != obtained:
            said.append(f"summary: {key} is {summary[key]}, the attempts give {obtained}")
    return said
