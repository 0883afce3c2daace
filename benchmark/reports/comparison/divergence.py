"""Where the chains of two runs diverge."""

from collections import defaultdict
from collections.abc import Mapping

from django.db.models.functions import MD5

from benchmark.models import Generation, Run, WorkItem
from benchmark.reports.comparison.outcomes import ProblemName, SameProblems
from benchmark.reports.comparison.records import Divergence

ChainSteps = list[tuple[str, str]]
"""The hashes of the prompt and the reply of each step."""

RunChains = Mapping[tuple[int, int], ChainSteps]
"""The steps of each finished chain, by problem and number of the chain."""


def read_chains(run: Run, same: SameProblems) -> RunChains:
    """Read the chains of a run. The database hashes the replies, so that their texts are not transferred."""
    chains: dict[tuple[int, int], ChainSteps] = defaultdict(list)
    rows = (
        Generation.objects.filter(work_item__run=run, work_item__state=WorkItem.State.DONE)
        .order_by("work_item", "step")
        .values_list("work_item__problem_id", "work_item__chain", "prompt_hash", MD5("text"))
    )
    for problem, chain, prompt, reply in rows:
        chains[same.get(problem, problem), chain].append((prompt, reply))
    return chains


def divergences(
    first: RunChains, other: RunChains, problems: Mapping[int, ProblemName]
) -> tuple[Divergence, ...]:
    """Return the divergence of each chain that both runs have, in the order of problem ids and chains."""
    return tuple(
        Divergence(problems[key[0]].external_id, *_first_difference(first[key], other[key]))
        for key in sorted(first.keys() & other.keys(), key=lambda key: (problems[key[0]].external_id, key[1]))
    )


def _first_difference(first: ChainSteps, other: ChainSteps) -> tuple[str, int | None]:
    """Return the kind and the step of the first difference."""
    for step, (one, two) in enumerate(zip(first, other, strict=False)):
        if one[0] != two[0]:
            return "prompt", step
        if one[1] != two[1]:
            return "reply", step
    return ("same", None) if len(first) == len(other) else ("length", min(len(first), len(other)))
