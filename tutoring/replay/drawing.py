"""The draws of a replay: requests in a seeded order, replies stored when they arrive, judgements, resumption."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

import judge
from benchmark.extraction import extract_program
from benchmark.model_calls.reply_cache import draw_seed, reply_columns
from benchmark.model_calls.requests import ModelRequest, RequestMonitor, SpendTracker, send_all
from benchmark.models import Judgement, Problem
from benchmark.providers import Message, ModelReply, Parameters, draws_by_seed, parse_model_spec
from tutoring.models import HintCard, Placement, ReplayDraw, ReplayRun, ReplayState
from tutoring.replay.applicability import lock_run
from tutoring.replay.figures import figures_of
from tutoring.replay.planning import FIXED_TEXTS, arm_prompt
from tutoring.replay.programs import judge_all
from tutoring.replay.signatures import signature_of, uptake
from tutoring.sessions.programs import unchanged


async def execute(run: ReplayRun, tracker: SpendTracker, monitor: RequestMonitor) -> None:
    """Request the missing draws. Each reply is stored when it arrives; the process may end at any time.

    Faults of the provider are stored in the run's row; a resumed run repeats these requests. Raises ProviderError.
    """
    requests = await sync_to_async(missing_requests)(run)
    monitor.begin(len(requests))
    await sync_to_async(_open)(run)
    spec, parameters = parse_model_spec(run.model_spec), Parameters.from_json(run.parameters)
    faults = (await send_all(requests, spec, parameters, tracker, monitor)).faults if requests else {}
    run.faults = [{"about": about, "fault": fault} for about, fault in faults.items()]
    run.stop_reason = monitor.stop.reason
    await sync_to_async(run.save)(update_fields=["faults", "stop_reason"])


@transaction.atomic
def _open(run: ReplayRun) -> None:
    """Open the run before its first draw is requested. From then on no label of a placement is stored."""
    lock_run(run.pk)
    run.state = ReplayRun.State.OPEN
    run.save(update_fields=["state"])


def missing_requests(run: ReplayRun) -> list[ModelRequest]:
    """Return the requests of the draws that are not stored, all arms mixed in the order of the run's seed."""
    there = set(ReplayDraw.objects.filter(state__run=run).values_list("state_id", "arm", "card_id", "number"))
    texts = dict(HintCard.objects.filter(pk__in=_sent_cards(run)).values_list("pk", "text"))
    wanted = []
    for state in run.states.prefetch_related("placements").order_by("pk"):
        prefix = tuple(Message(one["role"], one["content"]) for one in state.messages)
        for draw in _draws_of(state, run.draws):
            if (state.pk, draw.arm, draw.card_id, draw.number) not in there:
                text = texts[draw.card_id] if draw.card_id else FIXED_TEXTS[draw.arm]
                wanted.append((draw, text, arm_prompt(prefix, text, state.language)))
    order = random.Random(run.seed)  # noqa: S311  (an order, not a secret)
    order.shuffle(wanted)
    seeded = draws_by_seed(parse_model_spec(run.model_spec))
    return [
        ModelRequest(
            f"{draw.arm} {draw.number} at state {draw.state_id}",
            prompt,
            partial(_store, draw, prompt.hash),
            _seed(draw, text) if seeded else None,
        )
        for draw, text, prompt in wanted
    ]


def _sent_cards(run: ReplayRun) -> set[int]:
    placed = Placement.objects.filter(state__run=run).values_list("card_id", flat=True)
    return {*placed, *(card for shams in run.states.values_list("shams", flat=True) for card in shams)}


def _draws_of(state: ReplayState, draws: int) -> Iterator[ReplayDraw]:
    """Yield the unsaved rows of all draws at a state. A sham whose card was erased has none."""
    for number in range(draws):
        for arm in FIXED_TEXTS:
            yield ReplayDraw(state=state, arm=arm, number=number)
        for card in state.shams[number : number + 1]:
            yield ReplayDraw(state=state, arm="sham", card_id=card, number=number)
        for placement in state.placements.all():
            yield ReplayDraw(state=state, arm="hint", card_id=placement.card_id, number=number)


def _seed(draw: ReplayDraw, text: str) -> int:
    """Return the seed of a scripted model: the same draw has the same reply on every machine."""
    return draw_seed(f"{draw.state.key} {draw.arm} {draw.number} {text}", None)


def _store(draw: ReplayDraw, prompt_hash: str, reply: ModelReply) -> None:
    draw.prompt_hash, draw.reply = prompt_hash, reply.text
    draw.program = extract_program(reply.text, draw.state.language).code or ""
    for name, value in reply_columns(reply).items():
        setattr(draw, name, value)
    # A transaction that failed is repeated with the same object.
    draw.pk, draw._state.adding = None, True
    draw.save(force_insert=True)


def judge_draws(
    run: ReplayRun, *, jobs: int, begin: Callable[[int], object], judged: Callable[[], object]
) -> None:
    """Judge the programs of the draws. A draw without a program is wrong; after a fault of the judge it stays open."""
    draws = ReplayDraw.objects.filter(state__run=run, right=None)
    draws.filter(program="").update(right=False, uptake="unknown")
    states = {one.pk: one for one in run.states.select_related("problem__dataset", "judgement")}
    waiting: dict[tuple[int, str, str], list[ReplayState]] = {}
    programs: dict[tuple[int, str, str], tuple[Problem, str, str]] = {}
    for key, source in draws.order_by("state", "program").values_list("state", "program").distinct():
        program = (states[key].problem, source, states[key].language)
        of_program = (program[0].pk, *program[1:])
        waiting.setdefault(of_program, []).append(states[key])
        programs[of_program] = program
    begin(len(programs))

    def store(program: tuple[Problem, str, str], judgement: Judgement) -> None:
        if judgement.state == Judgement.State.DONE:
            for state in waiting[program[0].pk, program[1], program[2]]:
                equal = draws.filter(state=state, program=program[1])
                equal.update(judgement=judgement, **_outcome(state, program[1], judgement))
        judged()

    judge_all(programs.values(), jobs=jobs, purpose=Judgement.Purpose.VERDICT, judged=store)


def _outcome(state: ReplayState, program: str, judgement: Judgement) -> dict[str, Any]:
    """Return the columns of the draws with this program at a state."""
    if judgement.verdict == judge.Verdict.AC:
        return {"right": True, "uptake": "solved"}
    before, after = signature_of(state.judgement), signature_of(judgement)
    same = unchanged(program, state.program, state.language)
    return {"right": False, "uptake": uptake(before, after, unchanged=same)}


def conclude(run: ReplayRun) -> None:
    """Store the figures of the run, and whether all its draws are there and judged."""
    run.refresh_from_db()
    expected = sum(sum(1 for _ in _draws_of(state, run.draws)) for state in run.states.all())
    complete = ReplayDraw.objects.filter(state__run=run, right__isnull=False).count() == expected
    run.state = ReplayRun.State.FINISHED if complete else ReplayRun.State.STOPPED
    run.finished_at = timezone.now() if complete else None
    run.figures = figures_of(run)
    run.save(update_fields=["state", "finished_at", "figures"])
