"""A simulated tutor of simulated students: it sees the bug of the latest program and gives the hint that fits it.

Tests, demonstrations and rehearsals use it. `hold` lets any policy drive a session through given steps, such as the
requests of the tutors' pages.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Protocol

from pydantic.dataclasses import dataclass

from benchmark.methods import Chain, PlannedRun, Preparation, SettingsError
from benchmark.methods.settings import option
from benchmark.providers.worlds import World, hint_text, read_world, situation_of
from tutoring.arms.control_policies import TRY_AGAIN
from tutoring.arms.policy import Act, AskCode, Decide, Execute, GiveUp, Policy, Talk, TutorView
from tutoring.arms.settings import SessionSettings, prepare_sessions

RECORD = "simulated_tutor"
"""The key of world, level and verification in the record of a run."""


@dataclass(frozen=True)
class SimulatedTutorSettings(SessionSettings):
    """Settings of the simulated tutor's conduct."""

    level: int = option(3, "level of the hints; 0: none, only the neutral sentence", ge=0, le=4)
    verifies: bool = option(True, "execute the first program that is right; false: only the last one")


def simulated_tutor(world: World, *, level: int, verifies: bool) -> Decide:
    """Return the deciding function of a tutor who knows the student's world."""

    def decide(view: TutorView) -> Act:
        if verifies and view.program_right:
            return Execute()
        situation = situation_of(world, view.dialogue)
        if level and situation is not None and situation.bug is not None:
            return AskCode(hint_text(situation.slug, situation.bug, level))
        return AskCode(TRY_AGAIN if view.messages_sent else "")

    return decide


async def _begin(chain: Chain) -> Decide:
    conduct = chain.prepared[RECORD]
    return simulated_tutor(read_world(conduct["world"]), level=conduct["level"], verifies=conduct["verifies"])


SIMULATED = Policy("simulated", frozenset({"program_right"}), _begin, lambda: (TRY_AGAIN,))


def prepare_simulated(planned: PlannedRun) -> Preparation:
    """Return the preparation of sessions with a simulated tutor. Raises SettingsError for another student."""
    settings: SimulatedTutorSettings = planned.settings
    if planned.spec.provider != "simulated":
        raise SettingsError(
            f"session-simulated tutors simulated students only, not {planned.spec}. Choose --model simulated:WORLD."
        )
    prepared = prepare_sessions(SIMULATED, planned)
    conduct = {"world": planned.spec.model, "level": settings.level, "verifies": settings.verifies}
    return replace(prepared, record={**prepared.record, RECORD: conduct})


class SessionSteps(Protocol):
    """The steps of one session that is held elsewhere, for example through the tutors' pages."""

    def view(self) -> TutorView:
        """Return what the tutor may know now, after the reply to the last message has arrived."""
        ...

    def send(self, act: Talk | AskCode) -> None:
        """Send the message."""
        ...

    def execute(self) -> None:
        """Submit the latest program for judging."""
        ...

    def give_up(self, reason: str) -> None:
        """Close the session without an execution."""
        ...


async def hold(decide: Decide, steps: SessionSteps) -> None:
    """Hold a session through the steps, until the policy or the budget of generations ends it."""
    while True:
        view = steps.view()
        if not view.budget.code_generations:
            act: Act = Execute() if view.programs else GiveUp("The generations are used.")
        else:
            decided = decide(view)
            act = await decided if inspect.isawaitable(decided) else decided
        match act:
            case Talk() | AskCode():
                steps.send(act)
            case Execute():
                steps.execute()
                return
            case GiveUp(reason):
                steps.give_up(reason)
                return
