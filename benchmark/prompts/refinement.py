"""The conversation of Refine (docs/spec.md 5.2; 6, P-15 and P-16): the problem, and answers with their results.

The model gets only the name of the verdict on hidden tests. `HiddenRun` contains nothing else of such a judgement
except the compiler output, which is independent of the tests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.models import Judgement
from benchmark.prompts.assembly import Prompt, PromptFormat, VisibleProblem, problem_section
from benchmark.prompts.feedback import FEEDBACK_TEMPLATES, SampleRun, describe_first_failure
from benchmark.prompts.leaks import PromptLeakError
from benchmark.providers import Message
from judge import VERDICT_MEANING, Verdict

_HINTED = (Verdict.WA, Verdict.TLE, Verdict.MLE, Verdict.OLE, Verdict.RTE, Verdict.CE, Verdict.NO_CODE)

REFINE_TEMPLATES = (
    "refine/instructions",
    "refine/repair",
    "refine/empty_answer",
    *(f"refine/{verdict.lower()}" for verdict in _HINTED),
    *FEEDBACK_TEMPLATES,
)


@dataclass(frozen=True)
class HiddenRun:
    """The visible result of a judgement on hidden tests: its verdict, and the compiler output of CE."""

    verdict: Verdict
    compiler_output: str = ""

    @classmethod
    def of(cls, stored: Judgement) -> "HiddenRun":
        """Return the result of a finished judgement. Raises PromptLeakError for an unfinished one."""
        if stored.state != Judgement.State.DONE or stored.result is None:
            raise PromptLeakError(f"judgement {stored.pk} is not finished and has no verdict")
        verdict = Verdict(stored.verdict)
        return cls(verdict, stored.result["compiler_output"] if verdict is Verdict.CE else "")


@dataclass(frozen=True)
class RefineTurn:
    """An answer that was not accepted, with its failure on the samples or on the hidden tests."""

    reply: str
    failed: SampleRun | HiddenRun
    blocks: tuple[Mapping[str, Any], ...] = ()
    """See `Message.blocks`."""


def refine_prompt(
    task: VisibleProblem, form: PromptFormat, turns: Sequence[RefineTurn], temperature: float | None = None
) -> Prompt:
    """Return prompt P-15, followed for each turn by the answer and by P-16 with its result.

    `temperature` overrides the run's own.
    """
    first = form.section("refine/instructions").text + "\n\n" + problem_section(task, form).text
    messages = [Message("user", first)]
    for turn in turns:
        # Providers refuse a message without text.
        text = turn.reply.strip() or form.templates.render("refine/empty_answer")
        messages.append(Message("assistant", text, turn.blocks))
        messages.append(Message("user", repair_message(turn.failed, form)))
    used = ("refine/instructions", "problem", *(REFINE_TEMPLATES[1:] if turns else ()))
    return Prompt(tuple(messages), form.templates.hash(*used), temperature)


def repair_message(failed: SampleRun | HiddenRun, form: PromptFormat) -> str:
    """Return P-16: the phase, the verdict and its details, and the request for a correction."""
    verdict = failed.verdict
    if verdict is Verdict.NO_CODE:
        phase, details = "no program found", ""
    elif verdict is Verdict.CE:
        phase, details = "compilation", f"What the compiler said:\n{failed.compiler_output}"
    elif isinstance(failed, SampleRun):
        phase, details = "samples of the statement", describe_first_failure(failed, form.templates)
    else:
        phase, details = "hidden tests, after all samples had passed", ""
    return form.section(
        "refine/repair",
        phase=phase,
        verdict=VERDICT_MEANING[verdict],
        details=details,
        hint=form.templates.render(f"refine/{verdict.lower()}"),
    ).text
