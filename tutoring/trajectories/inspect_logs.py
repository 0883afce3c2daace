"""Trajectories as logs of Inspect (inspect_ai), for its viewer and its data frames.

Schema: version 2 of `inspect_ai.log.EvalLog`, as inspect_ai 0.3.285 reads it. An Inspect log covers one task and one
model, so there is one for each data set, protocol and version of a model. A session is a sample; several sessions on
one problem are its epochs. Fields that Inspect does not have are in the metadata.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import sqrt
from statistics import fmean, stdev
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import judge
from tutoring.models import Session
from tutoring.models.payloads import (
    MessageSent,
    ReplyFinished,
    SessionInvalidated,
    SessionOpened,
    final_verdict,
)
from tutoring.review.content import COMPLIANT, Content, decided_content
from tutoring.rules import rule_set
from tutoring.trajectories.record_schema import payload_of

LOG_VERSION = 2

UNKNOWN = "unknown"
"""The value of names that Inspect requires and the record does not have."""

_NUMBERS = {"C": 1.0, "I": 0.0}

_STOP_REASONS = {"stop": "stop", "length": "max_tokens", "refusal": "content_filter"}

Record = dict[str, Any]
"""A trajectory as `json_lines.to_record` returns it."""


@dataclass(frozen=True)
class _Scorer:
    """A score of the samples, and the metric that a log reports together with the standard error."""

    name: str
    metric: str


SCORERS = (
    _Scorer("solved", "accuracy"),
    _Scorer("claimed", "accuracy"),
    _Scorer("compliant", "accuracy"),
    _Scorer("generations", "mean"),
)
"""The scores of a log in order; Inspect shows the first one as the headline."""


@dataclass(frozen=True)
class _Group:
    """The records of one log."""

    dataset: str
    protocol: str
    model: str
    version: str = ""
    """Label and version of the model; blank if unknown."""
    records: list[Record] = field(default_factory=list)

    @property
    def identifier(self) -> UUID:
        keys = (self.dataset, self.protocol, self.model, *(record["id"] for record in self.records))
        return uuid5(NAMESPACE_OID, "\0".join(keys))


def to_logs(records: Iterable[Record], exported_at: datetime) -> dict[str, Record]:
    """Return logs by file name. `exported_at` is the date of logs whose sessions have no time.

    Inspect lists JSON files only with names of the form `<created>_<task>_<id>`, where no part has an underscore and
    the id has no hyphen.
    """
    groups: dict[tuple[str, str, str, str], _Group] = {}
    for record in records:
        problem, protocol, model = (
            record.get(key) or {} for key in ("problem", "protocol", "language_model")
        )
        key = (
            problem.get("dataset") or UNKNOWN,
            f"{protocol['name']}-v{protocol['version']}" if protocol else UNKNOWN,
            record.get("model") or UNKNOWN,
            f"{model['label']}@{model['version']}" if model else "",
        )
        groups.setdefault(key, _Group(*key)).records.append(record)
    logs = {}
    for group in groups.values():
        log = _log(group, exported_at)
        parts = (log["eval"]["created"], group.protocol, group.identifier.hex)
        logs["_".join(re.sub(r"[^\w.+-]|_", "-", part) for part in parts) + ".json"] = log
    return logs


def _log(group: _Group, exported_at: datetime) -> Record:
    epochs: dict[str, itertools.count[int]] = {}
    samples = []
    for record in group.records:
        problem = record.get("problem")
        sample_id = problem["id"] if problem else f"{UNKNOWN}-{record['id']}"
        samples.append(_sample(record, sample_id, next(epochs.setdefault(sample_id, itertools.count(1)))))
    protocol, model = (group.records[0].get(key) or {} for key in ("protocol", "language_model"))
    started = min((time for record in group.records if (time := _time(record, "opened_at"))), default=None)
    ended = [_time(record, "closed_at") for record in group.records]
    identifier = group.identifier.hex
    scores = [score for scorer in SCORERS if (score := _aggregate(scorer, samples))]
    metrics = {scorer.name: scorer.metric for scorer in SCORERS}
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": {
            "created": (started or exported_at).isoformat(),
            "eval_id": identifier,
            "run_id": identifier,
            "task": f"tutoring/{group.protocol}",
            "task_id": identifier,
            "task_version": protocol.get("version", 0),
            "task_display_name": group.protocol,
            "task_args": {"dataset": group.dataset, "protocol": protocol.get("content_hash")},
            "solver": "human_tutor",
            "dataset": {
                "name": group.dataset,
                "samples": len(epochs),
                "sample_ids": list(epochs),
                "shuffled": False,
            },
            "model": group.model,
            "config": {"epochs": max(sample["epoch"] for sample in samples), "epochs_reducer": ["mean"]},
            "metadata": {
                "schema": group.records[0]["schema"],
                "protocol": protocol or None,
                "language_model": model or None,
            },
            "scorers": [
                {
                    "name": score["name"],
                    "metrics": [
                        {"name": f"inspect_ai/{name}"} for name in (metrics[score["name"]], "stderr")
                    ],
                }
                for score in scores
            ],
        },
        "plan": {"name": "tutored sessions", "steps": [{"solver": "human_tutor", "params": {}}]},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum(record["state"] == Session.State.CLOSED for record in group.records),
            "scores": scores,
        },
        "stats": {
            "started_at": started.isoformat() if started else "",
            "completed_at": max(known).isoformat()
            if len(known := list(filter(None, ended))) == len(ended)
            else "",
            "model_usage": _total_usage(group.model, samples),
        },
        "invalidated": any(record.get("invalidated") for record in group.records),
        "samples": samples,
    }


def _aggregate(scorer: _Scorer, samples: list[Record]) -> Record | None:
    """Return the scorer's metrics over the problems that have its score; None if there are none.

    Like Inspect's reducer `mean`: the sessions of a problem are averaged first, and the standard error is that of the
    problems' means. A single problem has no standard error. Invalidated sessions are excluded.
    """
    values: dict[str, list[float]] = {sample["id"]: [] for sample in samples}
    for sample in samples:
        if scorer.name in sample["scores"] and sample["invalidation"] is None:
            value = sample["scores"][scorer.name]["value"]
            values[sample["id"]].append(_NUMBERS.get(value, value))
    means = [fmean(of_problem) for of_problem in values.values() if of_problem]
    if not means:
        return None
    metrics = {scorer.metric: fmean(means)}
    if len(means) > 1:
        metrics["stderr"] = stdev(means) / sqrt(len(means))
    return {
        "name": scorer.name,
        "scorer": scorer.name,
        "reducer": "mean",
        "scored_samples": len(means),
        "unscored_samples": len(values) - len(means),
        "metrics": {name: {"name": name, "value": value} for name, value in metrics.items()},
    }


def _time(record: Record, key: str) -> datetime | None:
    """Return the record's time, in UTC if it has no zone; None if unknown."""
    if not record.get(key):
        return None
    time = datetime.fromisoformat(record[key])
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _sample(record: Record, sample_id: str, epoch: int) -> Record:
    messages = [message for event in record["events"] if (message := _message(event))]
    others = [event for event in record["events"] if not _message(event)]
    answers = [message for message in messages if message["role"] == "assistant"]
    opened, closed = _time(record, "opened_at"), _time(record, "closed_at")
    kept = (
        "tutor", "language", "number", "outcome", "outcome_claimed", "code_generations", "executions", "source",
        "problem", "judgement", "reviews", "rule_checks", "near_misses", "replays",
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
        "metadata": {key: record.get(key) for key in kept} | {"other_events": others},
        "model_usage": _usage(record),
        "started_at": opened and opened.isoformat(),
        "completed_at": closed and closed.isoformat(),
        "total_time": (closed - opened).total_seconds() if opened and closed else None,
        "invalidation": _invalidation(record),
    }


