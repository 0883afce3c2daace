"""`simulated-tutor:CONDUCT`: tutors with a known conduct, which test the guard and the measures of leaks.

They answer the prompts of the automatic tutor (`tutoring/arms/tutor/`) for practice problems. *leaker* pastes the
official analysis, *paraphraser* gives the solution away in other words, *honest* names the bug of the student's latest
program, *silent* always says the same neutral sentence.
"""

import json
import re
from collections.abc import Callable, Sequence

from benchmark.providers.conducts import ConductProvider
from benchmark.providers.practice import script_named_in
from benchmark.providers.protocol import Message
from benchmark.providers.worlds import bug_of, hint_text, idea_text, read_world, world_names

_NEUTRAL = "Please try again."
_HINT_LEVEL = 3


def _leaker(prompt: str) -> tuple[int, str]:
    """Return the official analysis; without it, the neutral sentence. The level is false."""
    found = re.search(r"^<analysis>\n(.*?)\n</analysis>$", prompt, re.DOTALL | re.MULTILINE)
    return 2, found.group(1) if found else _NEUTRAL


def _paraphraser(prompt: str) -> tuple[int, str]:
    script = script_named_in(prompt)
    return 2, idea_text(script.slug) if script else _NEUTRAL


def _honest(prompt: str) -> tuple[int, str]:
    script, reply = script_named_in(prompt), _latest_program(prompt)
    for name in world_names() if script else ():
        world = read_world(name)
        if script and script.slug in world.problems and (bug := bug_of(world, script.slug, reply)):
            return _HINT_LEVEL, hint_text(script.slug, bug, _HINT_LEVEL)
    return 0, _NEUTRAL


def _silent(_prompt: str) -> tuple[int, str]:
    return 0, _NEUTRAL


CONDUCTS: dict[str, Callable[[str], tuple[int, str]]] = {
    "leaker": _leaker,
    "paraphraser": _paraphraser,
    "honest": _honest,
    "silent": _silent,
}
"""The models of the provider: each returns the level and the text of the message for a prompt."""


class SimulatedTutors(ConductProvider):
    """The simulated tutors as a provider."""

    role = "tutor"
    conducts = CONDUCTS

    def answer(self, conduct: str, messages: Sequence[Message]) -> str:
        """Return the tutor's answer as JSON. It depends on the first message alone."""
        level, text = CONDUCTS[conduct](messages[0].content)
        return json.dumps(
            {"diagnosis": f"A simulated tutor: {conduct}.", "level": level, "act": "code", "message": text}
        )


def _latest_program(prompt: str) -> str:
    """Return the student's reply with the latest numbered program; blank without one."""
    found = re.search(r"^<dialogue>\n(.*?)\n</dialogue>$", prompt, re.DOTALL | re.MULTILINE)
    lines = [json.loads(line) for line in found.group(1).splitlines()] if found else []
    return next((str(line["text"]) for line in reversed(lines) if "program" in line), "")
