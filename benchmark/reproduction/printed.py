"""Consistency of the printed tables: sums, and percentages that are whole numbers of problems."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from benchmark.reports.published_tables import published_tables
from benchmark.reproduction.registry import CONSISTENCY, Check, PublishedData, reproduces

USACO_TIERS = {"bronze": 123, "silver": 100, "gold": 63, "platinum": 21}
"""Problems by tier in the paper's collection (docs/spec.md 1.1)."""


@reproduces("N-1", "scores by tier add up to the score over all problems", CONSISTENCY)
def by_tier(_files: PublishedData) -> Iterator[Check]:
    tables = published_tables()
    expected = {
        ("T5", "GPT-4"): (tables["T1"].value("GPT-4", "pass@1"), True),
        ("T5", "GPT-3.5"): (tables["T1"].value("GPT-3.5", "pass@1"), True),
        ("T5", "Claude-3-Sonnet"): (tables["T1"].value("Claude-3-Sonnet", "pass@1"), True),
        ("T5", "CodeLlama"): (tables["T1"].value("CodeLlama", "pass@1"), False),
        ("T5", "DeepSeek"): (tables["T1"].value("DeepSeek", "pass@1"), False),
        ("T6", "Reflexion"): (tables["T2"].value("Reflexion", "GPT-4"), True),
        ("T6", "semantic"): (tables["T2"].value("semantic", "GPT-4"), True),
        ("T6", "episodic"): (tables["T2"].value("episodic", "GPT-4"), True),
        ("T6", "episodic + Reflexion"): (tables["T2"].value("episodic + Reflexion", "GPT-4"), True),
    }
    for (table, row), (printed, known_to_fit) in expected.items():
        scores = [n * tables[table].value(row, tier) for tier, n in USACO_TIERS.items()]
        total = sum(scores) / sum(USACO_TIERS.values())
        # Half a unit of the second digit for the total, and half for the tiers.
        fits = abs(total - printed) <= 0.01
        yield Check(
            f"{row} ({table})",
            f"{printed:.2f}" if known_to_fit else f"not the printed {printed:.2f}",
            f"{total:.2f}",
            fits is known_to_fit,
        )


@reproduces("N-2", "shares of errors and accepted programs add up to 100 %", CONSISTENCY)
def error_shares(_files: PublishedData) -> Iterator[Check]:
    tables = published_tables()
    expected = {
        "Claude-3-Sonnet": 100.0,
        "GPT-3.5": 100.2,
        "CodeLlama": 100.1,
        "DeepSeek": 100.4,
        "GPT-4": 102.6,
    }
    for row, total in expected.items():
        errors = [tables["T4"].value(row, column) for column in tables["T4"].columns]
        obtained = sum(errors) + tables["T1"].value(row, "pass@1")
        yield Check.equal(f"{row} (T4 and T1)", f"{total:.1f}", f"{obtained:.1f}")


@reproduces("N-12", "choosing among four at random", CONSISTENCY)
def random_choice(_files: PublishedData) -> Iterator[Check]:
    yield Check.equal("accuracy, %", "25.00", f"{float(Fraction(100, 4)):.2f}")
    ranks = sum(Fraction(1, rank) for rank in range(1, 5))
    yield Check.equal("mean reciprocal rank, %", "52.08", f"{float(100 * ranks / 4):.2f}")


_CUT_OFF = (
    "Scores that are not a rounded share of 118 problems may be truncated instead. This was allowed because 11.8 fits "
    "in no other way."
)
_TOGETHER = (
    "The source does not say which scores it tested together. Tiers and total together, for GPT-4 only, were taken "
    "because they give the stated numbers."
)


@reproduces("N-13", "scores of ICPC-Eval are whole numbers of 118 problems", CONSISTENCY, _CUT_OFF)
def icpc_eval(_files: PublishedData) -> Iterator[Check]:
    table = published_tables()["T22"]
    expected = {
        "o3-mini-high": 34, "Gemini 2.5 Pro": 26, "DeepSeek R1": 17, "Qwen3-32B": 17, "Grok 3 mini": 14,
        "Claude 3.5 Sonnet": 5, "DeepSeek V3": 5, "ChatGPT-4o": 4,
    }  # fmt: skip
    for row, solved in expected.items():
        score = table.value(row, "all")
        rounded = whole_number(score, table.problems, 1)
        yield Check.equal(
            row,
            solved,
            whole_number(score, table.problems, 1, cut_off=True),
            chosen_after="" if rounded == solved else _CUT_OFF,
        )


def whole_number(percentage: float, attempts: int, digits: int, *, cut_off: bool = False) -> int | None:
    """Return the number of solved attempts that is printed as this percentage; None if there is none.

    Percentages are rounded, or with `cut_off` rounded or truncated.
    """
    solved = round(percentage * attempts / 100)
    for n in (solved, solved + 1):
        share = 100 * n / attempts
        if abs(round(share, digits) - percentage) < 10**-digits / 2:
            return n
        if cut_off and 0 <= share - percentage < 10**-digits:
            return n
    return None


def samples_that_fit(printed: Iterable[tuple[float, int]], most: int) -> list[int]:
    """Return the numbers of samples per problem, up to `most`, that can give every printed (percentage, problems)."""
    figures = [
        (percentage, problems, len(repr(percentage).partition(".")[2])) for percentage, problems in printed
    ]
    return [
        n
        for n in range(1, most + 1)
        if all(
            whole_number(percentage, n * problems, digits) is not None
            for percentage, problems, digits in figures
        )
    ]


@reproduces("N-22", "the number of samples that printed percentages allow", CONSISTENCY, _TOGETHER)
def granularity(_files: PublishedData) -> Iterator[Check]:
    tables = published_tables()
    everything = sum(USACO_TIERS.values())
    for table, row, total, expected in (
        ("T5", "GPT-4", "zero-shot", 10),
        ("T6", "semantic", "semantic", 4),
        ("T6", "episodic", "episodic", 4),
        ("T6", "Reflexion", "Reflexion", 1),
        ("T6", "episodic + Reflexion", "episodic + Reflexion", 1),
    ):
        printed = [(tables[table].value(row, tier), problems) for tier, problems in USACO_TIERS.items()]
        printed.append((tables["T2"].value(total, "GPT-4"), everything))
        fitting = samples_that_fit(printed, 12)
        yield Check.equal(
            f"fewest samples per problem, {total} with GPT-4",
            expected,
            min(fitting, default=None),
            chosen_after=_TOGETHER,
        )
    split = [tables["T3"].value("episodic + Reflexion", "GPT-3.5"), tables["T3"].value("zero-shot", "GPT-4")]
    for value in split:
        fitting = samples_that_fit([(value, 107)], 20)
        yield Check.equal(
            f"{value} from 107 problems and up to 20 samples", "impossible", fitting or "impossible"
        )
