"""The progress bar of a run in a terminal."""

import asyncio
import io
from functools import partial
from typing import Any

import pytest
from tqdm import tqdm

from benchmark.management.run_progress import execute_run, run_bar
from benchmark.model_calls import Spending, Stop
from benchmark.runner import ExecutionProgress
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401  a fixture


def test_the_bar_shows_failures_by_kind_and_the_budget(
    make_run: MakeRun,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run(
        [("bronze", ["AC"]), ("bronze", [""]), ("bronze", [""])],
        price={"input": 1, "output": 2},
        budget={"cost": 4, "calls": 9},
    )

    async def execute(_run: Any, *, progress: ExecutionProgress, **_: Any) -> None:
        await asyncio.sleep(0)
        progress.done += 1
        progress.failures.update(["timeout", "timeout", "judge"])
        progress.spent = Spending(calls=3, output_tokens=500_000)
        progress.on_change(progress)

    monkeypatch.setattr("benchmark.management.run_progress.execute", execute)
    monkeypatch.setattr("benchmark.management.progress.tqdm", partial(tqdm, file=io.StringIO()))
    with run_bar(run) as bar:
        execute_run(run, bar, Stop())
        assert bar.n == 2
        assert bar.postfix == (
            "solved=1, failed=3 (2 timeout, 1 judge fault), tokens=500000, usd=1.00/4.00, calls=3/9"
        )
