"""Zero-shot: one question, one reply, one attempt (docs/spec.md 1.2, A1)."""

from benchmark.methods.composition import Strategy, always
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import solve_prompt


async def ask_once(chain: Chain, settings: MethodSettings, found: Retrieved) -> Generation:
    """The reply to the plain question, or to the question with what was found before it."""
    prompt = solve_prompt(chain.task, settings.form, found.material)
    return await chain.ask(prompt, Generation.Purpose.SOLVE, retrieval=found.record)


ZERO_SHOT = Strategy(
    name="zero-shot",
    summary="Ask once, with a prompt that leads through understanding, plan, pseudocode and program.",
    source="USACO paper, A1",
    settings=MethodSettings,
    templates=always(()),
    solve=ask_once,
)
