"""CPU time of leave-one-out retrieval: every problem searches all the others with its statement and a reply.

    python -m benchmarks.retrieval [USACO_DICT.json]

The reference in the same run is the published implementation, rank_bm25 rebuilt for each problem; all scores must be
equal to the last bit. The problems are the 307 longest of the dictionary (as many as in the paper), or generated ones
of the same size; the reply is the beginning of another problem's analysis. The larger collections recombine these
texts; there the reference answers two queries, and none for 30 000 documents, where it takes 4 GB. The largest
collection has words by Zipf's law in documents of log-normal lengths; a few of its rankings are compared with exact
sums of all scores. Targets: docs/architecture.md. The exit status is 1 if one is missed or a score differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Set before the import of NumPy, because CPU time of waiting threads would distort the figures.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

PROBLEMS = 307
PARAMETERS: dict[str, Any] = {"k1": 1.5, "b": 0.75, "epsilon": 0.25}
TOTAL, RATIO = 2.5, 25
LARGER = {3_000: 0.010, 30_000: 0.050}
"""Seconds per query by number of documents."""
QUERIES = 30
MEGABYTES = 250
LARGEST, LARGEST_SECONDS, LARGEST_MEGABYTES = 300_000, 0.150, 2_000
VOCABULARY = 290_000
LENGTH, SPREAD = 1_500, 0.5
"""Words of the median document, and the standard deviation of the logarithm; the mean is 1 700."""
QUERY_LENGTH = 735
"""Words of a query to the largest collection."""

Problem = tuple[str, str]
"""The statement and the analysis of a problem."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dictionary", nargs="?", type=Path, metavar="USACO_DICT.json")
    dictionary = parser.parse_args().dictionary
    with tempfile.TemporaryDirectory(prefix="hintbench-retrieval-") as var:
        os.environ["HINTBENCH_VAR"] = var
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django

        django.setup()
        problems = read(dictionary) if dictionary else generated()
        print(f"{'documents':>9} {'engine':<10} {'build s':>8} {'ms a query':>10} {'all s':>8} {'MB':>6}")
        missed = all_excluded(problems)
        for count, target in LARGER.items():
            missed += larger(problems, count, target)
        missed += largest()
        return 1 if missed else 0


def all_excluded(problems: list[Problem]) -> int:
    """Measure leave-one-out retrieval by both implementations; return the number of missed targets."""
    from benchmark.retrieval.index import Bm25Index
    from benchmark.retrieval.reference_bm25 import ReferenceIndex

    documents, queries = texts(problems)
    seconds, vectors = {}, {}
    for engine, name in ((Bm25Index, "index"), (ReferenceIndex, "rank_bm25")):
        start = time.process_time()
        index = engine(document.split(" ") for document in documents)
        built = time.process_time() - start
        vectors[name] = [
            index.scores(query.split(" "), **PARAMETERS, excluded={place}).tobytes()
            for place, query in enumerate(queries)
        ]
        seconds[name] = time.process_time() - start
        row(len(documents), name, built, (seconds[name] - built) / len(queries))
    ratio = seconds["rank_bm25"] / seconds["index"]
    different = sum(ours != theirs for ours, theirs in zip(*vectors.values(), strict=True))
    print(f"{ratio:.0f} times the published way; score vectors that differ in a bit: {different}")
    return (seconds["index"] > TOTAL) + (ratio < RATIO) + bool(different)


def larger(problems: list[Problem], count: int, target: float) -> int:
    """Measure queries to a collection of this size; return the number of missed targets."""
    from benchmark.retrieval.index import Bm25Index
    from benchmark.retrieval.reference_bm25 import ReferenceIndex

    chance = random.Random(count)
    recombined = [(numbered(chance, problems), chance.choice(problems)[1]) for _ in range(count)]
    documents, queries = texts(recombined)
    queries = queries[: QUERIES + 1]
    before, start = resident(), time.process_time()
    index = Bm25Index(document.split(" ") for document in documents)
    built = time.process_time() - start
    megabytes = resident() - before
    times = []
    for place, query in enumerate(queries):
        start = time.process_time()
        index.best(query.split(" "), 2, **PARAMETERS, excluded={place})
        times.append(time.process_time() - start)
    each = sum(times[1:]) / QUERIES  # the first query creates the table of idf
    row(count, "index", built, each, megabytes)
    different = 0
    if count <= 3_000:
        rebuilt = ReferenceIndex(document.split(" ") for document in documents)
        start = time.process_time()
        for place, query in enumerate(queries[:2]):
            expected = rebuilt.best(query.split(" "), count, **PARAMETERS, excluded={place})
            different += index.best(query.split(" "), count, **PARAMETERS, excluded={place}) != expected
        each_rebuilt = (time.process_time() - start) / 2
        row(count, "rank_bm25", 0, each_rebuilt)
    return (each > target) + (megabytes > MEGABYTES) + bool(different)


