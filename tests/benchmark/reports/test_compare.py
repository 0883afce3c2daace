"""manage.py compare: differences, their size and significance, and warnings."""

import json
import re
from datetime import date
from math import sqrt
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.metrics import Interval, cluster_bootstrap, mcnemar, paired_proportions, visible_mean
from benchmark.models import Generation, Run
from benchmark.reports.comparison.text import point_interval, points
from benchmark.reports.formatting import percent
from tests.benchmark.reports.conftest import MakeRun


def compare(capsys: pytest.CaptureFixture[str], *runs: Run) -> dict[str, Any]:
    call_command("compare", *(str(run.pk) for run in runs), "--json")
    return dict(json.loads(capsys.readouterr().out))


def verdicts(text: str) -> list[tuple[str, list[str]]]:
    names = {"a": "AC", "w": "WA", "t": "TLE", "n": "NO_CODE", "-": ""}
    return [("bronze", [names[letter]]) for letter in text]


def test_differences_tests_transitions_and_what_is_unpaired(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run(verdicts("aawwwwwwww-"), method="zero-shot", state="finished")
    second = make_run(verdicts("awaaaaaat-a"), method="reflexion", on=first, state="finished")
    [pair] = compare(capsys, first, second)["pairs"]
    assert pair["problems"] == 9
    assert pair["unpaired"] == {"only in the first run": 1, "only in this run": 1}
    assert pair["difference"] == pytest.approx((7 - 2) / 9)
    assert (pair["only_first"], pair["only_this"]) == (["1"], ["2", "3", "4", "5", "6", "7"])
    assert pair["p"] == pair["holm"] == mcnemar(1, 6) == 0.125
    assert pair["transitions"] == {"AC": {"AC": 1, "WA": 1}, "WA": {"AC": 6, "TLE": 1}}
    assert pair["inside_noise"]
    assert pair["power_note"].startswith("Not significant: 9 problems are enough for a difference of ")
    call_command("compare", str(first.pk), str(second.pk))
    text = capsys.readouterr().out
    for said in ("+55.56 points", "not compared: 1 only in the base run, 1 only in this run", "p = 0.125"):
        assert said in text


def test_a_difference_beyond_the_noise_has_no_power_note(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run(verdicts("w" * 12), state="finished")
    second = make_run(verdicts("a" * 10 + "ww"), on=first, state="finished")
    third = make_run(verdicts("a" + "w" * 11), on=first, state="finished")
    comparison = compare(capsys, first, second, third)
    big, small = comparison["pairs"]
    assert big["holm"] == pytest.approx(2 * big["p"])
    assert (big["inside_noise"], big["power_note"]) == (False, "")
    assert (small["inside_noise"], small["holm"]) == (True, 1.0)
    shares = {(one["run"], one["other"]): one["share"] for one in comparison["overlaps"]}
    assert shares == {
        (str(second.pk), str(third.pk)): 0.1,
        (str(third.pk), str(second.pk)): 1.0,
    }


def test_parts_of_the_best_score_and_of_its_gain(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run(verdicts("aawwwwwwwww-"), state="finished")
    full = make_run(verdicts("aaaaaawwwwwa"), on=first, state="finished")
    less = make_run(verdicts("aaawwwwwwwww"), on=first, state="finished")
    parts = compare(capsys, first, full, less)["parts_of_best"]
    assert [(one["run"], one["of_score"], one["of_gain"]) for one in parts] == [
        (str(full.pk), 1.0, 1.0),
        (str(less.pk), pytest.approx(3 / 6), pytest.approx(1 / 4)),
    ]
    call_command("compare", str(first.pk), str(full.pk), str(less.pk))
    *_, best, other, _, methods = capsys.readouterr().out.strip().splitlines()
    assert best.split()[-6:] == ["100.00", "%", "n/a", "100.00", "%", "n/a"]
    assert re.search(r" 50\.00 %  .* to .*  25\.00 %  .* to ", other)
    assert methods.endswith("95 % sets of ratios: test inversion (Fieller)")
    worse = compare(capsys, full, first, less)["parts_of_best"]
    assert [one["of_gain"] for one in worse] == [None, None]
    assert compare(capsys, first, full)["parts_of_best"] == []


def test_attempts_of_a_problem_count_together_and_whole_contests_are_resampled(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    contests = [("A", date(2020, 1, 1))] * 2 + [("B", date(2021, 1, 1))] * 2
    first = make_run([("", ["WA", "WA"])] * 4, contests=contests, state="finished")
    second = make_run(
        [("", ["AC", "WA"]), ("", ["AC", "AC"]), ("", ["WA", "AC"]), ("", ["WA", "WA"])],
        on=first,
        state="finished",
    )
    [pair] = compare(capsys, first, second)["pairs"]
    assert pair["difference"] == 0.5
    assert pair["only_this"] == ["0", "1"]
    assert (pair["contest_interval"], pair["contest_interval_method"]) == ([-1, 1], "t"), (
        "two contests say little"
    )
    low, high = pair["interval"]
    assert (low, high) == pytest.approx((0.5 - 3.182446 * sqrt(1 / 24), 1.0), abs=1e-5)
    assert pair["interval_method"] == "t"


def test_several_attempts_are_tested_over_problems_with_holms_correction(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run([("", ["WA", "WA"])] * 8, state="finished")
    others = [
        make_run([("", ["WA", "AC"])] * 4 + [("", ["WA", "WA"])] * 4, on=first, state="finished")
        for _ in range(2)
    ]
    [alone] = compare(capsys, first, others[0])["pairs"]
    assert (alone["test"], alone["p"]) == ("problem_t", pytest.approx(0.0331, abs=1e-4))
    assert not alone["inside_noise"]
    for pair in compare(capsys, first, *others)["pairs"]:
        assert pair["interval"][0] > 0
        assert pair["holm"] == pytest.approx(2 * pair["p"])
        assert pair["inside_noise"]
    call_command("compare", str(first.pk), *(str(run.pk) for run in others))
    p = alone["p"]
    assert f"t over problems p = {p:.4g}, Holm for 2 runs {2 * p:.4g}" in capsys.readouterr().out
    [equal] = compare(capsys, first, make_run([("", ["AC", "WA"])] * 8, on=first, state="finished"))["pairs"]
    assert (equal["p"], equal["inside_noise"]) == (pytest.approx(0.5**8), False)


def test_the_power_of_several_attempts_is_that_of_their_test(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run([("", ["WA", "WA"])] * 8, state="finished")
    second = make_run([("", ["WA", "AC"])] * 2 + [("", ["WA", "WA"])] * 6, on=first, state="finished")
    [pair] = compare(capsys, first, second)["pairs"]
    assert pair["visible"] == pytest.approx(visible_mean([0.5] * 2 + [0.0] * 6))
    assert pair["needed"] is None
    assert pair["power_note"] == (
        f"Not significant: 8 problems are enough for a difference of {100 * pair['visible']:.1f} points with a power "
        "of 80 %."
    )


@pytest.mark.parametrize("verdict", ["AC", "WA"])
def test_several_attempts_at_few_problems_are_not_tested(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], verdict: str
) -> None:
    first = make_run([("", ["WA", "WA"])], state="finished")
    second = make_run([("", ["AC", verdict])], on=first, state="finished")
    [pair] = compare(capsys, first, second)["pairs"]
    assert (pair["p"], pair["visible"], pair["inside_noise"]) == (1, None, True)
    assert pair["power_note"] == "Not tested: the t test over problems needs 6 problems."


def test_single_attempts_at_few_problems_have_newcombes_interval(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    """The percentile bootstrap of the same pairs is [0.05, 0.35]; it covers 88 to 92 % with so few problems."""
    first = make_run(verdicts("a" * 4 + "w" * 16), state="finished")
    second = make_run(verdicts("a" * 8 + "w" * 12), on=first, state="finished")
    [pair] = compare(capsys, first, second)["pairs"]
    assert pair["interval"] == pytest.approx(list(paired_proportions(4, 4, 0, 12)))
    assert pair["interval_method"] == "newcombe"
    call_command("compare", str(first.pk), str(second.pk))
    text = capsys.readouterr().out
    assert "(Newcombe) over problems" in text
    assert "95 % intervals: Newcombe's paired interval, one outcome per problem and run" in text


def test_runs_without_any_difference_have_no_interval_of_no_width(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run(verdicts("aaww"), state="finished")
    [pair] = compare(capsys, first, make_run(verdicts("aaww"), on=first, state="finished"))["pairs"]
    width = 1 - 0.05 ** (1 / 4)
    assert (pair["interval"], pair["interval_method"]) == (pytest.approx([-width, width]), "bound")


@pytest.mark.parametrize("value", [-1e-7, -0.0, 0.0, 1e-7])
def test_no_difference_and_no_share_is_a_negative_zero(value: float) -> None:
    assert points(value) == "+0.00"
    assert point_interval(Interval(value, 0.5)) == "[+0.00, +50.00]"
    assert percent(value) == "0.00 %"


@pytest.mark.slow
def test_many_problems_keep_the_bootstrap(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    first = make_run(verdicts("a" * 20 + "w" * 40), state="finished")
    second = make_run(verdicts("a" * 30 + "w" * 30), on=first, state="finished")
    [pair] = compare(capsys, first, second)["pairs"]
    differences = [0.0] * 20 + [1.0] * 10 + [0.0] * 30
    assert (pair["interval"], pair["interval_method"]) == ([*cluster_bootstrap(differences)], "bootstrap")


@pytest.mark.slow
def test_shares_of_the_best_have_sets_which_may_be_unbounded(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run(verdicts("w" * 12), state="finished")
    best = make_run(verdicts("a" * 10 + "ww"), on=first, state="finished")
    less = make_run(verdicts("aaaaa" + "w" * 7), on=first, state="finished")
    parts = {one["run"]: one for one in compare(capsys, first, best, less)["parts_of_best"]}
    assert parts[str(best.pk)]["of_score_set"] is None
    found = parts[str(less.pk)]["of_score_set"]
    [[low, high]] = found["ranges"]
    assert 0 < low < found["ratio"] == 0.5 < high < 1
    only_one = make_run(verdicts("a" + "w" * 11), on=first, state="finished")
    never = make_run(verdicts("w" * 11 + "a"), on=first, state="finished")
    parts = {one["run"]: one for one in compare(capsys, first, only_one, never)["parts_of_best"]}
    sets = [one["of_score_set"]["ranges"] for one in parts.values() if one["of_score_set"]]
    assert sets == [[[None, None]]]
    call_command("compare", *(str(run.pk) for run in (first, only_one, never)))
    assert "any ratio" in capsys.readouterr().out


def test_chains_part_at_a_prompt_a_reply_or_an_end(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run(verdicts("awaa"), state="finished")
    second = make_run(verdicts("aaaa"), on=first, state="finished")
    of_second = {g.work_item.problem.external_id: g for g in Generation.objects.filter(work_item__run=second)}
    Generation.objects.filter(pk=of_second["2"].pk).update(prompt_hash="other")
    more = of_second["3"]
    more.pk, more.step = None, 1
    more.save()
    [pair] = compare(capsys, first, second)["pairs"]
    assert [(one["problem"], one["kind"], one["step"]) for one in pair["divergences"]] == [
        ("0", "same", None),
        ("1", "reply", 0),
        ("2", "prompt", 0),
        ("3", "length", 1),
    ]
    assert pair["divergence_counts"] == {
        "length at step 1": 1,
        "prompt at step 0": 1,
        "reply at step 0": 1,
        "same": 1,
    }


def test_a_comparison_warns_of_other_differences(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make_run(verdicts("a"), manifest={"policy": "fair"}, state="finished")
    second = make_run(verdicts("w"), on=first, manifest={"policy": "compat", "scripted_model": True})
    [pair] = compare(capsys, first, second)["pairs"]
    assert pair["caveats"] == [
        "The runs were judged under different policies: fair and compat.",
        "This run is not finished: only its finished attempts are compared.",
        "This run has scripted replies: its figures say nothing about any model.",
    ]
    [pair] = compare(capsys, first, make_run(verdicts("a"), state="finished"))["pairs"]
    assert (pair["problems"], pair["difference"], pair["p"]) == (0, None, 1.0)
    assert "no problem is in both" in pair["caveats"][0]


def test_a_run_is_not_compared_with_itself(make_run: MakeRun) -> None:
    run = make_run(verdicts("a"))
    for names in ([run.pk], [run.pk, run.pk]):
        with pytest.raises(CommandError, match="two or more different runs"):
            call_command("compare", *map(str, names))


def test_the_base_may_be_any_run(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    first = make_run([("bronze", ["AC"]), ("bronze", ["WA"])])
    second = make_run([("bronze", ["AC"]), ("bronze", ["AC"])], on=first)
    for names in ((first, second), (first,)):
        call_command("compare", *(str(run.pk) for run in names), "--base", str(second.pk), "--json")
        document = json.loads(capsys.readouterr().out)
        assert document["first"] == str(second.pk)
        assert [pair["run"] for pair in document["pairs"]] == [str(first.pk)]
        assert document["pairs"][0]["difference"] == -0.5
