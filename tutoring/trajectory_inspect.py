"""Trajectories as logs of Inspect (inspect_ai), which its viewer and its data frames read.

Schema: version 2 of `inspect_ai.log.EvalLog`, as inspect_ai 0.3.285 reads it. An Inspect log is about one task and
one model, so there is one for each data set, protocol and model; a session is a sample of it. What Inspect has no
field for stands in the metadata.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from tutoring.models import Event, Session

LOG_VERSION = 2

UNKNOWN = "unknown"
"""Stands where Inspect wants a name and the record has none."""

_STOP_REASONS = {"stop": "stop", "length": "max_tokens", "refusal": "content_filter"}

Record = dict[str, Any]
"""A trajectory as `trajectory_format.to_record` gives it."""


@dataclass(frozen=True)
class _Group:
    """Records that belong into one log."""

    dataset: str
    protocol: str
    model: str
    records: list[Record] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "-".join(re.sub(r"[^\w.]+", "-", part) for part in (self.dataset, self.protocol, self.model))


def to_logs(records: Iterable[Record], exported_at: datetime) -> dict[str, Record]:
    """Logs by a name that is fit for a file. `exported_at` dates logs none of whose sessions has a time."""
    groups: dict[tuple[str, str, str], _Group] = {}
    for record in records:
        problem, protocol = record.get("problem") or {}, record.get("protocol") or {}
        key = (
            problem.get("dataset") or UNKNOWN,
            f"{protocol['name']}-v{protocol['version']}" if protocol else UNKNOWN,
            record.get("model") or UNKNOWN,
        )
        groups.setdefault(key, _Group(*key)).records.append(record)
    return {group.name: _log(group, exported_at) for group in groups.values()}


def _log(group: _Group, exported_at: datetime) -> Record:
    epochs: dict[str, itertools.count[int]] = {}
    samples = []
    for record in group.records:
        problem = record.get("problem")
        sample_id = problem["id"] if problem else f"{UNKNOWN}-{record['id']}"
        samples.append(_sample(record, sample_id, next(epochs.setdefault(sample_id, itertools.count(1)))))
    protocol = group.records[0].get("protocol") or {}
    times = [time for record in group.records for time in (record.get("opened_at"),) if time]
    identifier = uuid5(NAMESPACE_OID, "\0".join((group.name, *(record["id"] for record in group.records))))
    scored = [sample["scores"]["execution"]["value"] for sample in samples if "execution" in sample["scores"]]
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": {
            "created": min(times, default=exported_at.isoformat()),
            "eval_id": str(identifier),
            "run_id": str(identifier),
            "task": f"tutoring/{group.protocol}",
            "task_id": str(identifier),
            "task_version": protocol.get("version", 0),
            "dataset": {
                "name": group.dataset,
                "samples": len(epochs),
                "sample_ids": list(epochs),
                "shuffled": False,
            },
            "model": group.model,
            "config": {"epochs": max(sample["epoch"] for sample in samples)},
            "metadata": {"schema": group.records[0]["schema"], "protocol": protocol or None},
        },
        "plan": {"name": "human tutor", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [_accuracy(scored, len(samples))] if scored else [],
        },
        "stats": {"started_at": min(times, default=""), "completed_at": ""},
        "samples": samples,
    }


def _accuracy(scored: list[str], samples: int) -> Record:
    share = scored.count("C") / len(scored)
    return {
        "name": "execution",
        "scorer": "execution",
        "scored_samples": len(scored),
        "unscored_samples": samples - len(scored),
        "metrics": {"accuracy": {"name": "accuracy", "value": share}},
    }


def _sample(record: Record, sample_id: str, epoch: int) -> Record:
    messages = [message for event in record["events"] for message in _messages(event)]
    answers = [message for message in messages if message["role"] == "assistant"]
    opened, closed = record.get("opened_at"), record.get("closed_at")
    seconds = None
    if opened and closed:
        seconds = (datetime.fromisoformat(closed) - datetime.fromisoformat(opened)).total_seconds()
    kept = (
        "tutor", "language", "number", "outcome", "code_generations", "executions", "source", "problem", "judgement",
        "reviews", "rule_checks", "near_misses",
    )  # fmt: skip
    return {
        "id": sample_id,
        "epoch": epoch,
        "uuid": record["id"],
        "input": messages[0]["content"] if messages else "",
        "target": "",
        "messages": messages,
        "output": _output(record.get("model") or UNKNOWN, answers),
        "scores": _scores(record),
        "metadata": {key: record.get(key) for key in kept},
        "model_usage": _usage(record),
        "started_at": opened,
        "completed_at": closed,
        "total_time": seconds,
        "invalidation": _invalidation(record),
    }


def _messages(event: Record) -> list[Record]:
    """The event as a chat message: one where something was said, none elsewhere."""
    data = event["data"]
    about = {"seq": event["seq"], "at": event["at"]}
    match event["kind"]:
        case Event.Kind.OPENED:
            return [{"role": "user", "source": "input", "content": data["prompt"], "metadata": about}]
        case Event.Kind.MESSAGE:
            # Inspect's own word for what a person says in the place of the program.
            about |= {key: value for key, value in data.items() if key != "sent"}
            return [{"role": "user", "source": "operator", "content": data["sent"], "metadata": about}]
        case Event.Kind.REPLY:
            about |= {key: value for key, value in data.items() if key not in ("text", "reasoning")}
            spoken: Any = data["text"]
            if data["reasoning"]:
                spoken = [
                    {"type": "reasoning", "reasoning": data["reasoning"]},
                    {"type": "text", "text": data["text"]},
                ]
            message = {"role": "assistant", "source": "generate", "content": spoken, "metadata": about}
            return [{**message, "model": data["model"]} if data["model"] else message]
    return []


def _output(model: str, answers: list[Record]) -> Record:
    if not answers:
        return {"model": model, "choices": []}
    last = answers[-1]
    reason = _STOP_REASONS.get(last["metadata"]["finish_reason"] or "", "unknown")
    return {"model": model, "choices": [{"message": last, "stop_reason": reason}]}


def _scores(record: Record) -> Record:
    """The execution as "C" or "I", Inspect's words for correct and incorrect, and what each review says."""
    scores: Record = {}
    events = record["events"]
    programs = [event["data"]["code"] for event in events if event["kind"] == Event.Kind.REPLY]
    verdicts = [event["data"] for event in events if event["kind"] == Event.Kind.VERDICT]
    if verdicts:
        scores["execution"] = {
            "value": "C" if verdicts[-1]["verdict"] == "AC" else "I",
            "answer": next((code for code in reversed(programs) if code), None),
            "explanation": verdicts[-1]["verdict"],
            "metadata": verdicts[-1],
        }
    elif record["outcome"] in (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED):
        scores["claimed"] = {
            "value": "C" if record["outcome"] == Session.Outcome.SOLVED else "I",
            "explanation": "The outcome that the record states; there is no verdict in it.",
        }
    for review in record["reviews"]:
        scores[f"review {review['rule_set']['version']}.{review['place']}"] = {
            "value": review["content"]["verdict"],
            "explanation": review["content"]["comment"],
        }
    return scores


def _usage(record: Record) -> Record:
    """The tokens of all replies; nothing as soon as those of one are unknown."""
    replies = [event["data"] for event in record["events"] if event["kind"] == Event.Kind.REPLY]
    amounts = [
        [(reply["usage"] or {}).get(key) for key in ("input_tokens", "output_tokens")] for reply in replies
    ]
    if not amounts or None in itertools.chain.from_iterable(amounts):
        return {}
    read, written = map(sum, zip(*amounts, strict=True))
    return {
        record.get("model") or UNKNOWN: {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
        }
    }


def _invalidation(record: Record) -> Record | None:
    if not record.get("invalidated"):
        return None
    events = [event for event in record["events"] if event["kind"] == Event.Kind.INVALIDATED]
    if not events:
        return {"author": UNKNOWN}
    last = events[-1]
    found = {"author": last.get("by") or UNKNOWN, "reason": last["data"]["reason"]}
    return {**found, "timestamp": last["at"]} if last["at"] else found
