"""The control for Reflexion: the same prompt repeated, at the same budget and selection (docs/spec.md 8.3).

The gain of Reflexion over it is due to the feedback. `reflexion --set feedback=none` is the other control: its prompts
show the previous attempts without any feedback.
"""

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Strategy, fixed_templates
from benchmark.methods.method import Chain
from benchmark.methods.reflexion import Selection, select_answer
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings, option
from benchmark.methods.zero_shot import solve_once
from benchmark.models import Generation


@dataclass(frozen=True)
class RetrySettings(MethodSettings):
    """Settings for the number of repetitions and the selection of the answer that counts."""

    i: int = option(3, "retries, as many as reflections", ge=0, le=20)
    run_all: bool = option(False, "retry i times even after an answer that passes the samples")
    selection: Selection = option(
        "first-passing",
        "the answer that counts: the first that passes the samples, else the last; or always the last",
    )


async def resample(chain: Chain, settings: RetrySettings, retrieved: Retrieved) -> Generation:
    """Return the selected one of up to i+1 independent answers to the same prompt."""
    answers: list[Generation] = []
    passed: list[bool] = []
    while len(answers) <= settings.i and (settings.run_all or not any(passed)):
        answers.append(await solve_once(chain, settings, retrieved))
        passed.append((await chain.run_samples(answers[-1])).passed)
    return answers[select_answer(passed, settings.selection)]


RETRY = Strategy(
    name="retry",
    summary="Ask the same question again until the samples pass, without feedback.",
    source="control at the budget of Reflexion",
    warning="A control: the same prompt repeated, without feedback on the previous attempts.",
    settings=RetrySettings,
    templates=fixed_templates(),
    solve=resample,
)
