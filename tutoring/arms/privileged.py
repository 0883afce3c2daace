"""The privileged facts of policies: the official analysis and reference programs of the problem under test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark.methods import Chain
from benchmark.models import ReferenceSolution
from benchmark.retrieval import split_analysis

REFERENCES = "references"
"""The key of the reference programs in the record of a run, their primary keys by problem, and of their texts."""


async def analysis_of(chain: Chain) -> str:
    """Return the official analysis of the problem under test without its programs."""
    corpus = await chain.problems()
    [problem] = [document.problem for document in corpus.documents if document.id == chain.task.id]
    return split_analysis(problem.analysis)[0] if problem else ""


async def references_of(chain: Chain) -> tuple[str, ...]:
    """Return the reference programs of the problem under test in the session's language, in the source's order."""
    keys: Mapping[str, list[int]] = chain.prepared[REFERENCES]

    def read() -> dict[int, str]:
        wanted = [key for found in keys.values() for key in found]
        return dict(ReferenceSolution.objects.filter(pk__in=wanted).values_list("pk", "source"))

    sources: dict[int, Any] = await chain.read_once(REFERENCES, read)
    return tuple(sources[key] for key in keys[chain.task.id])


def reference_keys(dataset_id: int, language: str) -> dict[str, list[int]]:
    """Return the primary keys of the reference programs of a dataset in the language, by problem."""
    rows = ReferenceSolution.objects.filter(problem__dataset=dataset_id, language=language).order_by(
        "order", "pk"
    )
    found: dict[str, list[int]] = {}
    for key, problem in rows.values_list("pk", "problem__external_id"):
        found.setdefault(problem, []).append(key)
    return found
