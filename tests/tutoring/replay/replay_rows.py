"""Rows of a finished replay, stored without a model or a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from benchmark.judging import request_judgement, store_submission
from benchmark.model_calls import catalogue
from benchmark.models import Judgement, Problem
from benchmark.providers import Parameters, parse_model_spec
from tutoring.models import Event, HintCard, Placement, ReplayDraw, ReplayRun, ReplayState, Session
from tutoring.models.payloads import MessageSent
from tutoring.replay.figures import figures_of
from tutoring.sessions.recording import append_event

SPEC = "openai:replayed"
SHARED = ("neutral", "verdict", "sham")


def judged(problem: Problem, source: str, verdicts: Sequence[str]) -> Judgement:
    """Store a program with the verdicts of its tests."""
    tests = [
        {"name": f"{number}", "verdict": verdict, "output": "", "errors": "", "sample": False}
        for number, verdict in enumerate(verdicts)
    ]
    first = next((one for one in verdicts if one != "AC"), "AC")
    judgement = request_judgement(store_submission(problem, source, "python"), stop_at_first_failure=False)
    judgement.state, judgement.verdict, judgement.finished_at = "done", first, timezone.now()
    judgement.passed, judgement.total = verdicts.count("AC"), len(verdicts)
    judgement.result = {"verdict": first, "total": len(tests), "tests": tests}
    judgement.save()
    return judgement


def store_card(problem: Problem, text: str = "Look at the sample.", **fields: Any) -> HintCard:
    """Store a card of a new session."""
    session = Session.objects.create(problem=problem, state="closed", origin=Session.Origin.IMPORTED)
    event = append_event(session, MessageSent(mode="code", text=text, sent=text))
    assert isinstance(event, Event)
    program = f"print({problem.pk})"
    defaults = {
        "key": f"{event.pk:064}", "event": event, "problem": problem, "text": text, "requested_code": True,
        "position": 1, "language": "python", "program": program,
        "judgement": judged(problem, program, ["AC", "WA", "WA", "WA"]), "rule_set": 1, "level": 2,
    }  # fmt: skip
    return HintCard.objects.create(**defaults | fields)


def store_run(**fields: Any) -> ReplayRun:
    """Store a replay without states."""
    parameters = Parameters()
    defaults = {
        "model_spec": SPEC, "model": catalogue.model_for(parse_model_spec(SPEC), parameters),
        "parameters": parameters.to_json(), "mode": "transplant", "selection": "primary", "draws": 4, "seed": 307,
        "state": "finished", "manifest": {"excluded": {"not reviewed": 2}, "scripted_model": False, "thresholds": {}},
    }  # fmt: skip
    return ReplayRun.objects.create(**defaults | fields)


def store_state(
    run: ReplayRun, card: HintCard, sham: HintCard, right: Mapping[str, int], draws: int = 4
) -> ReplayState:
    """Store a state of a card with its draws, of which `right` are right in each arm, and its placement."""
    assert card.judgement is not None
    state = ReplayState.objects.create(
        run=run, key=f"{card.pk:064}", problem=card.problem, messages=[{"role": "user", "content": "…"}],
        language="python", program=card.program, judgement=card.judgement, shams=[sham.pk] * draws,
    )  # fmt: skip
    columns = {"fit": "other", "overlap": 0.2, "agreement": 0.0} if run.mode == "own" else {}
    Placement.objects.create(state=state, card=card, **columns)
    ReplayDraw.objects.bulk_create(
        ReplayDraw(
            state=state, arm=arm, number=number, card={"hint": card, "sham": sham}.get(arm), reply="```python\n1\n```",
            program=f"print({number})", right=number < right[arm], prompt_hash="",
            uptake="solved" if number < right[arm] else "worse",
        )
        for arm in ("hint", *SHARED)
        for number in range(draws)
    )  # fmt: skip
    return state


def store_replay(problems: Sequence[Problem], **fields: Any) -> ReplayRun:
    """Store a replay with a card and a state for each problem, and its figures."""
    run = store_run(**fields)
    cards = [store_card(problem) for problem in problems]
    for number, card in enumerate(cards):
        right = {"hint": 3, "neutral": number % 2, "verdict": 1, "sham": 0}
        store_state(run, card, cards[number - 1], right)
    run.figures = figures_of(run)
    run.save()
    return run
