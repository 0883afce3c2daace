"""Extraction of samples from USACO statements, without their explanations."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.rendering.usaco_samples import find_samples


def pairs(statement: str) -> list[tuple[str, str]]:
    return [(sample.input, sample.output) for sample in find_samples(statement)]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SAMPLE INPUT:\n3 6\nSAMPLE OUTPUT: \n9\n\n\nProblem credits: B\n", [("3 6\n", "9\n")]),
        ("SAMPLE INPUT:5 7\n1 2\nSAMPLE OUTPUT: 14\n\nBecause.\n", [("5 7\n1 2\n", "14\n")]),
        ("SAMPLE INPUT:\r\n1\r\nSAMPLE OUTPUT: \r\n2\r\n\r\nIt is 2.\r\n", [("1\n", "2\n")]),
        ("SAMPLE INPUT:\n\n2\n\n1 1\n\n2 2\nSAMPLE OUTPUT:\n\n1\n2\n", [("2\n\n1 1\n\n2 2\n", "1\n2\n")]),
        ("SAMPLE INPUT:\n8\n\nINPUT DETAILS:\n\nHay.\n\nOUTPUT FORMAT:\n1\n\nSAMPLE OUTPUT:\n\n1\n", [("8\n", "1\n")]),
        ("SAMPLE INPUT:\n1\nSAMPLE OUTPUT:\n2\nHere, cows $1$ and $2$ can pair up well.\n", [("1\n", "2\n")]),
        ("SAMPLE INPUT:\n1\nSAMPLE OUTPUT:\nhello my\nname is\nBessie\n", [("1\n", "hello my\nname is\nBessie\n")]),
        ("SAMPLE INPUT:1\nSAMPLE OUTPUT:2\nNOTE:\nSAMPLE INPUT:3\nSAMPLE OUTPUT:4", [("1\n", "2\n"), ("3\n", "4\n")]),
        ("SAMPLE OUTPUT:\n4\nSAMPLE INPUT:\n3\n", []),
        ("no samples here", []),
    ],
)  # fmt: skip
def test_samples_are_found(statement: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(statement) == expected


def test_an_output_cut_before_prose_without_a_blank_line_is_marked_doubtful() -> None:
    [sample] = find_samples("SAMPLE INPUT:\n1\nSAMPLE OUTPUT:\n2\nThe answer for this example is two.\n")
    assert sample.doubtful
    assert sample.explanation == "The answer for this example is two."


def test_explanations_below_the_output_and_under_their_heading_are_kept() -> None:
    [below] = find_samples("SAMPLE INPUT:\n1\nSAMPLE OUTPUT:\n2\n\nOne and one.\n\nProblem credits: B\n")
    [headed] = find_samples("SAMPLE INPUT:\n1\nSAMPLE OUTPUT:\n2\n\nOUTPUT DETAILS:\n\nOne and one.\n")
    assert below.explanation == headed.explanation == "One and one."


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(
            ["SAMPLE INPUT:", "SAMPLE OUTPUT: 3", "1 2", "", "\r", "The sum of it is two.", "$x$"]
        )
    )
)
def test_no_text_raises_and_every_sample_is_lines_of_the_text(lines: list[str]) -> None:
    find_samples("\n".join(lines))
    samples = find_samples("\n".join([*lines, "SAMPLE INPUT:", "1 2", "SAMPLE OUTPUT: 3"]))
    assert samples
    for sample in samples:
        assert sample.output_lines.start > sample.input_lines.start
        assert sample.input.endswith("\n")


def test_every_marker_of_the_real_statements_gives_a_sample(shared_data: Path) -> None:
    problems: dict[str, dict[str, str]] = {}
    for name in ("usaco_dict.json", "postcutoff_problems_dict.json"):
        problems |= json.loads((shared_data / "usaco" / name).read_text())
    doubtful = set()
    for key, problem in problems.items():
        samples = find_samples(problem["description"])
        assert len(samples) == problem["description"].count("SAMPLE INPUT"), key
        assert all(sample.input.strip() and sample.output.strip() for sample in samples), key
        assert not any("$" in sample.input + sample.output for sample in samples), key
        doubtful |= {key for sample in samples if sample.doubtful}
    assert pairs(problems["735_bronze_the_lost_cow"]["description"]) == [("3 6\n", "9\n")]
    assert doubtful == {
        "1161_gold_paired_up",
        "1089_gold_uddered_but_not_herd",
        "1019_gold_delegation",
        "974_platinum_tree_depth",
        "970_gold_milk_visits",
    }
