"""Reader of the dialogues that the authors of the USACO paper published with their tutoring tool.

A file is a JSON list of `{"role": "user"|"assistant", "content": text}`. Its name states tier, cut-off, problem,
outcome and attempt (docs/spec.md 8.2). Everything else (model, tutor, times, verdicts) is unknown.
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
from tutoring.models import Session
from tutoring.models.choices import SessionOutcome
from tutoring.models.payloads import AnyPayload, MessageSent, ReplyFinished, SessionClosed
from tutoring.trajectories.json_lines import TrajectoryError, about_problem, outcome_claimed, read_json
from tutoring.trajectories.record_schema import SCHEMA, payload_of

_FILE_NAME = re.compile(
    r"(?P<tier>bronze|silver|gold|platinum)_(?P<cutoff>precutoff|postcutoff)_(?P<slug>.+?)"
    r"(?:_(?P<outcome>correct|success|fail)(?P<number>\d*))?$",
    re.IGNORECASE,
)

_NAME_ALIKE = 80
"""Similarity (0–100) of title and file name from which the statement is compared: names are often shortened."""

_NAME_EQUAL = 95
"""Similarity from which the name alone decides, if the dialogue quotes no statement."""

_QUOTED = 80
"""Share (0–100) of the beginning of a statement that the first message must quote."""

_END_OF_PROMPT = "[END PROBLEM]"
"""The last words of the authors' prompt, the same in every dialogue."""

LANGUAGE = "python"


def read_dialogue(path: Path, problems: list[Problem]) -> tuple[dict[str, Any], Problem | None]:
    """Return the file as a trajectory record, and the one of `problems` that it is about, if any.

    Raises TrajectoryError, which names the file, if it is not such a dialogue.
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
    """Return the number of replies with a program among the events of a record."""
    payloads = map(payload_of, events)
    return sum(isinstance(one, ReplyFinished) and one.generation is not None for one in payloads)


def match_problem(
    slug: str, tier: str, turns: list[dict[str, str]], problems: list[Problem]
) -> Problem | None:
    """Return the problem with a title like `slug` whose statement the dialogue quotes; the file's tier may be wrong.

    Without a quoted statement, title and tier must be equal. Return None if no problem fits.
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


def _outcome(word: str | None) -> SessionOutcome:
    if word is None:
        return Session.Outcome.UNKNOWN
    return Session.Outcome.NOT_SOLVED if word.lower() == "fail" else Session.Outcome.SOLVED


def _attempt(digits: str | None) -> int | None:
    """Return the attempt number at the end of a name, as in `FAIL2`; None if there is none."""
    number = int(digits) if digits else 0
    return number if 0 < number < 10_000 else None


def _events(turns: list[dict[str, str]], outcome: SessionOutcome) -> list[dict[str, Any]]:
    """Return the events of a record. Fields that the file does not state are null."""
    payloads: list[AnyPayload] = []
    generations = 0
    for turn in turns:
        text = turn["content"]
        if turn["role"] == "user":
            # The first message is the authors' prompt with the problem, not words of the tutor.
            own = "" if not payloads and text.rstrip().endswith(_END_OF_PROMPT) else text
            payloads.append(MessageSent(mode=None, text=own, sent=text))
        else:
            counts = counts_as_generation(text, LANGUAGE, Ended.COMPLETE)
            generations += counts
            payloads.append(_reply(text, generations if counts else None))
    payloads.append(SessionClosed(reason="imported", outcome=outcome))
    return [
        {
            "seq": seq,
            "kind": payload.KIND.value,
            "version": payload.VERSION,
            "by": "",
            "at": None,
            "data": payload.to_json(),
        }
        for seq, payload in enumerate(payloads, start=1)
    ]


def _reply(text: str, generation: int | None) -> ReplyFinished:
    extraction = extract_program(text, LANGUAGE)
    return ReplyFinished(
        reply=None,
        message=None,
        text=text,
        unseen_text="",
        reasoning="",
        stopped=False,
        code_requested=None,
        hidden=False,
        generation=generation,
        code=extraction.code if generation is not None else None,
        extraction_rule=extraction.rule,
        model=None,
        finish_reason=None,
        request_id=None,
        usage=None,
        attempts=None,
        started_at=None,
        first_text_at=None,
        received_at=None,
        shown_from=None,
        late_by=None,
    )
