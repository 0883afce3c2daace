"""Trajectories as a folder of the `datasets` library: tables as JSON lines, and a data card.

The card's front matter declares the tables and the type of every column, so `datasets.load_dataset(folder, "sessions")`
infers nothing. Values without a fixed shape (a judgement, the rules of a protocol) are JSON texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from tutoring.checks.findings import GENERATION_LIMIT
from tutoring.models import DEBRIEF, Session
from tutoring.models.payloads import (
    MessageSent,
    ModelDraft,
    ReplyFinished,
    SessionOpened,
    TutorTurn,
    final_verdict,
)
from tutoring.trajectories.record_schema import payload_of

Record = dict[str, Any]

_MESSAGE = {
    "seq": "int32", "role": "string", "text": "string", "sent": "string", "mode": "string", "at": "string",
    "generation": "int32", "code": "string", "stopped": "bool", "debrief": "bool", "model": "string",
    "input_tokens": "int64", "output_tokens": "int64", "event": "string",
}  # fmt: skip

_SESSION = {
    "id": "string", "dataset": "string", "problem": "string", "title": "string", "tier": "string",
    "protocol": "string", "protocol_hash": "string", "tutor": "string", "model": "string",
    "model_label": "string", "model_version": "int32", "model_parameters": "string", "language": "string",
    "number": "int32", "opened_at": "string", "closed_at": "string", "state": "string", "outcome": "string",
    "outcome_claimed": "bool", "outcome_claimed_by": "string", "invalidated": "bool", "code_generations": "int32",
    "executions": "int32",
    "former_verdict": "string",
    "verdict": "string", "tests_passed": "int32", "tests": "int32", "judgement": "string", "rules": "string",
}  # fmt: skip

_LABEL = {
    "session": "string", "review": "string", "rule_set": "int32", "rule_set_hash": "string", "place": "int32",
    "reviewer": "string", "findings_first": "bool", "message": "int32", "text": "string", "clauses": ["string"],
    "level": "int32", "stage": "string", "quotes": ["string"], "note": "string", "reasons": ["string"],
    "worst": "bool", "verdict": "string", "comment": "string", "guess": "string", "submitted_at": "string",
    "active_seconds": "int32",
}  # fmt: skip


_FINDING = {
    "session": "string", "rule_set": "int32", "rule_set_hash": "string", "message": "int32", "clause": "string",
    "start": "int32", "end": "int32", "quote": "string", "explanation": "string", "weight": "float64",
    "counts": "string", "detector": "string", "version": "int32", "model": "string", "prompt_hash": "string",
    "checked_at": "string",
}  # fmt: skip


_PLACEMENT = {
    "session": "string", "message": "int32", "card": "int64", "position": "int32", "requested_code": "bool",
    "text": "string", "rule_set": "int32", "level": "int32", "stage": "string", "clauses": ["string"],
    "replay": "string", "model": "string", "parameters": "string", "mode": "string", "selection": "string",
    "fixed_at": "string", "state": "string", "program": "string", "fit": "string", "overlap": "float64",
    "agreement": "float64", "applicability": ["string"],
}  # fmt: skip


_DRAW = {
    "session": "string", "message": "int32", "card": "int64", "replay": "string", "model": "string",
    "state": "string", "arm": "string", "draw": "int32", "sham": "string", "prompt_hash": "string", "reply": "string",
    "reasoning": "string", "program": "string", "right": "bool", "uptake": "string", "model_returned": "string",
    "finish_reason": "string", "request_id": "string", "input_tokens": "int64", "output_tokens": "int64",
    "cached_input_tokens": "int64", "reasoning_tokens": "int64", "latency": "float64", "at": "string",
}  # fmt: skip


_DRAFT = {
    "session": "string", "event": "int32", "model": "string", "guard": "string", "draft": "int32", "text": "string",
    "diagnosis": "string", "level": "int32", "act": "string", "refused": ["string"], "fault": "string",
    "sent": "bool", "use": "string",
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
    "placements": _features(_PLACEMENT),
    "draws": _features(_DRAW),
    "drafts": _features(_DRAFT),
}


def write_folder(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write the tables that have rows, and the card, into an empty folder; return the files."""
    (folder / "data").mkdir(parents=True)
    counts: Counter[str] = Counter()
    tables = {name: folder / "data" / f"{name}.jsonl" for name in _TABLES}
    with ExitStack() as opened:
        files = {
            name: opened.enter_context(path.open("w", encoding="utf-8")) for name, path in tables.items()
        }
        for record in records:
            found = {name: list(rows_of(record)) for name, rows_of in _ROWS.items()}
            for name, rows in found.items():
                files[name].writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                counts[name] += len(rows)
            _count(found["sessions"][0], counts)
            counts["reviews"] += len(record["reviews"])
    for name in [name for name in tables if not counts[name]]:
        tables.pop(name).unlink()  # the library cannot load a table without rows
    card = folder / "README.md"
    card.write_text(_card(tables, counts), encoding="utf-8")
    return [card, *tables.values()]


