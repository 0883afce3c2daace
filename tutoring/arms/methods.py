"""The arms as methods of run_baseline; importing this module registers them (`settings.METHOD_MODULES`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, partial

from benchmark.methods import Chain, Example, Method, MethodSettings, PlannedRun, Preparation, register_method
from benchmark.models import Generation
from tutoring.arms import control_policies as control
from tutoring.arms.leaks import METHOD as LEAK_METHOD
from tutoring.arms.policy import Policy
from tutoring.arms.settings import SessionSettings, example, prepare_sessions
from tutoring.arms.simulated_tutor import RECORD, SIMULATED, SimulatedTutorSettings, prepare_simulated
from tutoring.arms.transcript import hold_session
from tutoring.arms.tutor.policy import TUTOR
from tutoring.arms.tutor.settings import DRY_REPLY, TutorSettings, prepare_tutor, tutor_example
from tutoring.sessions.dialogue import prompt_texts

PREFIX = "session-"
"""The beginning of the names of all arms."""

NEUTRAL = f"{PREFIX}{control.NEUTRAL.name}"
"""The method of the neutral arm."""

POLICIES: dict[str, Policy] = {}
"""The policies of the registered arms, by the name of the method."""


def texts_of(policy: Policy) -> Mapping[str, str]:
    """Return the texts of the session's prompts and of the policy by name."""
    texts = {f"session/{name}": text for name, text in prompt_texts().items()}
    return texts | {f"session-{policy.name}/{number}": text for number, text in enumerate(policy.texts())}


@cache
def template_hash(name: str) -> str:
    """Return the sha256 of all texts that the prompts of the arm are made of."""
    texts = texts_of(POLICIES[name])
    return hashlib.sha256("\n".join(f"{key}\n{texts[key]}" for key in sorted(texts)).encode()).hexdigest()


async def _solve(name: str, chain: Chain, _settings: SessionSettings) -> Generation:
    """Hold the session, and return its last program, or its last reply if it has none."""
    transcript = await hold_session(chain, POLICIES[name], template_hash(name))
    answers = [answer for _, answer in transcript.programs] or [*transcript.answers.values()]
    return answers[-1]


def register_arm(
    policy: Policy,
    summary: str,
    warning: str,
    *,
    tutor_reply: str = "",
    settings: type[MethodSettings] = SessionSettings,
    prepare: Callable[[PlannedRun], Preparation] | None = None,
    example_run: Callable[[], Example] = example,
) -> None:
    """Register the method `session-NAME` of a policy."""
    name = PREFIX + policy.name
    POLICIES[name] = policy
    register_method(
        Method(
            name=name,
            summary=summary,
            source=f"{'automatic tutor' if tutor_reply else 'control arm'} of tutoring studies",
            warning=warning,
            settings_classes=(settings,),
            templates=lambda _settings: (),
            needs_analysis="analysis" in policy.knows,
            needs_verifier=False,
            needs_outputs=False,
            in_usaco_paper=False,
            scoring="pass",
            solve=partial(_solve, name),
            prepare=prepare or partial(prepare_sessions, policy),
            texts=partial(texts_of, policy),
            fresh_draws=True,
            judges_every_program=True,
            tutor_reply=tutor_reply,
            example=example_run,
        )
    )


def _simulated_example() -> Example:
    usual = example()
    conduct = {"world": "no-receptivity", "level": 3, "verifies": True}
    return Example({**usual.prepared, RECORD: conduct}, usual.texts)


register_arm(
    control.AGAIN,
    "Hold sessions in which every message begins a new dialogue: independent samples at the session's budget.",
    "A control: independent samples at the budget of a session; no tutor says anything.",
)
register_arm(
    control.NEUTRAL,
    "Hold sessions whose tutor says a neutral sentence after each program, up to the last generation.",
    "A control: the tutor only says that the model should try again.",
)
register_arm(
    control.VERDICT,
    "Hold sessions whose tutor says that a program is not correct, and executes the first right one.",
    "A control: the tutor only says whether a program is correct.",
)
register_arm(
    control.SHAM,
    "Hold sessions whose tutor says reviewed compliant hints of other problems.",
    "A control: the tutor's hints belong to other problems.",
)
register_arm(
    control.WITH_ANALYSIS,
    "Hold sessions that begin with the official analysis, without its programs.",
    "A control: the model was shown the official analysis of each problem. Not a score of a method.",
)
register_arm(
    control.WITH_REFERENCE,
    "Hold sessions that begin with the official analysis and a reference program.",
    "A control: the model was shown a program that solves each problem. Not a score of a method.",
)
register_arm(
    TUTOR,
    "Hold sessions whose tutor is a language model; a guard checks each message before it is sent.",
    "An automatic tutor: a language model wrote the tutor's messages.",
    settings=TutorSettings,
    prepare=prepare_tutor,
    example_run=tutor_example,
    tutor_reply=DRY_REPLY,
)
register_arm(
    SIMULATED,
    "Hold sessions of a simulated student with a simulated tutor, whose hints fit the program's bug.",
    "A simulation: student and tutor are simulated, with stated probabilities.",
    settings=SimulatedTutorSettings,
    prepare=prepare_simulated,
    example_run=_simulated_example,
)

register_method(LEAK_METHOD)