def largest() -> int:
    """Measure queries to the largest collection; return the number of missed targets."""
    from benchmark.retrieval.index import Bm25Index

    before, start = resident(), time.process_time()
    index = Bm25Index(synthetic(LARGEST))
    built = time.process_time() - start
    queries = [document[:QUERY_LENGTH] for document in synthetic(QUERIES + 1, seed=1)]
    times, found = [], []
    for place, query in enumerate(queries):
        start = time.process_time()
        found.append(index.best(query, 2, **PARAMETERS, excluded={place}))
        times.append(time.process_time() - start)
    megabytes = resident() - before
    different = 0
    for place, query in enumerate(queries[:3]):
        scores = np.insert(index.scores(query, **PARAMETERS, excluded={place}), place, -np.inf)
        best = np.argsort(-scores, kind="stable")[:2]
        different += found[place] != [(int(one), float(scores[one])) for one in best]
    each = sum(times[1:]) / QUERIES  # the first query creates the tables of weights and shares
    row(LARGEST, "index", built, each, megabytes)
    print(f"first query: {times[0]:.1f} s; rankings that differ from all exact scores: {different}")
    return (each > LARGEST_SECONDS) + (megabytes > LARGEST_MEGABYTES) + bool(different)


def synthetic(count: int, seed: int = 0) -> Iterator[list[str]]:
    """Yield documents with words by the Zipf–Mandelbrot law and log-normal lengths.

    Most words repeat words of the document, so that it has about 450 different ones, like long texts without
    punctuation.
    """
    chance = np.random.default_rng(seed)
    ranks = np.cumsum(1 / (np.arange(VOCABULARY) + 2.7))
    names = np.array([f"w{rank}" for rank in range(VOCABULARY)], object)
    for length in np.maximum(chance.lognormal(np.log(LENGTH), SPREAD, count).astype(int), 50):
        drawn = np.searchsorted(ranks, chance.random(length // 3) * ranks[-1])
        yield names[np.concatenate((drawn, chance.choice(drawn, length - len(drawn))))].tolist()


def row(documents: int, engine: str, built: float, each: float, megabytes: float = 0) -> None:
    """Print a row: seconds of building, of each query, and of a query for every document."""
    total = built + each * documents
    size = f"{megabytes:6.0f}" if megabytes else ""
    print(f"{documents:>9} {engine:<10} {built:8.2f} {each * 1e3:10.1f} {total:8.1f} {size}")


def texts(problems: list[Problem]) -> tuple[list[str], list[str]]:
    """Return the documents, and a query for each."""
    documents = [f"{statement}\nSolution: \n{analysis}" for statement, analysis in problems]
    replies = [" ".join(analysis.split(" ")[:350]) for _, analysis in problems]
    queries = [f"{problems[place][0]}\n{replies[place - 1]}" for place in range(len(problems))]
    return documents, queries


def numbered(chance: random.Random, problems: list[Problem]) -> str:
    """Return a random statement with random numbers."""
    words = chance.choice(problems)[0].split(" ")
    return " ".join(str(chance.randrange(10**6)) if word.isdigit() else word for word in words)


def read(path: Path) -> list[Problem]:
    entries = json.loads(path.read_text()).values()
    problems = [(entry["description"], entry["solution"]) for entry in entries]
    return sorted(problems, key=lambda problem: -sum(map(len, problem)))[:PROBLEMS]


def generated() -> list[Problem]:
    """Return texts of the size in the paper, 450 words per statement, 1 100 per analysis, with Pareto frequencies."""
    chance = random.Random(PROBLEMS)

    def text(words: int) -> str:
        return " ".join(f"w{int(chance.paretovariate(0.6))}" for _ in range(words))

    return [(text(450), text(1100)) for _ in range(PROBLEMS)]


def resident() -> float:
    """Return the resident memory of this process in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