def _count(session: Record, counts: Counter[str]) -> None:
    """Add a row of `sessions` to the figures of the card."""
    solved = session["outcome"] == Session.Outcome.SOLVED
    counts["claimed" if session["outcome_claimed"] else "solved"] += solved
    counts["invalidated"] += session["invalidated"]
    counts["messages"] += sum(message["role"] == "tutor" for message in session["messages"])
    counts["replies"] += sum(message["role"] == "model" for message in session["messages"])
    counts["generations"] += session["code_generations"]


def _sessions(record: Record) -> Iterator[Record]:
    """Yield the row of the session."""
    keys = ("problem", "protocol", "judgement", "language_model")
    problem, protocol, judgement, model = (record.get(key) or {} for key in keys)
    verdict, former = final_verdict([payload_of(event) for event in record["events"]])
    yield {
        "id": record["id"],
        "dataset": problem.get("dataset"),
        "problem": problem.get("id"),
        "title": problem.get("title"),
        "tier": problem.get("tier"),
        "protocol": f"{protocol['name']} v{protocol['version']}" if protocol else None,
        "protocol_hash": protocol.get("content_hash"),
        "tutor": record.get("tutor"),
        "model": record.get("model"),
        "model_label": model.get("label"),
        "model_version": model.get("version"),
        "model_parameters": json.dumps(model["parameters"], sort_keys=True) if model else None,
        **{key: record.get(key) for key in ("language", "number", "opened_at", "closed_at")},
        "state": record["state"],
        "outcome": record["outcome"],
        "outcome_claimed": record["outcome_claimed"],
        "outcome_claimed_by": (record.get("source") or {}).get("outcome_claimed_by"),
        "invalidated": bool(record.get("invalidated")),
        "code_generations": record.get("code_generations") or 0,
        "executions": record.get("executions") or 0,
        "former_verdict": former,
        "verdict": verdict and verdict.verdict,
        "tests_passed": verdict and verdict.passed,
        "tests": verdict and verdict.total,
        "judgement": json.dumps(judgement, sort_keys=True) if judgement else None,
        "rules": json.dumps(protocol["rules"], sort_keys=True) if protocol else None,
        "messages": [_message(event) for event in record["events"]],
    }


def _message(event: Record) -> Record:
    """Return the event as a row of the conversation; its column `event` holds the whole event as JSON."""
    payload = payload_of(event)
    row = dict.fromkeys(_MESSAGE) | {
        "role": str(event["kind"]),
        "debrief": payload.phase == DEBRIEF,
        "seq": event["seq"],
        "at": event["at"],
        "event": json.dumps(event, sort_keys=True),
    }
    match payload:
        case SessionOpened(prompt=prompt):
            return row | {"role": "prompt", "text": prompt, "sent": prompt}
        case MessageSent() as message:
            return row | {"role": "tutor", **message.model_dump(include={"text", "sent", "mode"})}
        case ReplyFinished(usage=usage) as reply:
            return row | {
                "role": "model",
                **reply.model_dump(include={"text", "generation", "code", "stopped", "model"}),
                "input_tokens": usage and usage.input_tokens,
                "output_tokens": usage and usage.output_tokens,
            }
    return row


