"""Rankings by examples, by written tests and by suite size, from the stored outcomes of candidates."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.models import Dataset, Problem, Submission, Verification
from benchmark.oracles.candidates import NamedCandidate, VerifiedCandidate, judged_groups, rankings
from benchmark.oracles.ranking import n_at_k
from benchmark.oracles.suite_sizes import by_suite_size, write_csv


def group(pk: int, rows: list[tuple[str, str, str, bool | None]]) -> list[VerifiedCandidate]:
    """Return unsaved candidates of one problem with their outcomes and verdicts."""
    problem = Problem(pk=pk, external_id=f"p{pk}", dataset=Dataset(name="d"))
    return [
        VerifiedCandidate(
            NamedCandidate(problem, f"c{number}", Submission(), accepted),
            Verification(
                outcomes={"samples": samples, "tests": tests, "written": written},
                passed=(samples + tests).count("1"),
                output_hash=str(number),
            ),
        )
        for number, (samples, tests, written, accepted) in enumerate(rows)
    ]


RIGHT, LUCKY, WRONG = ("11", "1111", "10", True), ("11", "1000", "11", False), ("01", "0001", "00", False)


def test_table_4_ranks_by_examples_by_written_tests_and_by_the_verifier() -> None:
    groups = [group(1, [LUCKY, RIGHT, WRONG])]
    found = rankings(groups, 1)
    assert found == {
        "verifier": 1.0,
        "samples": 0.5,  # two pass both examples
        "written": 0.0,  # one of the written tests is wrong, and the right program fails it
        "majority": pytest.approx(1 / 3),
        "random": pytest.approx(1 / 3),
    }
    without = [group(1, [(*RIGHT[:2], "", True), (*WRONG[:2], "", False)])]
    assert rankings(without, 1)["written"] is None
    assert rankings(without, 3) == dict.fromkeys(found)
    assert rankings([], 1) == dict.fromkeys(found)
    unknown = group(2, [(*RIGHT[:3], None)])
    assert judged_groups([*groups[0], *unknown]) == groups


def test_more_tests_rank_better_and_a_curve_can_be_had_again(tmp_path: Path) -> None:
    groups = [
        group(1, [LUCKY, RIGHT, WRONG]),
        group(2, [(*RIGHT[:1], "1", *RIGHT[2:]), (*WRONG[:1], "0", "", False)]),
    ]
    curve = by_suite_size(groups, [1, 2], (0, 1, 2, 50))
    assert [(one.tests, one.largest) for one in curve] == [(0, False), (1, False), (2, False), (4, True)]
    assert curve[0].at == {1: rankings(groups, 1)["samples"], 2: rankings(groups, 2)["samples"]}
    assert curve[-1].at == {1: rankings(groups, 1)["verifier"], 2: rankings(groups, 2)["verifier"]}
    values = [one.at[1] or 0 for one in curve]
    assert values == sorted(values)
    assert values[0] < values[1] < values[-1]
    assert by_suite_size(groups, [1, 2], (0, 1, 2, 50)) == curve
    write_csv(curve, tmp_path / "sizes.csv")
    with (tmp_path / "sizes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert (rows[-1]["tests"], rows[-1]["n"], float(rows[-1]["n_at_k"])) == ("4", "2", 1.0)


def test_a_row_of_an_older_version_has_no_curve() -> None:
    old = group(1, [RIGHT, WRONG])
    old[0].verification.outcomes = None
    assert by_suite_size([old], [1]) == []
    assert by_suite_size([], [1]) == []
    assert rankings([old], 1)["samples"] is None


ROWS = st.lists(st.tuples(st.text("01", min_size=3, max_size=3), st.booleans()), min_size=1, max_size=4)


@pytest.mark.slow
@given(ROWS)
def test_one_of_three_tests_is_the_mean_over_the_tests(rows) -> None:
    one = [group(7, [("1", tests, "", accepted) for tests, accepted in rows])]
    expected = sum(
        n_at_k([(tests[place] == "1", accepted) for tests, accepted in rows], 1) for place in range(3)
    )
    found = by_suite_size(one, [1], (1,))[0].at[1]
    assert found == pytest.approx(expected / 3, abs=0.25)  # 50 draws of three tests
