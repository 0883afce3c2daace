"""Fresh draws and epochs: new and repeated replies, and the report of repeated ones."""

import csv
import io

import pytest

from benchmark.model_calls.reply_cache import draw_name
from benchmark.models import Run
from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, pieces_of

SOLUTION = Script(pieces_of(REPLY))
WRONG = Script(pieces_of(REPLY.replace("a + b", "a - b")))
FRESH = ("--draws", "fresh")


def test_a_repeated_run_says_that_it_is_a_replay_wherever_its_figures_stand(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 4)
    first = commands.baseline()
    assert (first["replies_repeated"], first["epochs"], first["first_draw"]) == (0, 1, 0)
    assert not any("repeat stored ones" in one for one in commands.report(first["run"])["caveats"])
    output, _ = commands.manage("run_baseline", "--like", first["run"])
    note = "all 4 replies repeat stored ones. The variance between this run and the original is zero by construction"
    assert note in output
    [(second,)] = commands.rows("select id from benchmark_run where id <> ?", [first["run"].replace("-", "")])
    report = commands.report(second)
    assert report["replies_repeated"] == 4
    assert any(note in caveat for caveat in report["caveats"])
    rows = csv.DictReader(io.StringIO(commands.manage("report", second, "--format", "csv")[0]))
    assert next(row["value"] for row in rows if row["figure"] == "replies repeated") == "4"
    compared, _ = commands.manage("compare", first["run"], second)
    assert "repeats stored replies of the base run" in compared
    assert len(commands.fake_providers.requests) == 4


def test_fresh_draws_ask_every_question_again_and_an_interrupted_run_asks_none_twice(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(*[SOLUTION] * 4)
    first = commands.baseline()
    commands.fake_providers.script(SOLUTION, *[WRONG] * 3)
    stopped = commands.baseline(*FRESH, "--max-calls", "1", "--concurrency", "1", status=1)
    assert (stopped["first_draw"], stopped["paid"]["calls"], stopped["replies_repeated"]) == (1, 1, 0)
    fresh = commands.baseline("--resume", stopped["run"], "--max-calls", "9")
    assert (fresh["paid"]["calls"], fresh["replies_repeated"]) == (4, 0)
    assert (first["solved"], fresh["solved"]) == (2, 1)
    assert len(commands.fake_providers.requests) == 8

    # A run like the fresh one repeats its draw; stored replies of draw 0 stay where they were.
    like, errors = commands.manage("run_baseline", "--json", "--like", fresh["run"])
    assert '"first_draw": 1' in like, errors
    assert '"replies_repeated": 4' in like
    assert commands.baseline()["replies_repeated"] == 4
    commands.fake_providers.script(*[SOLUTION] * 4)
    other, _ = commands.manage("run_baseline", "--json", "--like", first["run"], *FRESH)
    assert '"first_draw": 2' in other
    assert len(commands.fake_providers.requests) == 12


def test_two_fresh_runs_that_start_at_once_get_different_draws(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 3 * 4)
    command = ("--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "zero-shot", *FRESH)
    runs = [commands.start("run_baseline", *command) for _ in range(3)]
    for run in runs:
        status, _, errors = run.wait()
        assert status == 0, errors
    draws = commands.rows("select first_draw from benchmark_run order by first_draw")
    assert draws == [(1,), (2,), (3,)]
    assert len(commands.fake_providers.requests) == 12


def test_epochs_are_whole_passes_with_draws_of_their_own(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 4)
    commands.baseline()
    # Sums are solved in the first epoch; then nothing; then everything but the products again.
    commands.fake_providers.script(*[WRONG] * 4, *[SOLUTION] * 4)
    document = commands.baseline("--epochs", "3", "--concurrency", "1")
    assert (document["epochs"], document["first_draw"], document["total"]) == (3, 0, 12)
    assert (document["paid"]["calls"], document["replies_repeated"]) == (8, 4)
    # 2/4, 0, 2/4: mean 1/3, s² = (2 · (1/6)² + (1/3)²) / 2 = 1/12, so the error is sqrt(1/12 / 3) = 1/6.
    [between] = document["between_epochs"]
    assert between["values"] == [0.5, 0.0, 0.5]
    assert between["standard_error"] == pytest.approx(1 / 6)
    words = "3 epochs, 4 problems: pass@1 50.00 %, 0.00 %, 50.00 %; standard error between epochs 16.67 %"
    assert words in commands.manage("report", document["run"])[0]
    assert words in commands.manage("report", document["run"], "--format", "html")[0]
    rows = csv.DictReader(io.StringIO(commands.manage("report", document["run"], "--format", "csv")[0]))
    errors = [row for row in rows if row["figure"] == "pass@1 standard error between epochs"]
    assert [float(row["value"]) for row in errors] == pytest.approx([1 / 6])
    assert [row["n"] for row in errors] == ["3"]

    # The epochs are draws 0, 1 and 2: repeated as they were, and no fresh run gets one of them.
    assert commands.baseline("--epochs", "3")["replies_repeated"] == 12
    commands.fake_providers.script(*[SOLUTION] * 8)
    fresh = commands.baseline("--epochs", "2", *FRESH)
    assert (fresh["first_draw"], fresh["paid"]["calls"]) == (3, 8)
    told, _ = commands.manage(
        "run_baseline", "--dry-run", "--dataset", "orchard", "--model", "openai:m", "--method", "zero-shot",
        "--epochs", "3", "--attempts", "2",
    )  # fmt: skip
    assert "zero-shot on 4 problems, 6 attempts in 3 epochs each. No call was made." in told


def test_fresh_draws_in_batches_are_batches_of_their_own(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    stored = commands.baseline("--batch")
    fresh = commands.baseline("--batch", *FRESH)
    assert (stored["paid"]["calls"], fresh["paid"]["calls"], fresh["replies_repeated"]) == (4, 4, 0)
    assert [len(batch.requests) for batch in commands.fake_providers.batches.created] == [4, 4]


def test_a_fresh_pilot_says_that_a_run_of_all_problems_pays_for_its_problems_too(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(*[SOLUTION] * 4)
    pilot = (
        "run_baseline",
        "--dataset",
        "orchard",
        "--model",
        "openai:m",
        "--method",
        "zero-shot",
        "--pilot",
        "2",
    )
    assert "does not pay again for those of the pilot" in commands.manage(*pilot)[0]
    assert "pays for those of the pilot too" in commands.manage(*pilot, *FRESH)[0]


def test_draw_number_0_keeps_the_former_keys_and_each_chain_has_one_draw_in_each_epoch() -> None:
    assert draw_name(0, 3, 1) == "3.1"
    run = Run(attempts=6, epochs=3, first_draw=4)
    draws = [run.draw_of(chain) for chain in range(6)]
    assert draws == [(4, 0), (4, 1), (5, 0), (5, 1), (6, 0), (6, 1)]
    names = {draw_name(*run.draw_of(chain), 0) for chain in range(6)}
    assert len(names | {draw_name(0, chain, 0) for chain in range(6)}) == 12
