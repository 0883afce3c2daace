"""Rankings of AlgoSimBench that need no generative model, and the same pattern on our tagged problems."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import cast

from benchmark.datasets.algosimbench import open_algosimbench
from benchmark.datasets.records import ImportedProblem, QuestionRecord
from benchmark.reports.published_tables import published_tables
from benchmark.reproduction.registry import RECOMPUTED, Check, PublishedData, reproduces
from benchmark.retrieval import TOKENIZERS
from benchmark.similarity.building import Builder
from benchmark.similarity.scorers import STATISTICS, Scorer, Statistics
from benchmark.similarity.ties import Placing

TAGGED = Path(__file__).parent.parent / "similarity" / "tagged_problems.yaml"
CORPUS = "algosimbench/all_problems_corpus_raw.json"
TOLERANCE = 0.5
"""Percentage points, two questions of 402: the paper names neither its tokenizer nor its word statistics."""


_CLOSEST = (
    "The source does not name its tokenizer. Of all tokenizers the one with the closest accuracy is shown, with a "
    f"tolerance of {TOLERANCE} points."
)


@reproduces(
    "N-11",
    "AlgoSimBench's options ranked with BM25 and TF-IDF, with the best-fitting tokenizer",
    RECOMPUTED,
    _CLOSEST,
)
def published_rankings(files: PublishedData) -> Iterator[Check]:
    problems, questions = _read(files.path(CORPUS).parent)
    table = published_tables()["T17"]
    for name, row in (("bm25", "BM25"), ("tfidf", "TF-IDF")):
        for field in ("statement", "solution"):
            texts = _texts(problems, field)
            expected = table.value(row, f"accuracy, {field}"), table.value(row, f"MRR, {field}")
            variants = {}
            for tokenizer, statistics in product(TOKENIZERS, STATISTICS):
                scorer = Scorer(name, tokenizer, statistics=cast(Statistics, statistics))
                variants[tokenizer, statistics] = _ranked(questions, texts, scorer)
            best = min(variants, key=lambda variant: abs(variants[variant][0] - expected[0]))
            for figure, wanted, obtained in zip(("accuracy", "MRR"), expected, variants[best], strict=True):
                yield Check(
                    f"{row} by {field}, {figure}, %",
                    f"{wanted:.1f} ± {TOLERANCE}",
                    f"{obtained:.1f} ({best[0]}, statistics over the {best[1]})",
                    abs(obtained - wanted) <= TOLERANCE,
                    _CLOSEST,
                )


@reproduces(
    "N-18",
    "our tagged problems: ranking by statement is worse than random, ranking by solution far better",
    RECOMPUTED,
)
def own_rankings(_files: PublishedData) -> Iterator[Check]:
    problems, _ = _read(TAGGED)
    tags = {name: list(problem.tags) for name, problem in problems.items()}
    questions, _ = Builder().questions(_texts(problems, "statement"), tags)
    for name, row in (("bm25", "BM25"), ("tfidf", "TF-IDF")):
        by_statement, by_solution = (
            _ranked(questions, _texts(problems, field), Scorer(name))[0]
            for field in ("statement", "solution")
        )
        yield Check(f"{row} by statement, accuracy, %", "below 25", f"{by_statement:.1f}", by_statement < 25)
        yield Check(f"{row} by solution, accuracy, %", "above 75", f"{by_solution:.1f}", by_solution > 75)


def _read(path: Path) -> tuple[dict[str, ImportedProblem], Sequence[QuestionRecord]]:
    """Return the problems by id, and the questions whose problems are all known. Raises SourceError."""
    with open_algosimbench(path) as source:
        problems = {
            entry.external_id: entry for entry in source.entries if isinstance(entry, ImportedProblem)
        }
        questions = [
            one
            for one in source.questions
            if {one.reference, one.positive, *one.negatives} <= problems.keys()
        ]
    return problems, questions


def _texts(problems: Mapping[str, ImportedProblem], field: str) -> dict[str, str]:
    if field == "statement":
        return {name: problem.statement for name, problem in problems.items()}
    return {name: problem.references[0].source for name, problem in problems.items()}


def _ranked(
    questions: Sequence[QuestionRecord], texts: Mapping[str, str], scorer: Scorer
) -> tuple[float, float]:
    """Return accuracy and mean reciprocal rank in percent, expected over random orders of equal scores."""
    compare = scorer.over(texts)
    placings = [
        Placing.of(compare(one.reference, [one.positive, *one.negatives]), right=0) for one in questions
    ]
    return (
        100 * fmean(float(one.accuracy) for one in placings),
        100 * fmean(float(one.reciprocal_rank) for one in placings),
    )