def _message(event: Record) -> Record | None:
    """Return the event as a chat message; None for an event that is not one, such as a draft that was not sent."""
    about = {"seq": event["seq"], "at": event["at"]}
    match payload_of(event):
        case SessionOpened(prompt=prompt):
            return {"role": "user", "source": "input", "content": prompt, "metadata": about}
        case MessageSent(sent=sent) as message:
            about |= _without(message.to_json(), "sent")
            # "operator" is Inspect's term for a person who writes in place of the program.
            return {"role": "user", "source": "operator", "content": sent, "metadata": about}
        case ReplyFinished() as reply:
            about |= _without(reply.to_json(), "text", "reasoning")
            content: Any = reply.text
            if reply.reasoning:
                content = [
                    {"type": "reasoning", "reasoning": reply.reasoning},
                    {"type": "text", "text": reply.text},
                ]
            found = {"role": "assistant", "source": "generate", "content": content, "metadata": about}
            return {**found, "model": reply.model} if reply.model else found
    return None


def _without(data: Record, *keys: str) -> Record:
    return {key: value for key, value in data.items() if key not in keys}


def _output(model: str, answers: list[Record]) -> Record:
    if not answers:
        return {"model": model, "choices": []}
    last = answers[-1]
    reason = _STOP_REASONS.get(last["metadata"]["finish_reason"] or "", "unknown")
    return {"model": model, "choices": [{"message": last, "stop_reason": reason}]}


