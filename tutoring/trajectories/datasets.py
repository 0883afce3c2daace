"""Trajectories as a folder of the `datasets` library: three tables as JSON lines, and a data card.

The card's front matter names the tables and the type of every column, so `datasets.load_dataset(folder, "sessions")`
guesses nothing. What has no fixed shape (a program's judgement, a protocol's rules) is a text of JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from tutoring.checks.findings import GENERATION_LIMIT
from tutoring.models import DEBRIEF, Event, Session

Record = dict[str, Any]

_MESSAGE = {
    "seq": "int32", "role": "string", "text": "string", "sent": "string", "mode": "string", "at": "string",
    "generation": "int32", "code": "string", "stopped": "bool", "debrief": "bool", "model": "string",
    "input_tokens": "int64", "output_tokens": "int64", "event": "string",
}  # fmt: skip

_SESSION = {
    "id": "string", "dataset": "string", "problem": "string", "title": "string", "tier": "string",
    "protocol": "string", "protocol_hash": "string", "tutor": "string", "model": "string", "language": "string",
    "number": "int32", "opened_at": "string", "closed_at": "string", "state": "string", "outcome": "string",
    "outcome_claimed": "bool", "outcome_claimed_by": "string", "invalidated": "bool", "code_generations": "int32",
    "executions": "int32",
    "verdict": "string", "tests_passed": "int32", "tests": "int32", "judgement": "string", "rules": "string",
}  # fmt: skip

_LABEL = {
    "session": "string", "review": "string", "rule_set": "int32", "rule_set_hash": "string", "place": "int32",
    "reviewer": "string", "findings_first": "bool", "message": "int32", "text": "string", "clauses": ["string"],
    "level": "int32", "stage": "string", "quotes": ["string"], "note": "string", "worst": "bool",
    "verdict": "string", "comment": "string", "submitted_at": "string", "active_seconds": "int32",
}  # fmt: skip


_FINDING = {
    "session": "string", "rule_set": "int32", "rule_set_hash": "string", "message": "int32", "clause": "string",
    "start": "int32", "end": "int32", "quote": "string", "explanation": "string", "weight": "float64",
    "counts": "string", "detector": "string", "version": "int32", "model": "string", "prompt_hash": "string",
    "checked_at": "string",
}  # fmt: skip


def _features(columns: dict[str, Any]) -> list[Record]:
    return [
        {"name": name, "list": kind[0]} if isinstance(kind, list) else {"name": name, "dtype": kind}
        for name, kind in columns.items()
    ]


_TABLES: dict[str, list[Record]] = {
    "sessions": [*_features(_SESSION), {"name": "messages", "list": _features(_MESSAGE)}],
    "labels": _features(_LABEL),
    "findings": _features(_FINDING),
}


def write_folder(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write the tables that have rows, and the card, into an empty folder; returns the files."""
    (folder / "data").mkdir(parents=True)
    counts: Counter[str] = Counter()
    tables = {name: folder / "data" / f"{name}.jsonl" for name in _TABLES}
    with (
        tables["sessions"].open("w", encoding="utf-8") as sessions,
        tables["labels"].open("w", encoding="utf-8") as labels,
        tables["findings"].open("w", encoding="utf-8") as findings,
    ):
        for record in records:
            session = _session(record)
            sessions.write(_line(session))
            counts["sessions"] += 1
            solved = session["outcome"] == Session.Outcome.SOLVED
            counts["claimed" if session["outcome_claimed"] else "solved"] += solved
            counts["invalidated"] += session["invalidated"]
            counts["messages"] += sum(message["role"] == "tutor" for message in session["messages"])
            counts["replies"] += sum(message["role"] == "model" for message in session["messages"])
            counts["generations"] += session["code_generations"]
            for label in _labels(record):
                labels.write(_line(label))
                counts["labels"] += 1
            for finding in _findings(record):
                findings.write(_line(finding))
                counts["findings"] += 1
            counts["reviews"] += len(record["reviews"])
    for name in [name for name in tables if not counts[name]]:
        tables.pop(name).unlink()  # the library does not load a table without rows
    card = folder / "README.md"
    card.write_text(_card(tables, counts), encoding="utf-8")
    return [card, *tables.values()]


def _line(row: Record) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _session(record: Record) -> Record:
    problem, protocol, judgement = (record.get(key) or {} for key in ("problem", "protocol", "judgement"))
    verdicts = [event["data"] for event in record["events"] if event["kind"] == Event.Kind.VERDICT]
    verdict = verdicts[-1] if verdicts else {}
    return {
        "id": record["id"],
        "dataset": problem.get("dataset"),
        "problem": problem.get("id"),
        "title": problem.get("title"),
        "tier": problem.get("tier"),
        "protocol": f"{protocol['name']} v{protocol['version']}" if protocol else None,
        "protocol_hash": protocol.get("content_hash"),
        **{
            key: record.get(key) for key in ("tutor", "model", "language", "number", "opened_at", "closed_at")
        },
        "state": record["state"],
        "outcome": record["outcome"],
        "outcome_claimed": record["outcome_claimed"],
        "outcome_claimed_by": (record.get("source") or {}).get("outcome_claimed_by"),
        "invalidated": bool(record.get("invalidated")),
        "code_generations": record.get("code_generations") or 0,
        "executions": record.get("executions") or 0,
        "verdict": verdict.get("verdict"),
        "tests_passed": verdict.get("passed"),
        "tests": verdict.get("total"),
        "judgement": json.dumps(judgement, sort_keys=True) if judgement else None,
        "rules": json.dumps(protocol["rules"], sort_keys=True) if protocol else None,
        "messages": [message for event in record["events"] for message in _messages(event)],
    }