def _labels(record: Record) -> Iterator[Record]:
    payloads = {event["seq"]: payload_of(event) for event in record["events"]}
    texts = {seq: one.text for seq, one in payloads.items() if isinstance(one, MessageSent)}
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
                "reasons": [f"{reason['clause']}: {reason['text']}" for reason in labels.get("reasons", ())],
                "worst": content["worst"] == labels["seq"],
                "verdict": content["verdict"],
                "comment": content["comment"],
                "guess": content.get("guess"),
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
                continue  # older versions assumed a budget for sessions without a protocol
            counts = json.dumps(finding["counts"], sort_keys=True) if finding["counts"] else None
            row = {**about, **finding, "session": record["id"], "message": finding["event"], "counts": counts}
            yield {column: row[column] for column in _FINDING}


def _placements(record: Record) -> Iterator[Record]:
    """Yield a row for each placement of the session's hint cards, and one for a card without a placement."""
    for card in record.get("replays", ()):
        about = {"session": record["id"], "message": card["event"]}
        for placement in card["placements"] or [{"labels": [], "parameters": None}]:
            row = {**dict.fromkeys(_PLACEMENT), **card, **placement, **about}
            row["parameters"] = placement["parameters"] and json.dumps(
                placement["parameters"], sort_keys=True
            )
            row["applicability"] = [label["value"] for label in placement["labels"]]
            yield {column: row[column] for column in _PLACEMENT}


def _draws(record: Record) -> Iterator[Record]:
    """Yield a row for each draw at each placement of the session's hint cards."""
    for card in record.get("replays", ()):
        for placement in card["placements"]:
            of_placement = {name: placement[name] for name in ("replay", "model", "state")}
            about = {"session": record["id"], "message": card["event"], "card": card["card"], **of_placement}
            for draw in placement["draws"]:
                sham = json.dumps(draw["sham"]) if draw["sham"] else None
                row = {**about, **draw, "sham": sham}
                yield {column: row[column] for column in _DRAW}


def _drafts(record: Record) -> Iterator[Record]:
    """Yield a row for each draft of a tutor's model, with the decision of the guard and what a person did with it."""
    payloads = [payload_of(event) for event in record["events"]]
    messages = [one for one in payloads if isinstance(one, MessageSent)]
    uses = {one.draft: one.use for message in messages for one in message.model_drafts}
    for event, payload in zip(record["events"], payloads, strict=True):
        turn, offered = getattr(payload, "turn", None), isinstance(payload, ModelDraft)
        if not isinstance(turn, TutorTurn):
            continue
        for number, draft in enumerate(turn.drafts, 1):
            passed = number == len(turn.drafts) and turn.guard in ("sent", "off")
            use = uses.get(event["seq"], "discarded") if offered and passed else None
            yield {
                "session": record["id"],
                "event": event["seq"],
                "model": turn.model,
                "guard": turn.guard,
                "draft": number,
                **draft.model_dump(include={"text", "diagnosis", "level", "act", "fault"}),
                "refused": [f"{one.clause}: {one.quotation or one.explanation}" for one in draft.refusals],
                "sent": passed and (not offered or use == "unchanged"),
                "use": use,
            }


_ROWS: dict[str, Callable[[Record], Iterator[Record]]] = {
    "sessions": _sessions,
    "labels": _labels,
    "findings": _findings,
    "placements": _placements,
    "draws": _draws,
    "drafts": _drafts,
}
"""The rows of a record in each table."""


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
        "placements",
        "draws",
        "drafts",
    )
    figures = {name: counts[name] for name in named}
    return _CARD.format(front=yaml.safe_dump(front, sort_keys=False, allow_unicode=True), **figures)


