"""manage.py reproduce: what is published comes out again, and what is missing or differs is said."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark import reproduction
from benchmark.reproduction import Check, Files, Reproduction
from benchmark.reproduction.printed import samples_that_fit, whole_number


def reproduce(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    call_command("reproduce", *arguments, "--json")
    return {result["name"]: result for result in json.loads(capsys.readouterr().out)["results"]}


def test_what_is_published_comes_out_again(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a database: no test here may touch one. Others take long or need data that is not here."""
    names = ["N-1", "N-2", "N-3", "N-5", "N-12", "N-13", "N-21", "N-22"]
    results = reproduce(capsys, *names, "--data", str(shared_data))
    assert list(results) == names
    assert not [one for result in results.values() for one in result["checks"] if not one["agrees"]]
    assert all(result["agrees"] for result in results.values())
    figure_9 = {one["figure"]: one for one in results["N-5"]["checks"]}
    assert figure_9["first problem as printed"]["obtained"] == "28"


def test_what_needs_no_data_works_without_and_the_rest_says_what_to_fetch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert reproduce(capsys, "N-1", "N-2", "N-13")["N-1"]["agrees"]
    with pytest.raises(CommandError, match=r"^Without their data: N-3, N-21\.$"):
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
    def checks(files: Files) -> list[Check]:
        return [Check.equal("answer", 42, 41)]

    monkeypatch.setitem(reproduction.REPRODUCTIONS, "N-1", Reproduction("N-1", "changed", checks))
    with pytest.raises(CommandError, match=r"Not as published: N-1\."):
        call_command("reproduce", "N-1", "N-2")
    [line] = [line for line in capsys.readouterr().out.splitlines() if "answer" in line]
    assert line.split() == ["answer", "42", "41", "DIFFERS"]


def test_unknown_names_and_folders_are_refused() -> None:
    with pytest.raises(CommandError, match=r"There is no N-99\. There are: N-1, "):
        call_command("reproduce", "N-99")
    with pytest.raises(CommandError, match="is no folder"):
        call_command("reproduce", "--data", "/nowhere")


def test_percentages_are_read_as_whole_numbers_where_they_can_be() -> None:
    assert whole_number(28.8, 118, 1) == 34
    assert whole_number(11.8, 118, 1) is None
    assert whole_number(11.8, 118, 1, cut_off=True) == 14
    assert whole_number(8.87, 107, 2) is None
    assert samples_that_fit([(12.38, 307)], 12)[0] == 1
