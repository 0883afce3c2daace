"""The 484 problems of the USACO dictionary as rows, and small ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.models import Dataset, Problem

AddProblem = Callable[..., Problem]


@pytest.fixture
def add_problem(db: None) -> AddProblem:
    """`add_problem(dataset, external_id, statement, analysis)` stores a problem."""

    def add(
        dataset: Dataset, external_id: str, statement: str, analysis: str = "", title: str = ""
    ) -> Problem:
        return Problem.objects.create(
            **_fields(dataset, external_id, title or external_id, statement, analysis)
        )

    return add


@pytest.fixture
def usaco(db: None, shared_data: Path) -> Dataset:
    """The dataset `usaco`, in the order of the file."""
    entries: dict[str, dict[str, Any]] = json.loads((shared_data / "usaco" / "usaco_dict.json").read_text())
    dataset = Dataset.objects.create(name="usaco", format="usaco")
    Problem.objects.bulk_create(
        Problem(**_fields(dataset, key, entry["name"], entry["description"], entry["solution"]))
        for key, entry in entries.items()
    )
    return dataset


def _fields(dataset: Dataset, external_id: str, title: str, statement: str, analysis: str) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "external_id": external_id,
        "title": title,
        "statement": statement,
        "statement_format": "usaco",
        "analysis": analysis,
        "analysis_format": "usaco",
        "time_limit": 2,
        "memory_limit": 2**28,
        "checker": {},
        "content_hash": external_id,
    }
