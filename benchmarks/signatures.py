"""Failure signatures of mutants of the practice programs: the same bug beside other bugs.

    python -m benchmarks.signatures
    python -m benchmarks.signatures --part kept-aside --mutants 12

A bug is a small change at one place of an accepted Python program. The same bug is this change in a rewritten program:
other names, reversed comparisons, other forms of assignments. Packages that were kept aside while the signature was
written are reported separately.

Targets: of pairs with the same bug at least 90 % have the same signature, of pairs with different bugs at most 5 %.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from judge.packages.package import Package
    from tutoring.replay.signatures import Signature

FOLDER = Path("benchmark/practice_problems")
PARTS = {
    "development": ("choir-photograph", "last-rolls", "seed-bank", "tram-depot"),
    "kept-aside": ("ferry-timetable", "hut-to-hut", "returns-trolley", "watering-round"),
}
LEAST_SAME, MOST_OTHER = 0.90, 0.05
SEED = 307

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
_FUNCTIONS = {"min": "max", "max": "min", "bisect_left": "bisect_right", "bisect_right": "bisect_left"}


@dataclass(frozen=True)
class Mutant:
    """A wrong program: the place of its bug, and the program as it is and rewritten."""

    place: str
    plain: str
    rewritten: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield a mutant for each change at each place of the program."""
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        for change in range(_changes(node)):
            changed = deepcopy(tree)
            target = list(ast.walk(changed))[number]
            _mutate(target, change)
            place = f"line {getattr(node, 'lineno', 0)}, node {number}, change {change}"
            yield Mutant(place, ast.unparse(changed), rewritten(changed))


def _changes(node: ast.AST) -> int:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            return 1
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in _OPERATORS:
            return 1
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return 2
        case ast.Name(id=name) if name in _FUNCTIONS:
            return 1
        case ast.BoolOp():
            return 1
    return 0


def _mutate(node: ast.AST, change: int) -> None:
    match node:
        case ast.Compare():
            node.ops = [_COMPARISONS[type(node.ops[0])]()]
        case ast.BinOp() | ast.AugAssign():
            node.op = _OPERATORS[type(node.op)]()
        case ast.Constant(value=int() as value):
            node.value = value + (1, -1)[change]
        case ast.Name():
            node.id = _FUNCTIONS[node.id]
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def rewritten(tree: ast.Module) -> str:
    """Return an equal program in another form."""
    tree = deepcopy(tree)
    assigned = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    return ast.unparse(ast.fix_missing_locations(_Rewriter((assigned | parameters) - keywords).visit(tree)))


class _Rewriter(ast.NodeTransformer):
    """A rewriter that renames variables, reverses comparisons, and writes `x += y` as `x = x + y` for plain names."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.names:
            node.id = f"{node.id}_of_mine"
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        if node.arg in self.names:
            node.arg = f"{node.arg}_of_mine"
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            return ast.Compare(node.comparators[0], [_TURNED[type(node.ops[0])]()], [node.left])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and not isinstance(node.value, ast.List):
            value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
            return ast.Assign([node.target], value)
        return node


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--mutants", type=int, default=20, help="mutants a program (default 20)")
    parser.add_argument("--jobs", type=int, default=2, help="programs judged at once (default 2)")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    missed = False
    for part in arguments.part:
        same, other = Counter[str](), Counter[str]()
        for name in PARTS[part]:
            of_same, of_other = measure(FOLDER / name, arguments.mutants, arguments.jobs)
            print(
                f"{part:<12} {name:<18} same bug: {_text(of_same):<44} other bugs: {_text(of_other)}",
                flush=True,
            )
            same, other = same + of_same, other + of_other
        shares = same["same"] / same.total(), other["same"] / other.total()
        holds = shares[0] >= LEAST_SAME and shares[1] <= MOST_OTHER
        missed = missed or not holds
        print(
            f"{part:<12} {'all':<18} same bug {shares[0]:.1%} (≥ {LEAST_SAME:.0%}), other bugs {shares[1]:.1%} "
            f"(≤ {MOST_OTHER:.0%}){'' if holds else '  MISSED'}",
            flush=True,
        )
    return 1 if missed else 0


def measure(package: Path, number: int, jobs: int) -> tuple[Counter[str], Counter[str]]:
    """Return how many pairs with the same bug, and with different ones, have each kind of comparison."""
    from tutoring.replay.signatures import Thresholds, compare

    pairs = list(signatures(package, number, jobs).values())
    thresholds = Thresholds.of_site()
    same = Counter(compare(plain, rewritten, thresholds).fit for plain, rewritten in pairs)
    other = Counter(compare(one, other, thresholds).fit for (one, _), (_, other) in combinations(pairs, 2))
    return Counter(map(str, same.elements())), Counter(map(str, other.elements()))


def signatures(package: Path, number: int, jobs: int) -> dict[str, tuple[Signature | None, Signature | None]]:
    """Return the signatures of the first `number` wrong mutants, in a seeded order, by place: plain and rewritten."""
    from judge.packages import read_package

    loaded = read_package(package)
    source = next((package / "submissions" / "accepted").glob("*.py")).read_text(encoding="utf-8")
    drawn = list(mutants(source))
    random.Random(SEED).shuffle(drawn)
    found: dict[str, tuple[Signature | None, Signature | None]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for start in range(0, len(drawn), 2 * jobs):
            batch = drawn[start : start + 2 * jobs]
            programs = [text for mutant in batch for text in (mutant.plain, mutant.rewritten)]
            judged = list(pool.map(lambda text: _signature(loaded, text), programs))
            for mutant, pair in zip(batch, zip(judged[::2], judged[1::2], strict=True), strict=True):
                if any(one is None or one.failed for one in pair) and len(found) < number:
                    found[mutant.place] = pair
            if len(found) >= number:
                break
    return found


def _signature(package: Package, source: str) -> Signature | None:
    import judge
    from tutoring.replay.signatures import signature_of_result

    limits = package.limits or package.limits_with(2.0)
    problem = judge.Problem(list(package.tests), limits, package.checker)
    options = judge.GradingOptions(stop_at_first_failure=False)
    return signature_of_result(judge.grade(judge.Submission(source, "python"), problem, options).to_json())


def _text(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
