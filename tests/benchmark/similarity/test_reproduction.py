"""`manage.py reproduce` on AlgoSimBench: missing data, comparison with published figures, and our own problems."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from benchmark.reports.published_tables import published_tables
from benchmark.similarity.building import Builder
from tests.benchmark.similarity.tagged import TAGGED


def reproduced(*names: str, **options: Any) -> str:
    output = StringIO()
    with pytest.raises(CommandError):
        call_command("reproduce", *names, stdout=output, **options)
    return output.getvalue()


@pytest.mark.slow
def test_figures_of_algosimbench_are_compared_or_their_data_named(tmp_path: Path) -> None:
    told = reproduced("N-11", "N-18")
    assert "needs algosimbench/all_problems_corpus_raw.json in the folder given as --data" in told
    assert told.count("agrees") >= 4
    problems = yaml.safe_load(TAGGED.read_text())
    questions, _ = Builder().questions(
        {one["id"]: one["statement"] for one in problems}, {one["id"]: one["tags"] for one in problems}
    )
    folder = tmp_path / "algosimbench"
    folder.mkdir()
    (folder / "all_problems_corpus_raw.json").write_text(json.dumps(problems))
    named = [
        {
            "reference": {"prob_id": one.reference},
            "positive": {"prob_id": one.positive},
            "negative": [{"prob_id": name} for name in one.negatives],
        }
        for one in questions
    ]
    (folder / "MCQ_test.json").write_text(json.dumps(named))
    told = reproduced("N-11", data=tmp_path)
    assert "12.7 ± 0.5" in told
    assert "(usaco_split, statistics over the corpus)" in told
    assert "DIFFERS" in told


def test_means_printed_in_the_tables_are_marked_where_they_do_not_fit() -> None:
    for name, digits in (("T18", 1), ("T19", 1), ("T21", 0)):
        table = published_tables()[name]
        rows = [row for row in table.rows if not row.name.startswith("mean")]
        assert len(rows) == 7
        for place, column in enumerate(table.columns):
            mean = sum(float(row.values[place]) for row in rows) / 7
            fits = abs(mean - table.value("mean", column)) <= 0.5 * 10**-digits + 0.011
            assert fits is not bool(table.marks_at("mean", column)), (name, column, mean)
