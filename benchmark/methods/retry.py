"""The control for Reflexion: the same question again, at the same budget and with the same choice (docs/spec.md 8.3).

What Reflexion gains over it is due to what the model is told. `reflexion --set feedback=none` is the other control:
there the model sees its attempts again and is told nothing of them.
"""

from dataclasses import dataclass, field
from typing import Any, get_args

from benchmark.methods.composition import Strategy, always
from benchmark.methods.method import Chain
from benchmark.methods.reflexion import Selection, select_answer
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings, option
from benchmark.methods.zero_shot import ask_once
from benchmark.models import Generation


@dataclass(frozen=True)
class RetrySettings(MethodSettings):
    """How often the question is asked, and which of the answers counts."""

    i: int = field(default=3, metadata=option("retries, as many as reflections", minimum=0, maximum=20))
    run_all: bool = field(
        default=False, metadata=option("ask i times again even after an answer that passes the samples")
    )
    selection: Selection = field(
        default="first-passing",
        metadata=option(
            "the answer that counts: the first to pass the samples, else the last; or always the last",
            choices=get_args(Selection),
        ),
    )


async def resample(chain: Chain, settings: Any, found: Retrieved) -> Generation:
    """Up to i+1 answers to the same question, none of which knows of another; the selected one is the attempt."""
    answers: list[Generation] = []
    passed: list[bool] = []
    while len(answers) <= settings.i and (settings.run_all or not any(passed)):
        answers.append(await ask_once(chain, settings, found))
        passed.append((await chain.run_samples(answers[-1])).passed)
    return answers[select_answer(passed, settings.selection)]


RETRY = Strategy(
    name="retry",
    summary="Ask the same question again until the samples pass, telling nothing.",
    source="control at the budget of Reflexion",
    caveat="A control: the same question asked again, with no word about the attempts before.",
    settings=RetrySettings,
    templates=always(()),
    solve=resample,
)