def _messages(event: Record) -> Iterator[Record]:
    """The event as a row of the conversation. `event` holds all of it, for what the columns leave out."""
    data = event["data"]
    row: Record = dict.fromkeys(_MESSAGE)
    row |= {
        "debrief": data.get("phase") == DEBRIEF,
        "seq": event["seq"],
        "at": event["at"],
        "event": json.dumps(event, sort_keys=True),
    }
    match event["kind"]:
        case Event.Kind.OPENED:
            yield row | {"role": "prompt", "text": data["prompt"], "sent": data["prompt"]}
        case Event.Kind.MESSAGE:
            yield row | {"role": "tutor", **{key: data[key] for key in ("text", "sent", "mode")}}
        case Event.Kind.REPLY:
            usage = data["usage"] or {}
            yield row | {
                "role": "model",
                **{key: data[key] for key in ("text", "generation", "code", "stopped", "model")},
                **{key: usage.get(key) for key in ("input_tokens", "output_tokens")},
            }
        case kind:
            yield row | {"role": str(kind)}


def _labels(record: Record) -> Iterator[Record]:
    texts = {event["seq"]: event["data"].get("text") for event in record["events"]}
    for review in record["reviews"]:
        content = review["content"]
        for labels in content["messages"]:
            yield {
                "session": record["id"],
                "review": review["id"],
                "rule_set": review["rule_set"]["version"],
                "rule_set_hash": review["rule_set"]["content_hash"],
                "place": review["place"],
                "reviewer": review["by"],
                "findings_first": review["findings_first"],
                "message": labels["seq"],
                "text": texts.get(labels["seq"]),
                "clauses": labels["clauses"],
                "level": labels["level"],
                "stage": labels["stage"],
                "quotes": [f"{quote['clause']}: {quote['exact']}" for quote in labels["quotes"]],
                "note": labels["note"],
                "worst": content["worst"] == labels["seq"],
                "verdict": content["verdict"],
                "comment": content["comment"],
                "submitted_at": review["submitted_at"],
                "active_seconds": review["active_seconds"],
            }


def _findings(record: Record) -> Iterator[Record]:
    for check in record["rule_checks"]:
        about = {
            "rule_set": check["rule_set"]["version"],
            "rule_set_hash": check["rule_set"]["content_hash"],
            **{key: check[key] for key in ("model", "prompt_hash", "checked_at")},
        }
        for finding in check["findings"]:
            if finding["clause"] == GENERATION_LIMIT and not record.get("protocol"):
                continue  # an older version assumed a budget
            counts = json.dumps(finding["counts"], sort_keys=True) if finding["counts"] else None
            row = {**about, **finding, "session": record["id"], "message": finding["event"], "counts": counts}
            yield {column: row[column] for column in _FINDING}


def _card(tables: dict[str, Path], counts: Counter[str]) -> str:
    front = {
        "pretty_name": "Tutoring sessions of language models",
        "language": ["en"],
        "license": "other",
        "license_name": "to-be-chosen",
        "tags": ["tutoring", "human-in-the-loop", "competitive-programming"],
        "configs": [
            {"config_name": name, "data_files": [{"split": "train", "path": f"data/{path.name}"}]}
            for name, path in tables.items()
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": _TABLES[name],
                "splits": [{"name": "train", "num_examples": counts[name], "num_bytes": path.stat().st_size}],
            }
            for name, path in tables.items()
        ],
    }
    named = (
        "sessions",
        "solved",
        "claimed",
        "invalidated",
        "messages",
        "replies",
        "generations",
        "reviews",
        "labels",
        "findings",
    )
    figures = {name: counts[name] for name in named}
    return _CARD.format(front=yaml.safe_dump(front, sort_keys=False, allow_unicode=True), **figures)


_CARD = """---
{front}---

# Tutoring sessions of language models

People guide a language model through problems of programming contests, under a frozen protocol with a budget.
Written by Hintbench.

| | |
| --- | --- |
| sessions | {sessions}, of them {solved} solved, {claimed} claimed to be solved and {invalidated} invalidated |
| messages of tutors | {messages} |
| replies of models | {replies}, {generations} of them generations of code |
| submitted reviews | {reviews} |
| rows of labels | {labels} |
| automatic findings | {findings} |

## Tables

`sessions` has a row for each session with all of its events in their order. `role` is prompt, tutor or model, or
the kind of an event in which nothing was said; `event` is the whole event as JSON. Empty means unknown: nothing is
filled in. With `debrief`, the event came after the end and is no part of the protocol.

`labels` has a row for each message of each submitted review; `place` 1 and 2 are the independent reviews, 3 is the
adjudication. The clauses are those of the codebook of that version (`rule_set`).

`findings` has a row for each passage that a detector, or a model where one was asked, took for a breach. They are no
labels. `start` and `end` count characters of the message, `counts` says what was found and allowed of a budget; a
session that was checked again has the findings of every check (`checked_at`).

## What to know before use

* A session that is *invalidated* must not be counted; it is here so that nothing is hidden.
* Later sessions of one tutor on one problem (`number` 2 and more) are not independent of the first.
* With `outcome_claimed`, the outcome is a claim of the source and not a verdict; do not count it as solved.
  `outcome_claimed_by` says where the source claims it, if known.
* Tutors and reviewers appear under pseudonyms. What they typed is theirs word for word: look through it before you
  publish.

## Licence

Not chosen by the program. The texts of problems belong to their contests, replies fall under their providers'
terms, and messages belong to the tutors, who must have consented. Put the licence into the front matter when all
three are settled.
"""
