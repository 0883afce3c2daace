"""Server time of the pages of runs with 100 000 generations in 25 runs over 500 problems.

    python -m benchmarks.run_pages

Target: 100 ms a page (docs/architecture.md). The floor is the 404 page of the same server for the same visitor. The
figures of the runs are stored as at their end; the column "without" is the time of a page before they are stored, which
measures them. The column "first" is the first view of a page.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import tempfile
from typing import TYPE_CHECKING

from benchmarks.pages import TARGET, percentile, seconds, timed

if TYPE_CHECKING:
    from benchmark.models import Run

RUNS, PROBLEMS, ATTEMPTS, STEPS = 25, 500, 2, 4
MESSAGE = "Bessie counts the grass of every field. " * 75


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="hintbench-run-pages-") as var:
        os.environ["HINTBENCH_VAR"] = var
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django

        django.setup()
        return measure()


def measure() -> int:
    """Fill a problem bank, time every page and print the table; return 1 if a page misses the target."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.test import Client

    from benchmark.reports.cached_report import store_report

    logging.disable(logging.WARNING)  # the floor is a missing page
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    researcher = User.objects.create_user("researcher")
    researcher.groups.set(Group.objects.filter(name="researcher"))
    runs = fill()
    client = Client(SERVER_NAME="localhost")
    client.force_login(researcher)
    first, second, third = (str(run.pk) for run in runs[:3])
    item = runs[0].items.order_by("-pk").values_list("pk", flat=True)[0]
    pages = {
        "runs": "/runs/",
        "runs, found": "/runs/?model=openai:gpt-4-1106-preview&profile=none&since=2020-01-01&sort=-score",
        "run": f"/runs/{first}/",
        "open run": f"/runs/{runs[-1].pk}/",
        "progress": f"/runs/{runs[-1].pk}/progress/",
        "attempts": f"/runs/{first}/items/?verdict=WA&by=tier&name=gold",
        "chain": f"/runs/chains/{item}/",
        "matrix": f"/runs/matrix/?run={first}&run={second}&run={third}",
        "heat map": f"/runs/matrix/?run={first}&run={second}&run={third}&plot=problems-by-run&as=svg",
        "comparison": f"/runs/compare/?run={first}&run={second}&run={third}",
        "differences": f"/runs/compare/?run={first}&run={second}&run={third}&plot=differences&as=csv",
        "curves": "/runs/ablations/",
        "published": "/runs/published/",
    }
    floor = statistics.median(one.cpu for one in seconds(client, "/nowhere/", 404))
    without = {name: timed(client, address, 200).wall for name, address in pages.items()}
    for run in runs[:-1]:
        store_report(run)
    print(
        f"{'page':<12} {'without ms':>10} {'first ms':>9} {'median ms':>10} {'p95 ms':>8} {'CPU ms':>8} {'x floor':>8}"
    )
    print(f"{'floor (404)':<12} {'':>10} {'':>9} {'':>10} {'':>8} {floor * 1e3:8.1f}")
    slow = 0
    for name, address in pages.items():
        first_view = timed(client, address, 200).wall
        times = seconds(client, address, 200)
        wall, cpu = (statistics.median(one[place] for one in times) for place in (0, 1))
        print(
            f"{name:<12} {without[name] * 1e3:10.1f} {first_view * 1e3:9.1f} {wall * 1e3:10.1f} "
            f"{percentile([one.wall for one in times]) * 1e3:8.1f} {cpu * 1e3:8.1f} {cpu / floor:8.1f}"
        )
        slow += wall > TARGET
    return 1 if slow else 0


def fill() -> list[Run]:
    """Create runs with several attempts a problem and several replies an attempt; the last run is open."""
    from dataclasses import asdict
    from datetime import date

    from django.utils import timezone

    from benchmark.methods import METHODS, parse_settings
    from benchmark.models import Dataset, Generation, Judgement, Problem, Run, Submission, WorkItem
    from benchmark.models.problems import Tier

    dataset = Dataset.objects.create(name="made", format="usaco")
    problems = Problem.objects.bulk_create(
        Problem(
            dataset=dataset, external_id=f"{number:03}_made", title=f"Made {number}", tier=Tier.values[number % 4],
            tags=["greedy", "graphs"][number % 2 :], statement=MESSAGE, statement_format="usaco",
            statement_html=MESSAGE, analysis=MESSAGE, contest=f"Contest {number // 12}",
            contest_date=date(2012 + number // 48, 1 + number // 12 % 4, 1), time_limit=2, memory_limit=2**28,
            checker={"kind": "tokens"}, content_hash="0" * 64,
        )
        for number in range(PROBLEMS)
    )  # fmt: skip
    submissions = Submission.objects.bulk_create(
        Submission(problem=problem, language="python", source="print(1)", source_hash="0" * 64)
        for problem in problems
    )
    test = {
        "name": "1", "verdict": "WA", "time": 0.1, "memory": 2**20, "sample": False, "message": "", "output": MESSAGE,
        "errors": "",
    }  # fmt: skip
    failed = Judgement.objects.bulk_create(
        Judgement(
            submission=submission, suite="samples", policy="fair", state="done", passed=0, total=1, verdict="WA",
            problem_hash="0" * 64, result={"tests": [test | {"sample": True}]},
        )
        for submission in submissions
    )  # fmt: skip
    method = METHODS["episodic+reflexion"]
    runs = Run.objects.bulk_create(
        Run(
            dataset=dataset, method=method.name, model_spec="openai:gpt-4-1106-preview", attempts=ATTEMPTS,
            parameters=asdict(
                parse_settings(method.settings, [f"p={number % 5 + 1}", f"i={STEPS - 1}", f"seed={number // 5}"])
            ),
            state="open" if number == RUNS - 1 else "finished", manifest={},
            finished_at=None if number == RUNS - 1 else timezone.now(),
        )
        for number in range(RUNS)
    )  # fmt: skip
    for number, run in enumerate(runs):
        attempts = [(place, chain) for chain in range(ATTEMPTS) for place in range(PROBLEMS)]
        if run.state == "open":
            attempts = attempts[: len(attempts) // 2]
        judgements = Judgement.objects.bulk_create(
            Judgement(
                submission=submissions[place], suite="all", policy="fair", state="done", passed=1, total=10,
                verdict="AC" if (place * 7 + chain * 3 + number * 5) % 9 == 0 else "WA", problem_hash="0" * 64,
                result={"tests": [test]},
            )
            for place, chain in attempts
        )  # fmt: skip
        items = WorkItem.objects.bulk_create(
            WorkItem(run=run, problem=problems[place], chain=chain, state="done", judgement=judgement)
            for (place, chain), judgement in zip(attempts, judgements, strict=True)
        )
        generations = Generation.objects.bulk_create(
            (
                Generation(
                    work_item=item, step=step, purpose="reflect" if step else "solve", template_hash="",
                    messages=[{"role": "user", "content": MESSAGE}], prompt_hash=f"{step}", parameters={},
                    model_returned="m", text=MESSAGE,
                    code=f"print({step})\n" * 40, input_tokens=1000, output_tokens=500, latency=1.5,
                    sample_judgement=failed[place],
                )
                for item, (place, _) in zip(items, attempts, strict=True)
                for step in range(STEPS)
            ),
            batch_size=2000,
        )  # fmt: skip
        for item, generation in zip(items, generations[STEPS - 1 :: STEPS], strict=True):
            item.selected = generation
        WorkItem.objects.bulk_update(items, ["selected"], batch_size=500)
    return runs


if __name__ == "__main__":
    sys.exit(main())