_CARD = """---
{front}---

# Tutoring sessions of language models

People, or programs in their place, guide a language model through problems of programming contests, under a frozen
protocol with a budget.
Written by Hintbench.

| | |
| --- | --- |
| sessions | {sessions}, of them {solved} solved, {claimed} claimed to be solved and {invalidated} invalidated |
| messages of tutors | {messages} |
| replies of models | {replies}, {generations} of them generations of code |
| submitted reviews | {reviews} |
| rows of labels | {labels} |
| automatic findings | {findings} |
| placements of replayed hints | {placements} |
| draws of replayed hints | {draws} |
| drafts of tutors' models | {drafts} |

## Tables

`sessions` has a row for each session with all of its events in order. `role` is prompt, tutor or model, or the kind
of an event without text; `event` is the whole event as JSON. Null means unknown. `debrief` marks events after the
end, which are outside the protocol.

`labels` has a row for each message of each submitted review; `place` 1 and 2 are the independent reviews, 3 is the
adjudication. The clauses are those of the codebook version in `rule_set`. `reasons` holds the adjudicator's reasons
for clauses, chosen or not.

`findings` has a row for each passage that a detector or a model classified as a possible breach. Findings are not
labels. `start` and `end` count characters of the message; `counts` holds the used and allowed amounts of a budget. A
session with several checks has the findings of each (`checked_at`).

`placements` has a row for each placement of a hint card. A card is a tutor's message with the dialogue before it
(`session`, `message`) and its labels as they were settled when the card was made; a card without a placement has one
row, in which `replay` is null. A placement shows the card to a model (`replay`, `model`) after the wrong `program` that
ends the dialogue `state`. It was fixed before the first draw (`fixed_at`). `fit` compares the failures of the program
with those of the card's program (`overlap` and `agreement` are σ and ω); null means that the card's own dialogue was
continued. `applicability` holds the labels of up to two reviewers, given before the first draw and blind to model, arm
and outcome: is the message true of this program (yes, partly, no)?

`draws` has a row for each reply of the model at a placement. `arm` is hint, neutral, verdict or sham; draws of the last
three belong to the dialogue, so cards that share a dialogue repeat them: count each (`replay`, `state`, `arm`, `draw`)
once. `sham` names the message of another problem that was sent. `right` is the verdict on all tests; null means not
judged. `uptake` compares `program` with the program of the placement.

`drafts` has a row for each draft of a tutor's model. An automatic tutor wrote it for the message or execution `event`.
If `event` is a `model_draft`, a person requested it: `use` is unchanged, edited (the person sent another text) or
discarded, and null for drafts that the page did not offer. `guard` is the decision: sent (to the student, or to the
person); off (no guard); guard_exhausted or unparsable (the student got "Please try again.", the person no draft).
`refused` names the clauses that the guard found, each with its passage. `diagnosis` is private: the student never got
it. `fault` says why a reply was not an answer. Drafts that people wrote themselves, and about which they were warned,
are in `event` of their message (`check`).

`guess` in `labels` is the reviewer's answer to whether the tutor was a person or a program.

## What to know before use

* Exclude sessions that are *invalidated* from all figures.
* Later sessions of one tutor on one problem (`number` 2 and more) are not independent of the first.
* With `outcome_claimed`, the outcome is a claim of the source and not a verdict; do not count it as solved.
  `outcome_claimed_by` names the part of the source that claims it, if known.
* Tutors and reviewers appear under pseudonyms. Their texts are unchanged: check them for personal data before you
  publish.

## Licence

Not set. The texts of problems belong to their contests, replies fall under their providers' terms, and messages
belong to the tutors, who must have consented. Add the licence to the front matter when all three are settled.
"""
