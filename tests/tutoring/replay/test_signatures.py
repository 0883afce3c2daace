"""Failure signatures, their comparison, and uptake."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from benchmarks.signatures import FOLDER, measure, mutants
from tutoring.replay.signatures import Signature, Thresholds, compare, signature_of_result, uptake

SITE = Thresholds(0.8, 0.8, 0.5)


def result(
    tests: dict[str, tuple[str, str]], verdict: str = "WA", total: int | None = None
) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "total": len(tests) if total is None else total,
        "tests": [
            {
                "name": name,
                "verdict": verdict_of_test,
                "output": output,
                "errors": output if verdict_of_test == "RTE" else "",
                "sample": name.startswith("sample"),
            }
            for name, (verdict_of_test, output) in tests.items()
        ],
    }


def signature(failed: dict[str, str], passed: int = 0) -> Signature:
    tests = {name: ("WA", output) for name, output in failed.items()}
    tests |= {f"passed{number}": ("AC", "right") for number in range(passed)}
    found = signature_of_result(result(tests))
    assert found is not None
    return found


def test_programs_with_equal_failures_are_the_same():
    one = signature({"1": "a", "2": "b", "3": "c"})
    found = compare(one, signature({"1": "a\n", "2": "b", "3": "c"}), SITE)
    assert (found.fit, found.overlap, found.agreement) == ("same", 1, 1)


def test_equal_tests_with_other_outputs_are_near():
    one, other = signature({"1": "a", "2": "b", "3": "c"}), signature({"1": "x", "2": "y", "3": "c"})
    found = compare(one, other, SITE)
    assert (found.fit, found.overlap) == ("near", 1)
    assert found.agreement == pytest.approx(1 / 3)


def test_other_tests_are_other():
    found = compare(signature({"1": "a"}, passed=3), signature({"2": "a"}, passed=3), SITE)
    assert (found.fit, found.overlap, found.agreement) == ("other", 0, 0)


def test_the_thresholds_decide():
    one, other = signature({"1": "a", "2": "b", "3": "c"}), signature({"1": "a", "2": "b", "4": "c"})
    assert compare(one, other, SITE).fit == "near", "two of four tests in common"
    assert compare(one, other, Thresholds(0.5, 0.8, 0.5)).fit == "same"
    assert compare(one, other, Thresholds(0.8, 0.8, 0.6)).fit == "other"


@pytest.mark.parametrize(
    "other",
    [
        None,
        signature({}, passed=5),
        signature({"1": "a", "sample": "b"}, passed=0),
    ],
    ids=["no program", "right", "too few hidden tests"],
)
def test_without_a_comparable_program_the_fit_is_unknown(other: Signature | None):
    assert compare(signature({"1": "a", "2": "b", "3": "c"}), other, SITE).fit == "unknown"


@pytest.mark.parametrize(
    "judged",
    [
        result({}, verdict="CE"),
        result({}, verdict="NO_CODE"),
        result({"1": ("WA", "a")}, total=5),
    ],
    ids=["compilation error", "no program", "stopped at a failure"],
)
def test_a_judgement_without_all_tests_has_no_signature(judged: dict[str, Any]):
    assert signature_of_result(judged) is None


def test_crashes_are_distinguished_by_their_error_not_by_its_place():
    def crash(error: str) -> Signature | None:
        return signature_of_result(result({str(n): ("RTE", f"line {n}\n{error}") for n in range(4)}))

    one, alike, other = crash("IndexError: list"), crash("IndexError: other text"), crash("KeyError: 3")
    assert compare(one, alike, SITE).fit == "near", "the outputs differ as well"
    empty = [
        {**test, "output": "", "errors": "Traceback\nIndexError: x"}
        for test in result({str(n): ("RTE", "") for n in range(4)})["tests"]
    ]
    first = signature_of_result({"verdict": "RTE", "total": 4, "tests": empty})
    second = signature_of_result(
        {"verdict": "RTE", "total": 4, "tests": [{**test, "errors": "KeyError: 1"} for test in empty]}
    )
    assert compare(first, first, SITE).fit == "same"
    assert compare(first, second, SITE).fit == "near"
    assert compare(one, other, SITE).fit == "near"


def test_uptake_by_the_tests_that_changed():
    before = signature({"1": "a", "2": "b"}, passed=2)
    assert uptake(before, before, unchanged=True) == "unchanged"
    assert (
        uptake(before, signature({"1": "z", "2": "b"}, passed=2), unchanged=False)
        == "changed, tests the same"
    )
    assert uptake(before, signature({"1": "a"}, passed=3), unchanged=False) == "better"
    assert uptake(before, signature({"1": "a", "2": "b", "3": "c"}), unchanged=False) == "worse"
    assert uptake(before, signature({"1": "a", "3": "c"}), unchanged=False) == "mixed"
    assert uptake(before, signature({}, passed=4), unchanged=False) == "solved"
    assert uptake(before, None, unchanged=False) == "unknown"


@pytest.mark.slow
def test_a_mutant_and_its_rewritten_form_differ_in_text():
    source = (FOLDER / "seed-bank" / "submissions" / "accepted" / "marks.py").read_text()
    found = list(mutants(source))
    assert len(found) > 10
    assert len({one.place for one in found}) == len(found)
    for one in found:
        ast.parse(one.plain)
        ast.parse(one.rewritten)
        assert one.plain not in (one.rewritten, ast.unparse(ast.parse(source)))


def test_equal_bugs_have_equal_signatures_and_different_bugs_have_not(sandbox: object):
    same, other = measure(FOLDER / "last-rolls", number=4, jobs=2)
    assert same == {"same": 4}
    assert other["same"] <= 1
