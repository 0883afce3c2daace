"""Rows of a replay whose placements are fixed, for benchmarks.replay and benchmarks.run_pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark.models import Problem
    from tutoring.models import ReplayRun

PROGRAM = "a, b = map(int, input().split())\nprint(a - b)\n"
HINT = "Which of the two numbers do you subtract in the second sample, and why? " * 3


def fix_replay(problems: Sequence[Problem], states: int, draws: int, spec: str) -> ReplayRun:
    """Store a replay with this number of states, each with one card of a session, spread evenly over the problems."""
    from benchmark.judging import request_judgement, store_submission
    from benchmark.model_calls import catalogue
    from benchmark.models import Judgement
    from benchmark.providers import Parameters, parse_model_spec
    from tutoring.models import Event, HintCard, Placement, ReplayRun, ReplayState, Session

    parameters = Parameters()
    run = ReplayRun.objects.create(
        model_spec=spec, model=catalogue.model_for(parse_model_spec(spec), parameters), mode="transplant",
        parameters=parameters.to_json(), selection="first", draws=draws, seed=307,
        manifest={"excluded": {}, "scripted_model": False, "thresholds": {}},
    )  # fmt: skip
    test = {"name": "1", "verdict": "WA", "output": "-1", "errors": "", "sample": False}
    judgements = []
    for problem in problems:
        submission = store_submission(problem, PROGRAM, "python")
        judgement = request_judgement(submission, stop_at_first_failure=False)
        judgement.state, judgement.verdict = Judgement.State.DONE, "WA"
        judgement.passed, judgement.total = 0, 1
        judgement.result = {"verdict": "WA", "total": 1, "tests": [test]}
        judgement.save()
        judgements.append(judgement)
    places = [number % len(problems) for number in range(states)]
    sessions = Session.objects.bulk_create(
        Session(problem=problems[place], state="closed", origin=Session.Origin.IMPORTED) for place in places
    )
    events = Event.objects.bulk_create(
        Event(
            session=one, seq=1, kind="message", version=2, data={"mode": "code", "text": HINT, "sent": HINT}
        )
        for one in sessions
    )
    cards = HintCard.objects.bulk_create(
        HintCard(
            key=f"{event.pk:064}", event=event, problem=problems[place], text=HINT, requested_code=True, position=1,
            language="python", program=PROGRAM, judgement=judgements[place], level=1 + event.pk % 3, stage="plan",
        )
        for place, event in zip(places, events, strict=True)
    )  # fmt: skip
    stored = ReplayState.objects.bulk_create(
        ReplayState(
            run=run, key=f"{card.pk:064}", problem=card.problem, language="python", program=PROGRAM,
            judgement=judgements[place], shams=[cards[number - 1].pk] * draws,
            messages=[
                {"role": "user", "content": card.problem.statement},
                {"role": "assistant", "content": f"```python\n{PROGRAM}```"},
            ],
        )
        for number, (place, card) in enumerate(zip(places, cards, strict=True))
    )  # fmt: skip
    Placement.objects.bulk_create(
        Placement(state=state, card=card) for state, card in zip(stored, cards, strict=True)
    )
    return run
