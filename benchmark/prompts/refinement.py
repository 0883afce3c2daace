"""The conversation of Refine (docs/spec.md 5.2; 6, P-15 and P-16): the problem, answers, and what became of each.

Of hidden tests a model learns the verdict's name. `HiddenRun` holds nothing else of a judgement on them but what
the compiler said, which knows no test.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.models import Judgement
from benchmark.prompts.assembly import Prompt, PromptFormat, Task, problem_section
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
    """What a model may be told of a judgement on hidden tests: its verdict, and the compiler's words on CE."""

    verdict: Verdict
    compiler_output: str = ""

    @classmethod
    def of(cls, stored: Judgement) -> "HiddenRun":
        """What a finished judgement says. Raises PromptLeak for one that is not finished."""
        if stored.state != Judgement.State.DONE or stored.result is None:
            raise PromptLeakError(f"judgement {stored.pk} is not finished: it has no verdict to tell")
        verdict = Verdict(stored.verdict)
        return cls(verdict, stored.result["compiler_output"] if verdict is Verdict.CE else "")


@dataclass(frozen=True)
class RefineTurn:
    """An answer that was not accepted, and where it failed: on the samples, or on the hidden tests after them."""

    reply: str
    failed: SampleRun | HiddenRun


def refine_prompt(
    task: Task, form: PromptFormat, turns: Sequence[RefineTurn], temperature: float | None = None
) -> Prompt:
    """P-15, and after it each turn: the answer, and P-16 with what became of it.

    `temperature` goes before the run's own.
    """
    first = form.section("refine/instructions").text + "\n\n" + problem_section(task, form).text
    messages = [Message("user", first)]
    for turn in turns:
        # Providers refuse a message without text.
        messages.append(
            Message("assistant", turn.reply.strip() or form.templates.render("refine/empty_answer"))
        )
        messages.append(Message("user", _repair(turn.failed, form)))
    used = ("refine/instructions", "problem", *(REFINE_TEMPLATES[1:] if turns else ()))
    return Prompt(tuple(messages), form.templates.hash(*used), temperature)


def _repair(failed: SampleRun | HiddenRun, form: PromptFormat) -> str:
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
