"""The grid of AlgoSimBench's tables T17 to T19: every representation with every scorer and every model.

T17 ranks statements and solutions, in T18 models choose by each representation, T19 ranks generated representations
(docs/spec.md 4.4).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmark.models import QuestionSet, SimilarityRun
from benchmark.providers import ModelSpec, Parameters
from benchmark.reports.published_tables import published_tables
from benchmark.representations import KINDS, RepresentationKind
from benchmark.similarity.figures import measure, run_figures
from benchmark.similarity.runs import SimilarityPlan, run_inputs
from benchmark.similarity.scorers import Scorer

Task = SimilarityRun.Task
SCORERS = {
    "bm25": "BM25",
    "tfidf": "TF-IDF",
    "encoder:google-bert/bert-base-uncased": "BERT",
    "encoder:facebook/bart-base": "BART",
    "encoder:microsoft/codebert-base": "CodeBert",
    "encoder:microsoft/graphcodebert-base": "GraphCodeBert",
    "encoder:codesage/codesage-base-v2": "CodeSage",
    "encoder:Salesforce/SFR-Embedding-Code-400M_R": "SFR",
    "encoder:jinaai/jina-embeddings-v2-base-code": "Jina",
    "encoder:nomic-ai/CodeRankEmbed": "CodeRank",
}
"""The scorers of T17 with the names of their rows in the table."""


@dataclass
class GridCell:
    """One planned run of the grid, and the stored run of this plan.

    `needs` says why there is no finished run. `plan` is None if it needs a model and none is named.
    """

    table: str
    kind: RepresentationKind
    scorer: str
    model: str
    plan: SimilarityPlan | None
    run: SimilarityRun | None = None
    needs: str = ""

    @property
    def finished(self) -> bool:
        """Return whether every question is answered."""
        return self.run is not None and self.run.state == SimilarityRun.State.FINISHED

    def find_run(self) -> None:
        """Set `run` to the newest finished run of this plan, or else to its newest unfinished run."""
        if self.plan is None:
            return
        runs = SimilarityRun.objects.filter(
            question_set=self.plan.question_set,
            task=self.plan.task,
            representation=self.kind.name,
            model_spec=self.model,
        )
        inputs = run_inputs(self.plan)
        same = [
            run
            for run in runs
            if run.parameters == self.plan.parameters
            and all(run.manifest.get(name) == value for name, value in inputs.items())
        ]
        done = [run for run in same if run.state == SimilarityRun.State.FINISHED]
        self.run = next(iter([*done, *same]), None)

    @property
    def published(self) -> tuple[float, float | None] | None:
        """Return the printed accuracy and mean reciprocal rank in percent; None for other questions or cells."""
        if self.plan is None or self.plan.question_set.built or self.plan.limit:
            return None
        table = published_tables()[self.table]
        if self.table == "T17":
            row = SCORERS.get(self.scorer, "")
            columns = [f"{figure}, {self.kind.name}" for figure in ("accuracy", "MRR")]
        else:
            model = self.plan.spec.model.lower() if self.plan.spec else ""
            row = next((one.name for one in table.rows if one.name.lower() == model), "")
            columns = [self.kind.name] if self.scorer in ("", "bm25") else []
        if not row or not columns:
            return None
        values = [table.value(row, column) for column in columns]
        return values[0], values[1] if len(values) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """Return the cell and the figures of its run as a JSON document."""
        figures: dict[str, Any] = {}
        if self.run is not None:
            figures = (run_figures(self.run) if self.finished else measure(self.run).to_json()) or {}
        published = self.published or (None, None)
        return {
            "table": self.table,
            "representation": self.kind.name,
            "scorer": self.scorer or None,
            "model": self.model or None,
            "run": str(self.run.pk) if self.run else None,
            "state": self.run.state if self.run else None,
            "answered": figures.get("answered", 0),
            "accuracy": figures.get("accuracy"),
            "accuracy_interval": figures.get("accuracy_interval"),
            "mrr": figures.get("mrr"),
            "published_accuracy": published[0],
            "published_mrr": published[1],
            "needs": None if self.finished else self.needs or "it has not been run",
        }


def grid_of(
    question_set: QuestionSet,
    models: Sequence[ModelSpec],
    scorers: Iterable[str],
    sampling: Parameters,
    limit: int | None = None,
) -> list[GridCell]:
    """Return the cells in the order of the tables, each with its stored run.

    Cells that generate representations come before those that rank them. Raises ValueError for an unknown scorer.
    """
    cells = list(_cells(question_set, models, list(scorers), sampling, limit))
    for cell in cells:
        cell.find_run()
    return cells


def _cells(
    question_set: QuestionSet,
    models: Sequence[ModelSpec],
    scorers: Sequence[str],
    sampling: Parameters,
    limit: int | None,
) -> Iterator[GridCell]:
    own, generated = (
        [kind for kind in KINDS.values() if not kind.generated],
        [kind for kind in KINDS.values() if kind.generated],
    )
    for scorer, kind in product(scorers, own):
        plan = SimilarityPlan(question_set, Task.RANK, kind, scorer=Scorer(scorer), limit=limit)
        yield GridCell("T17", kind, scorer, "", plan)
    for spec, kind in product(models, KINDS.values()):
        plan = SimilarityPlan(question_set, Task.CHOOSE, kind, spec, sampling, limit=limit)
        yield GridCell("T18", kind, "", str(spec), plan)
    for spec, scorer, kind in product(models, scorers, generated):
        plan = SimilarityPlan(question_set, Task.RANK, kind, spec, sampling, Scorer(scorer), limit=limit)
        yield GridCell("T19", kind, scorer, str(spec), plan)
    if not models:
        yield from _cells_without_model(scorers, generated)


def _cells_without_model(
    scorers: Sequence[str], generated: Sequence[RepresentationKind]
) -> Iterator[GridCell]:
    """Yield the cells of T18 and T19 if no model is named."""
    needs = "it needs a model: name one or more with --model PROVIDER:MODEL"
    for kind in KINDS.values():
        yield GridCell("T18", kind, "", "", None, needs=needs)
    for scorer, kind in product(scorers, generated):
        yield GridCell("T19", kind, scorer, "", None, needs=needs)
