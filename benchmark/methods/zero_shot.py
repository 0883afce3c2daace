"""Zero-shot: one prompt, one reply, one attempt (docs/spec.md 1.2, A1)."""

from benchmark.methods.composition import Strategy, fixed_templates
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import solve_prompt


async def solve_once(chain: Chain, settings: MethodSettings, retrieved: Retrieved) -> Generation:
    """Return the reply to the problem's prompt, which shows the retrieved texts first."""
    prompt = solve_prompt(chain.task, settings.form, retrieved.context)
    return await chain.request(prompt, Generation.Purpose.SOLVE, retrieval=retrieved.record)


ZERO_SHOT = Strategy(
    name="zero-shot",
    summary="Ask once, with a prompt that leads through understanding, plan, pseudocode and program.",
    source="USACO paper, A1",
    settings=MethodSettings,
    templates=fixed_templates(),
    solve=solve_once,
    in_usaco_paper=True,
)
