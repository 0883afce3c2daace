"""Reading the dialogues that the authors of the USACO paper published with their tutoring gadget.

A file is a JSON list of `{"role": "user"|"assistant", "content": text}`; its name tells tier, cut-off, problem,
outcome and attempt (docs/spec.md 8.2). Everything else (model, tutor, times, verdicts) is unknown and stays unknown.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from benchmark.extraction import Ended, counts_as_generation, extract_program
from benchmark.models import Problem
from tutoring.models import Event, Session
from tutoring.trajectories.json_lines import (
    SCHEMA,
    TrajectoryError,
    about_problem,
    outcome_claimed,
    read_json,
)

_FILE_NAME = re.compile(
    r"(?P<tier>bronze|silver|gold|platinum)_(?P<cutoff>precutoff|postcutoff)_(?P<slug>.+?)"
    r"(?:_(?P<outcome>correct|success|fail)(?P<number>\d*))?$",
    re.IGNORECASE,
)

_NAME_ALIKE = 80
"""Likeness (0–100) of title and file name above which the statement is compared: names are often shortened."""

_NAME_EQUAL = 95
"""Likeness above which the name alone decides, when the dialogue does not quote any statement."""

_QUOTED = 80
"""Share (0–100) of a statement's beginning that the dialogue's opening must quote."""

_END_OF_PROMPT = "[END PROBLEM]"
"""With which the authors' prompt ends, word for word the same in every dialogue."""

LANGUAGE = "python"


def read_dialogue(path: Path, problems: list[Problem]) -> tuple[dict[str, Any], Problem | None]:
    """The file as a trajectory record, and the problem it is about when one of `problems` fits.

    Raises TrajectoryError naming the file when it is not such a dialogue.
    """
    content = path.read_bytes()
    turns = read_json(content.decode("utf-8", "replace"), path.name)
    if not isinstance(turns, list) or not turns:
        raise TrajectoryError(f"{path.name}: a list of messages was expected.")
    for number, turn in enumerate(turns, start=1):
        known = isinstance(turn, dict) and turn.get("role") in ("user", "assistant")
        if not known or not isinstance(turn.get("content"), str):
            raise TrajectoryError(
                f"{path.name}: message {number} is not {{role: user or assistant, content: text}}."
            )
    name = _FILE_NAME.fullmatch(path.stem)
    problem = match_problem(
        name["slug"] if name else path.stem, name["tier"] if name else "", turns, problems
    )
    outcome = _outcome(name["outcome"] if name else None)
    events = _events(turns, outcome)
    digest = hashlib.sha256(content).hexdigest()
    record = {
        "schema": SCHEMA,
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, digest)),
        "problem": problem and about_problem(problem),
        "protocol": None,
        "tutor": None,
        "model": None,
        "language": LANGUAGE,
        "number": _attempt(name["number"] if name else None),
        "opened_at": None,
        "closed_at": None,
        "state": Session.State.CLOSED.value,
        "outcome": outcome.value,
        "invalidated": False,
        "code_generations": count_generations(events),
        "executions": 0,
        "judgement": None,
        "source": {
            "file": path.name,
            "sha256": digest,
            "outcome_claimed_by": "the file's name" if name and name["outcome"] else None,
            "unknown": ["model", "tutor", "times", "tokens", "execution", "protocol"],
        },
        "events": events,
        "reviews": [],
        "rule_checks": [],
        "near_misses": [],
    }
    return record | {"outcome_claimed": outcome_claimed(record)}, problem


def count_generations(events: list[dict[str, Any]]) -> int:
    """Replies among `events` that contain a program."""
    return sum(
        event["kind"] == Event.Kind.REPLY and event["data"]["generation"] is not None for event in events
    )


def match_problem(
    slug: str, tier: str, turns: list[dict[str, str]], problems: list[Problem]
) -> Problem | None:
    """The problem with a name like `slug` whose statement the dialogue quotes; the file's tier may be wrong.

    Without a quoted statement only an equal name of the same tier decides. None when no problem fits.
    """
    wanted = slug.replace("_", " ").lower()
    opening = " ".join(turns[0]["content"].split())

    def fitness(problem: Problem) -> tuple[float, bool, float]:
        beginning = " ".join(problem.statement.split())[:1500]
        quoted = fuzz.partial_ratio(beginning, opening) if beginning and len(opening) > 200 else 0.0
        return quoted, problem.tier == tier.lower(), fuzz.ratio(wanted, problem.title.lower())

    alike = [
        problem for problem in problems if fuzz.partial_ratio(wanted, problem.title.lower()) >= _NAME_ALIKE
    ]
    ranked = sorted(((fitness(problem), problem.pk, problem) for problem in alike), reverse=True)
    if not ranked:
        return None
    (quoted, same_tier, likeness), _, best = ranked[0]
    return best if quoted >= _QUOTED or (same_tier and likeness >= _NAME_EQUAL) else None


def _outcome(word: str | None) -> Session.Outcome:
    if word is None:
        return Session.Outcome.UNKNOWN
    return Session.Outcome.NOT_SOLVED if word.lower() == "fail" else Session.Outcome.SOLVED


def _attempt(digits: str | None) -> int | None:
    """Return the attempt number that a name ends with, as in `FAIL2`; None without one, because it is unknown."""
    number = int(digits) if digits else 0
    return number if 0 < number < 10_000 else None


def _events(turns: list[dict[str, str]], outcome: Session.Outcome) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    generation = 0

    def add(kind: Event.Kind, data: dict[str, Any]) -> None:
        events.append({"seq": len(events) + 1, "kind": kind.value, "by": "", "at": None, "data": data})

    for turn in turns:
        text = turn["content"]
        if turn["role"] == "user":
            # The prompt with the problem is sent as such here too: the tutor says nothing with it.
            own = "" if not events and text.rstrip().endswith(_END_OF_PROMPT) else text
            add(Event.Kind.MESSAGE, {"mode": None, "text": own, "sent": text})
            continue
        counts = counts_as_generation(text, LANGUAGE, Ended.COMPLETE)
        generation += counts
        extraction = extract_program(text, LANGUAGE)
        data = {
            "reply": None,
            "message": None,
            "text": text,
            "reasoning": "",
            "stopped": False,
            "code_requested": None,
            "generation": generation if counts else None,
            "code": extraction.code if counts else None,
            "extraction_rule": extraction.rule,
            "model": None,
            "finish_reason": None,
            "request_id": None,
            "usage": None,
            "attempts": None,
            "started_at": None,
            "first_text_at": None,
        }
        add(Event.Kind.REPLY, data)
    add(Event.Kind.CLOSED, {"reason": "imported", "outcome": outcome.value})
    return events
