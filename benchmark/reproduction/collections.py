"""Facts about the published collections of problems."""

from collections import Counter
from collections.abc import Iterator

from benchmark.datasets.usaco import contest_of
from benchmark.reproduction.registry import RECOMPUTED, Check, PublishedData, reproduces


@reproduces("N-3", "the 484 problems of the USACO dictionary", RECOMPUTED)
def usaco(files: PublishedData) -> Iterator[Check]:
    problems = list(files.json("usaco/usaco_dict.json").values())
    levels = Counter(problem["problem_level"] for problem in problems)
    tests = [problem["num_tests"] for problem in problems]
    times = Counter(problem["runtime_limit"] for problem in problems)
    memory = Counter(problem["memory_limit"] for problem in problems)
    samples = Counter(problem["description"].count("SAMPLE INPUT") for problem in problems)
    tiers = ("bronze", "silver", "gold", "platinum")
    yield Check.equal("problems", 484, len(problems))
    yield Check.equal("bronze, silver, gold, platinum", [139, 135, 133, 77], [levels[tier] for tier in tiers])
    yield Check.equal("tests: fewest, most, all", [9, 26, 6259], [min(tests), max(tests), sum(tests)])
    yield Check.equal("time limits of 2 s", 456, times[2])
    yield Check.equal("memory limits of 256 and 512 MB", [470, 14], [memory[256], memory[512]])
    yield Check.equal("with 1, 2, 3 and 4 samples", [431, 42, 10, 1], [samples[n] for n in (1, 2, 3, 4)])


@reproduces("N-21", "the 36 problems after the models' cutoff", RECOMPUTED)
def after_cutoff(files: PublishedData) -> Iterator[Check]:
    problems = list(files.json("usaco/postcutoff_problems_dict.json").values())
    contests = Counter(contest_of(problem["contest_link"])[1] for problem in problems)
    levels = Counter(problem["problem_level"] for problem in problems)
    yield Check.equal("problems", 36, len(problems))
    yield Check.equal(
        "contests by date",
        {"2023-12-01": 12, "2024-01-01": 12, "2024-02-01": 12},
        {str(day): contests[day] for day in sorted(contests, key=str)},
    )
    yield Check.equal(
        "problems a level", [9, 9, 9, 9], [levels[t] for t in ("bronze", "silver", "gold", "platinum")]
    )
