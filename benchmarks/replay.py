"""CPU time of 10,000 draws of a replay, beside the same calls with the bare SDK.

    python -m benchmarks.replay [--draws N] [--rounds N] [--profile FILE]

`manage.py replay --resume` requests the draws of stored placements from a local fake of OpenAI that replies at once,
stores and judges them, and computes the figures. All replies have the same program, so the judge runs it once for each
of four problems; benchmarks.judge measures the judge. benchmarks.bare_calls sends the messages of the same draws with
as many calls in flight, in rounds that alternate, because a busy machine slows both. All figures are CPU time of the
processes that send and store, without the server: for the replay the difference between a long and a short one, so that
the start of Python and the judge are left out. The exit status is 1 if the ratio of the medians to the typed calls
misses its target (docs/architecture.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import arms, runner
from benchmarks.bare_calls import (
    IN_FLIGHT,
    Cost,
    alternate,
    bare,
    print_ratios,
    write_conversations,
)
from benchmarks.replay_rows import fix_replay

RATIO = 2.0
DRAWS = 10
"""Draws of each of the four arms at a state."""
AT_STATE = 4 * DRAWS
SHORT = 20
"""States of the short replay."""
SPEC = "compatible:stub"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=10_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--profile", metavar="FILE", help="write a profile of one replay by cProfile")
    arguments = parser.parse_args()
    with runner.fake_openai("benchmarks.arms") as (folder, address):
        return measure(folder, address, arguments)


def measure(folder: Path, address: str, arguments: argparse.Namespace) -> int:
    """Print the table; return 1 if the ratio misses its target."""
    runner.open_site(folder, address)
    from django.core.management import call_command

    from benchmark.models import Problem
    from tutoring.models import ReplayDraw

    call_command("migrate", verbosity=0)
    arms.add_problems()
    problems = list(Problem.objects.all())
    more = -(-arguments.draws // AT_STATE)

    def replay(states: int, profile: str | None = None) -> tuple[float, float]:
        run = fix_replay(problems, states, DRAWS, SPEC)
        spent = runner.timed(_command(str(run.pk), profile))
        judged = ReplayDraw.objects.filter(state__run=run, right__isnull=False)
        assert judged.count() == states * AT_STATE, judged.count()
        return spent

    def cost() -> Cost:
        (short_wall, short_cpu), (long_wall, long_cpu) = replay(SHORT), replay(SHORT + more)
        draws = more * AT_STATE
        return Cost((long_cpu - short_cpu) / draws * 1000, draws / (long_wall - short_wall))

    if arguments.profile:
        replay(SHORT + more, arguments.profile)
        return 0
    replay(SHORT)
    conversations = folder / "conversations.json"
    write_conversations(conversations, _messages())
    measured = alternate(
        arguments.rounds,
        cost,
        lambda: bare(address, conversations, more * AT_STATE, "typed"),
        lambda: bare(address, conversations, more * AT_STATE, "plain"),
    )
    found = print_ratios("replay with figures", *measured)
    print(f"target {RATIO:g} times the bare calls; {more * AT_STATE:,} draws in a round")
    return int(found > RATIO)


def _messages() -> Iterator[list[dict[str, Any]]]:
    """Yield the messages of the draws of a replay."""
    from tutoring.models import ReplayState
    from tutoring.replay.planning import FIXED_TEXTS, arm_prompt

    for state in ReplayState.objects.all():
        for text in FIXED_TEXTS.values():
            prompt = arm_prompt((), text, state.language)
            yield [*state.messages, *({"role": one.role, "content": one.content} for one in prompt.messages)]


def _command(run: str, profile: str | None) -> list[str]:
    profiled = ["-m", "cProfile", "-o", profile] if profile else []
    options = ["--json", "--resume", run, "--concurrency", str(IN_FLIGHT)]
    return [sys.executable, *profiled, "manage.py", "replay", *options]


if __name__ == "__main__":
    sys.exit(main())
