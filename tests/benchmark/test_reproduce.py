"""manage.py reproduce: reproduced figures, missing data and differences."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark import reproduction
from benchmark.reproduction import CONSISTENCY, RECOMPUTED, REPRODUCTIONS, Check, PublishedData, Reproduction
from benchmark.reproduction.printed import samples_that_fit, whole_number


def reproduce(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    call_command("reproduce", *arguments, "--json")
    return {result["name"]: result for result in json.loads(capsys.readouterr().out)["results"]}


def test_published_figures_are_reproduced(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures that need little time. Without the fixture of a database, this shows that none is read."""
    names = ["N-1", "N-2", "N-3", "N-5", "N-12", "N-13", "N-21", "N-22"]
    results = reproduce(capsys, *names, "--data", str(shared_data))
    assert list(results) == names
    assert not [one for result in results.values() for one in result["checks"] if not one["agrees"]]
    assert all(result["agrees"] for result in results.values())
    figure_9 = {one["figure"]: one for one in results["N-5"]["checks"]}
    assert figure_9["first problem as printed"]["obtained"] == "28"


def test_what_data_gives_is_told_from_what_printed_numbers_say_about_each_other(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = {name: one.kind for name, one in REPRODUCTIONS.items()}
    printed = {name for name, kind in kinds.items() if kind == CONSISTENCY}
    assert printed == {"N-1", "N-2", "N-12", "N-13", "N-22"}, "no data behind these"
    results = reproduce(capsys, "N-13", "N-3", "--data", str(shared_data))
    assert list(results) == ["N-13", "N-3"]
    assert {name: result["kind"] for name, result in results.items()} == {
        "N-13": "consistency of printed numbers",
        "N-3": "recomputed from data",
    }
    call_command("reproduce", "N-13", "N-3", "--data", str(shared_data))
    text = capsys.readouterr().out
    order = ["== Recomputed from data ==", "N-3:", "== Consistency of printed numbers ==", "N-13:"]
    assert [text.index(heading) for heading in order] == sorted(text.index(heading) for heading in order)
    assert "Recomputed from data: 1 of 1 agree." in text
    assert (
        "Consistency of printed numbers: 1 of 1 agree. With a choice made after seeing the result: N-13."
        in text
    )


def test_choices_made_after_the_result_was_seen_are_marked_where_they_are(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = reproduce(capsys, "N-1", "N-13", "N-22", "--data", str(shared_data))
    assert results["N-1"]["chosen_after"] == []
    marked = {one["figure"]: one["chosen_after"] for one in results["N-13"]["checks"] if one["chosen_after"]}
    assert list(marked) == ["Grok 3 mini"]
    assert "because 11.8 fits in no other way" in marked["Grok 3 mini"]
    assert results["N-13"]["chosen_after"] == [*marked.values()]
    fewest = [one for one in results["N-22"]["checks"] if one["chosen_after"]]
    assert len(fewest) == 5
    call_command("reproduce", "N-13")
    text = capsys.readouterr().out
    assert "agrees [1]" in text
    assert "[1] Chosen after the result was seen: Scores that are" in text


def test_choices_are_named_for_figures_whose_data_is_missing_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert {name for name, one in REPRODUCTIONS.items() if one.chosen_after} == {
        "N-6",
        "N-11",
        "N-13",
        "N-22",
    }
    with pytest.raises(CommandError, match=r"^Data missing: N-11\.$"):
        call_command("reproduce", "N-11")
    text = capsys.readouterr().out
    assert "[1] Chosen after the result was seen: The source does not name its" in text
    assert "0 of 0 agree, data missing for 1. With a choice made after seeing the result: N-11." in text


def test_what_needs_no_data_works_without_and_the_rest_says_what_to_fetch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert reproduce(capsys, "N-1", "N-2", "N-13")["N-1"]["agrees"]
    with pytest.raises(CommandError, match=r"^Data missing: N-3, N-21\.$"):
        call_command("reproduce", "N-1", "N-3", "N-21")
    said = capsys.readouterr().out
    assert "needs usaco/usaco_dict.json in the folder given as --data: the 484 problems" in said
    assert "CodeLlama (T5)" in said
    (tmp_path / "usaco").mkdir()
    (tmp_path / "usaco" / "usaco_dict.json").write_text('{"cut off')
    with pytest.raises(CommandError):
        call_command("reproduce", "N-3", "--data", str(tmp_path))
    assert "is not valid JSON" in capsys.readouterr().out


def test_a_figure_that_differs_ends_with_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def checks(files: PublishedData) -> list[Check]:
        return [Check.equal("answer", 42, 41)]

    monkeypatch.setitem(reproduction.REPRODUCTIONS, "N-1", Reproduction("N-1", "changed", RECOMPUTED, checks))
    with pytest.raises(CommandError, match=r"Not as published: N-1\."):
        call_command("reproduce", "N-1", "N-2")
    [line] = [line for line in capsys.readouterr().out.splitlines() if "answer" in line]
    assert line.split() == ["answer", "42", "41", "DIFFERS"]


def test_unknown_names_and_folders_are_refused() -> None:
    with pytest.raises(CommandError, match=r"There is no N-99\. There are: N-1, "):
        call_command("reproduce", "N-99")
    with pytest.raises(CommandError, match="is not a folder"):
        call_command("reproduce", "--data", "/nowhere")


def test_percentages_are_read_as_whole_numbers_where_they_can_be() -> None:
    assert whole_number(28.8, 118, 1) == 34
    assert whole_number(11.8, 118, 1) is None
    assert whole_number(11.8, 118, 1, cut_off=True) == 14
    assert whole_number(8.87, 107, 2) is None
    assert samples_that_fit([(12.38, 307)], 12)[0] == 1
