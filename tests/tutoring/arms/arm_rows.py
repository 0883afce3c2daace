"""Rows of arms and of sessions of people, stored without models: what a run and the pages leave behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from benchmark.models import Dataset, Problem, Run, WorkItem
from benchmark.runner.manifest import dataset_hash
from tutoring.models import Event, Protocol, Session
from tutoring.models.payloads import SessionOpened
from tutoring.sessions.recording import append_event

MODEL = "openai:m"


def store_problems(number: int, name: str = "orchard") -> list[Problem]:
    """Store a dataset of that many problems."""
    dataset = Dataset.objects.create(name=name, format="usaco")
    return [
        Problem.objects.create(
            dataset=dataset, external_id=f"p{place:02}", title=f"Problem {place}", statement="", time_limit=1,
            memory_limit=1, checker={}, content_hash=f"{place:064}",
        )
        for place in range(number)
    ]  # fmt: skip


def protocol_record(protocol: Protocol) -> dict[str, Any]:
    """Return the protocol as a run records it."""
    return {"name": protocol.name, "version": protocol.version, "content_hash": protocol.content_hash}


def store_arm(
    arm: str, outcomes: Mapping[Problem, Sequence[str]], *, protocol: Protocol, **fields: Any
) -> Run:
    """Store a finished run of `session-ARM`: for each problem the program outcomes of its chains."""
    dataset = next(iter(outcomes)).dataset
    manifest = {
        "dataset": {"content_hash": dataset_hash(dataset)},
        "prepared": {"protocol": protocol_record(protocol)} | fields.pop("prepared", {}),
        "draws": "fresh",
    } | fields.pop("manifest", {})
    defaults = {"model_spec": MODEL, "parameters": {"language": "python"}, "state": "finished"}
    run = Run.objects.create(dataset=dataset, method=f"session-{arm}", manifest=manifest, **defaults | fields)
    for problem, chains in outcomes.items():
        for chain, programs in enumerate(chains):
            item = WorkItem.objects.create(run=run, problem=problem, chain=chain, state="done")
            Session.objects.create(
                origin=Session.Origin.AUTOMATIC, problem=problem, protocol=protocol, model_spec=run.model_spec,
                work_item=item, number=chain + 1, state="closed", program_outcomes=programs,
                outcome="solved" if programs.endswith("A") else "not_solved", code_generations=len(programs),
            )  # fmt: skip
    return run


def store_session(
    tutor: User, problem: Problem, protocol: Protocol, *, solved: bool, generations: int = 5, **fields: Any
) -> UUID:
    """Store a closed session of a person."""
    problem_hash = fields.pop("problem_hash", problem.content_hash)
    defaults = {"model_spec": MODEL, "number": 1, "state": "closed", "opened_at": timezone.now()}
    session = Session.objects.create(
        tutor=tutor, problem=problem, protocol=protocol, outcome="solved" if solved else "not_solved",
        code_generations=generations, **defaults | fields,
    )  # fmt: skip
    opened = SessionOpened(
        prompt="", problem_hash=problem_hash, protocol=str(protocol), protocol_hash=protocol.content_hash,
        model_spec=session.model_spec, consent=None,
    )  # fmt: skip
    append_event(session, opened, actor=tutor)
    assert session.events.get().kind == Event.Kind.OPENED
    return session.pk
