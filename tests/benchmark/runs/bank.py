"""A database with four small problems whose secrets are canaries.

Each problem asks for a number and for the second line of the input again. One program solves the sums and not the
products. A second dataset has a problem without any test.
"""

import hashlib
from pathlib import Path

from benchmark.models import Article, Corpus, Dataset, Problem, ReferenceSolution, TestCase, blobs
from judge import Checker
from tests.benchmark.runs.processes import use_var

PROGRAM = "a, b = map(int, input().split())\nprint(a + b)\nprint(input())"
REPLY = f"Add the two numbers and repeat the line.\n\n```python\n{PROGRAM}\n```\n"
PROBLEMS = {"apple_sum": "bronze", "berry_product": "silver", "cherry_sum": "bronze", "date_product": "gold"}
SOLVED = {"apple_sum", "cherry_sum"}


def canaries(external_id: str) -> list[str]:
    """Return words of the problem that must never be in a prompt about it."""
    return [f"canary-{place}-{external_id}" for place in ("input", "answer", "analysis", "reference")]


def write_textbook() -> None:
    """Store the textbook `hintbench`: one article of two fits a sum, and it is longer than 20 characters."""
    corpus = Corpus.objects.create(name="hintbench", format="markdown", content_hash="0" * 64)
    for order, (title, text) in enumerate(
        [("Sums", "Problem of a sum: Print the result for the numbers."), ("Flows", "Pipes and pumps.")]
    ):
        Article.objects.create(corpus=corpus, external_id=title.lower(), order=order, title=title, text=text)


def fill() -> None:
    def add_problem(dataset: Dataset, external_id: str, tier: str) -> Problem:
        return Problem.objects.create(
            dataset=dataset,
            external_id=external_id,
            title=external_id.replace("_", " "),
            tier=tier,
            statement=f"Problem {external_id}. Print the result for {{a}} and {{b}}, then the second line again.",
            statement_format="usaco",
            analysis=f"Follow the statement: canary-analysis-{external_id}.",
            analysis_format="usaco",
            time_limit=2,
            memory_limit=256 * 2**20,
            checker=Checker().to_json(),
            content_hash=hashlib.sha256(external_id.encode()).hexdigest(),
        )

    orchard = Dataset.objects.create(name="orchard", format="usaco")
    for external_id, tier in PROBLEMS.items():
        problem = add_problem(orchard, external_id, tier)
        program = PROGRAM if external_id in SOLVED else PROGRAM.replace("a + b", "a * b")
        ReferenceSolution.objects.create(
            problem=problem,
            language="python",
            name="main.py",
            source=f"# canary-reference-{external_id}\n{program}",
        )
        for order, (word, origin) in enumerate(
            [
                ("hello", TestCase.Origin.SAMPLE),
                (f"canary-input-{external_id} canary-answer-{external_id}", "hidden"),
            ]
        ):
            result = 3 + 4 if external_id in SOLVED else 3 * 4
            TestCase.objects.create(
                problem=problem,
                order=order,
                name=str(order + 1),
                origin=origin,
                input_hash=blobs.put(f"3 4\n{word}\n".encode()),
                answer_hash=blobs.put(f"{result}\n{word}\n".encode()),
            )
    write_textbook()
    add_problem(Dataset.objects.create(name="untested", format="usaco"), "elder_sum", "bronze")


def make_bank(var: Path, database: str = "") -> None:
    """Store the problems in a new `var` or in a database with tables, in a separate process."""
    use_var(var, database)
    fill()


def add_bank(var: Path) -> None:
    """Store the problems in a prepared `var`, whose textbook they replace, in a separate process."""
    use_var(var)
    Corpus.objects.all().delete()
    fill()