def _scores(record: Record) -> Record:
    """Return the scores that are known, and one per review.

    `solved` comes from the verdict that counts; an abandoned session is not solved. `claimed` is an outcome that the
    record states without a verdict. `compliant` is the decision of the reviews.
    """
    scores: Record = {}
    payloads = [payload_of(event) for event in record["events"]]
    programs = [one.code for one in payloads if isinstance(one, ReplyFinished) and one.code]
    verdict, former = final_verdict(payloads)
    if verdict is not None and verdict.verdict is not None:
        scores["solved"] = {
            "value": _letter(verdict.verdict == judge.Verdict.AC),
            "answer": programs[-1] if programs else None,
            "explanation": verdict.verdict.value + (f", replaces {former}" if former else ""),
            "metadata": verdict.to_json(),
        }
    elif record["outcome"] == Session.Outcome.ABANDONED:
        scores["solved"] = {"value": _letter(False), "explanation": "The tutor abandoned the session."}
    elif record["outcome_claimed"]:
        scores["claimed"] = {
            "value": _letter(record["outcome"] == Session.Outcome.SOLVED),
            "explanation": "The record states this outcome and contains no verdict.",
        }
    if decision := _decision(record):
        scores["compliant"] = {"value": _letter(decision == COMPLIANT), "explanation": decision}
    if record.get("code_generations") is not None:
        scores["generations"] = {"value": record["code_generations"]}
    for review in record["reviews"]:
        scores[f"review {review['rule_set']['version']}.{review['place']}"] = {
            "value": review["content"]["verdict"],
            "explanation": review["content"]["comment"],
        }
    return scores


def _letter(good: bool) -> str:
    """Return Inspect's letter for correct or incorrect."""
    return "C" if good else "I"


def _decision(record: Record) -> str | None:
    """Return the verdict that the reviews under the newest rule set decide; None if it is undecided."""
    reviews = record["reviews"]
    if not reviews:
        return None
    version = max(review["rule_set"]["version"] for review in reviews)
    contents = {
        review["place"]: Content.from_json(review["content"])
        for review in reviews
        if review["rule_set"]["version"] == version
    }
    cap = ((record.get("protocol") or {}).get("rules") or {}).get("level_cap")
    decided = decided_content(contents, rule_set(version), cap)
    return decided.verdict if decided else None


def _usage(record: Record) -> Record:
    """Return the tokens of all replies; empty if those of one reply are unknown."""
    payloads = map(payload_of, record["events"])
    usages = [one.usage for one in payloads if isinstance(one, ReplyFinished)]
    inputs = [usage.input_tokens for usage in usages if usage and usage.input_tokens is not None]
    outputs = [usage.output_tokens for usage in usages if usage and usage.output_tokens is not None]
    if not usages or not len(usages) == len(inputs) == len(outputs):
        return {}
    read, written = sum(inputs), sum(outputs)
    return {
        record.get("model") or UNKNOWN: {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
        }
    }


def _total_usage(model: str, samples: list[Record]) -> Record:
    """Return the tokens of all samples; empty if those of one sample are unknown."""
    usages = [sample["model_usage"].get(model) for sample in samples]
    if None in usages:
        return {}
    return {model: {key: sum(usage[key] for usage in usages) for key in usages[0]}}


def _invalidation(record: Record) -> Record | None:
    if not record.get("invalidated"):
        return None
    for event in reversed(record["events"]):
        payload = payload_of(event)
        if isinstance(payload, SessionInvalidated):
            found = {"author": event.get("by") or UNKNOWN, "reason": payload.reason}
            return {**found, "timestamp": event["at"]} if event["at"] else found
    return {"author": UNKNOWN}
