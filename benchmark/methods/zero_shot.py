"""Zero-shot: one question, one reply, one attempt (METHODS.md 1.2, A1)."""

from benchmark.methods.method import Chain, Method
from benchmark.methods.parts import ask_zero_shot
from benchmark.methods.settings import Sampling
from benchmark.models import Generation


async def solve(chain: Chain, settings: Sampling) -> Generation:
    """The only reply of the chain."""
    return await ask_zero_shot(chain, settings, Generation.Purpose.SOLVE)


METHOD = Method(
    name="zero-shot",
    summary="Ask once, with a prompt that leads through understanding, plan, pseudocode and program.",
    settings=Sampling,
    templates=("zero_shot",),
    solve=solve,
)
