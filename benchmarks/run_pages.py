"""Server time of the pages of runs over 500 problems, by default with 100 000 generations in 25 runs, and of replays
with as many draws.

    python -m benchmarks.run_pages [--postgres] [--generations N]

Targets: 100 ms and 25 times the floor for every page (docs/architecture.md). The floor is the 404 page of the same
server for the same visitor. The figures of the runs are stored as at their end; the column "without" is the time of a
page before they are stored, which measures them. The column "first" is the first view of a page.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.page_times import (
    FLOOR,
    MOST_FLOORS,
    TARGET,
    analyze,
    copy_rows,
    new_site,
    percentile,
    seconds,
    timed,
    with_floor,
)
from benchmarks.replay_rows import fix_replay

if TYPE_CHECKING:
    from django.test import Client

    from benchmark.models import Run
    from tutoring.models import ReplayRun

PROBLEMS, ATTEMPTS, STEPS = 500, 2, 4
SLOW_PROBLEMS = 300
"""Problems with a slow program that every arm of slow programs repairs once."""
REPLAY_DRAWS = 10
"""Draws of each arm at each state of the replay."""
MESSAGE = "Bessie counts the grass of every field. " * 75


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--generations", type=int, default=100_000)
    arguments = parser.parse_args()
    with new_site(arguments.postgres):
        return measure(arguments.generations)


def measure(generations: int) -> int:
    """Fill a problem bank, time every page and print the table; return 1 if a page misses a target."""
    from benchmark.models import Run
    from benchmark.processes import exclude_loaded_objects
    from benchmark.reports.cached_report import store_report

    logging.disable(logging.WARNING)  # the floor is a missing page
    client, pages = fill_site(generations)
    exclude_loaded_objects()  # as in the web server
    seconds(client, FLOOR, 404)  # fills the caches that all pages share
    without = {name: timed(client, address, 200).wall for name, address in pages.items()}
    for run in Run.objects.filter(state="finished"):
        store_report(run)
    print(
        f"{'page':<12} {'without ms':>10} {'first ms':>9} {'median ms':>10} {'p95 ms':>8} {'CPU ms':>8} {'floor':>6} "
        f"{'x floor':>8}"
    )
    slow = 0
    for name, address in pages.items():
        first_view = timed(client, address, 200).wall
        times, floor = with_floor(client, partial(seconds, client, address))
        wall, cpu = (statistics.median(one[place] for one in times) for place in (0, 1))
        print(
            f"{name:<12} {without[name] * 1e3:10.1f} {first_view * 1e3:9.1f} {wall * 1e3:10.1f} "
            f"{percentile([one.wall for one in times]) * 1e3:8.1f} {cpu * 1e3:8.1f} {floor * 1e3:6.1f} "
            f"{cpu / floor:8.1f}"
        )
        slow += wall > TARGET or cpu > MOST_FLOORS * floor
    return 1 if slow else 0


def fill_site(generations: int) -> tuple[Client, dict[str, str]]:
    """Fill a migrated database; return a researcher and reviewer who is logged in, and the addresses of the pages."""
    from django.contrib.auth.models import Group, User
    from django.test import Client

    from benchmark.models import GrowthCurve
    from tutoring.models import HintCard

    researcher = User.objects.create_user("researcher")
    researcher.groups.set(Group.objects.filter(name__in=["researcher", "reviewer"]))
    runs = fill(generations // (PROBLEMS * ATTEMPTS * STEPS))
    slow = "&".join(f"run={run.pk}" for run in fill_slow_runs())
    replay = fill_replay(generations)
    fill_labels(generations)
    analyze()
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
        "slow programs": f"/runs/slow/?{slow}",
        "growth": GrowthCurve.objects.all()[0].get_absolute_url(),
        "receptivity": "/runs/receptivity/",
        "replay": replay.get_absolute_url(),
        "card": f"{HintCard.objects.latest('pk').get_absolute_url()}?replay={replay.pk}",
        "review": "/review/",
        "hints to label": "/review/hints/",
    }
    return client, pages


def fill(count: int) -> list[Run]:
    """Create `count` runs with several attempts per problem and several replies per attempt; the last run is open."""
    from dataclasses import asdict
    from datetime import date

    from django.db.models import OuterRef, Subquery
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
            state="open" if number == count - 1 else "finished", manifest={},
            finished_at=None if number == count - 1 else timezone.now(),
        )
        for number in range(count)
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
        WorkItem.objects.bulk_create(
            WorkItem(run=run, problem=problems[place], chain=chain, state="done", judgement=judgement)
            for (place, chain), judgement in zip(attempts, judgements, strict=True)
        )
    Generation.objects.bulk_create(
        (
            Generation(
                work_item=item, step=step, purpose="reflect" if step else "solve", template_hash="",
                messages=[{"role": "user", "content": MESSAGE}], prompt_hash=f"{step}", parameters={},
                model_returned="m", text=MESSAGE, code=f"print({step})\n" * 40, input_tokens=1000,
                output_tokens=500, latency=1.5, sample_judgement=failed[place % PROBLEMS],
            )
            for place, item in enumerate(runs[0].items.order_by("chain", "problem_id"))
            for step in range(STEPS)
        ),
        batch_size=2000,
    )  # fmt: skip
    copy_rows(
        Generation,
        "JOIN benchmark_workitem item ON item.id = one.work_item_id JOIN benchmark_workitem other "
        "ON other.problem_id = item.problem_id AND other.chain = item.chain AND other.run_id <> item.run_id",
        work_item_id="other.id",
    )
    last = Generation.objects.filter(work_item=OuterRef("pk"), step=STEPS - 1)
    WorkItem.objects.update(selected=Subquery(last.values("pk")))
    return runs


def fill_replay(draws: int) -> ReplayRun:
    """Create a finished replay with this number of draws of four arms at states of all problems of runs."""
    from benchmark.models import Problem
    from tutoring.models import Placement, ReplayDraw, ReplayState
    from tutoring.replay.drawing import conclude

    problems = list(Problem.objects.filter(dataset__name="made"))
    run = fix_replay(problems, max(2, draws // (4 * REPLAY_DRAWS)), REPLAY_DRAWS, "openai:replayed")
    cards = dict(Placement.objects.filter(state__run=run).values_list("state", "card"))
    ReplayDraw.objects.bulk_create(
        (
            ReplayDraw(
                state=state, arm=arm, number=number, reply=MESSAGE, program=f"print({number})\n" * 40,
                card_id={"hint": cards[state.pk], "sham": state.shams[number]}.get(arm), prompt_hash="",
                right=(state.pk + number) % 3 == 0, uptake="solved" if (state.pk + number) % 3 == 0 else "better",
            )
            for state in ReplayState.objects.filter(run=run)
            for arm in ReplayDraw.Arm.values
            for number in range(REPLAY_DRAWS)
        ),
        batch_size=2000,
    )  # fmt: skip
    conclude(run)
    return run


def fill_labels(draws: int) -> None:
    """Fix a replay of own programs with this number of draws; half of its placements wait for labels."""
    from django.db.models import F
    from django.db.models.functions import Mod

    from benchmark.models import Problem
    from tutoring.models import Placement, ReplayRun

    problems = list(Problem.objects.filter(dataset__name="made"))
    run = fix_replay(problems, max(2, draws // (4 * REPLAY_DRAWS)), REPLAY_DRAWS, "openai:labelled")
    ReplayRun.objects.filter(pk=run.pk).update(mode=ReplayRun.Mode.OWN)
    chosen = Placement.objects.filter(state__run=run).annotate(odd=Mod("pk", 2)).filter(odd=1)
    chosen.update(fit="near", label_order=F("pk"))


def fill_slow_runs() -> list[Run]:
    """Create a run of three arms of slow programs, whose start and last programs have growth curves."""
    from django.utils import timezone

    from benchmark.growth.examples import QUADRATIC
    from benchmark.judging import source_hash
    from benchmark.methods.slow import STARTS
    from benchmark.models import (
        Dataset,
        Generation,
        GrowthCurve,
        Judgement,
        Problem,
        Run,
        Submission,
        WorkItem,
    )

    def store_programs(source: str) -> list[Submission]:
        stored = Submission.objects.bulk_create(
            Submission(problem=problem, language="python", source=source, source_hash=source_hash(source))
            for problem in problems
        )
        GrowthCurve.objects.bulk_create(
            GrowthCurve(
                submission=submission,
                recipe_hash="1",
                judge_version="j",
                state="done",
                points=QUADRATIC.to_json(),
            )
            for submission in stored
        )
        return stored

    dataset = Dataset.objects.create(name="slow", format="icpc")
    problems = Problem.objects.bulk_create(
        Problem(
            dataset=dataset, external_id=f"{number:03}_slow", title=f"Slow {number}", statement=MESSAGE,
            time_limit=2, memory_limit=2**28, checker={}, content_hash="0" * 64,
        )
        for number in range(SLOW_PROBLEMS)
    )  # fmt: skip
    slow = "# slow\nprint(1)\n"
    starts = {
        problem.external_id: [{"submission": submission.pk, "right": True}]
        for problem, submission in zip(problems, store_programs(slow), strict=True)
    }
    runs = []
    for number, arm in enumerate(("told", "profile", "analysis")):
        run = Run.objects.create(
            dataset=dataset, method=f"slow-{arm}", model_spec="openai:m", state="finished",
            parameters={"language": "python", "r": 3, "starts": 1}, finished_at=timezone.now(),
            manifest={"prepared": {STARTS: starts}, "scripted_model": False},
        )  # fmt: skip
        repaired = f"# {arm}\nprint(1)\n"
        judgements = Judgement.objects.bulk_create(
            Judgement(
                submission=submission, suite="all", policy="fair", state="done", problem_hash="0" * 64,
                verdict="TLE" if (place * 7 + number * 5) % 3 else "AC",
            )
            for place, submission in enumerate(store_programs(repaired))
        )  # fmt: skip
        items = WorkItem.objects.bulk_create(
            WorkItem(run=run, problem=problem, chain=0, state="done", judgement=judgement)
            for problem, judgement in zip(problems, judgements, strict=True)
        )
        common = {"messages": [], "parameters": {}, "text": "", "latency": 0.0}
        Generation.objects.bulk_create(
            Generation(
                work_item=item, step=step, purpose="repair" if step else "recorded",
                code=repaired if step == 3 else f"# {arm} {step}\n" if step else slow,
                hidden_judgement=judgement if step else None, input_tokens=500 * step, output_tokens=500 * step,
                **common,
            )
            for item, judgement in zip(items, judgements, strict=True)
            for step in range(4)
        )  # fmt: skip
        runs.append(run)
    return runs


if __name__ == "__main__":
    sys.exit(main())
