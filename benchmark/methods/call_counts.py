"""How many calls an attempt takes: the method is played through, so that no second description can become wrong."""

import asyncio

from benchmark.methods.dry_chain import DryChain
from benchmark.methods.method import Method
from benchmark.prompts import Task
from benchmark.retrieval import Corpus, Document, ProblemText

_TASK = Task("0", "statement", time_limit=1, memory_limit=2**20)


def calls(method: Method) -> str:
    """The fewest and the most calls of an attempt with the default settings, as "1" or "1 to 4"."""
    counts = []
    for passes in (True, False):
        chain = DryChain(_TASK, _FewTexts(), passes=passes, reply_characters=10)
        asyncio.run(method.solve(chain, method.settings()))
        counts.append(len(chain.own_prompts) + len(chain.shared_prompts))
    fewest, most = counts
    return str(fewest) if fewest == most else f"{fewest} to {most}"


class _FewTexts:
    """The smallest library in which every method finds something."""

    async def problems(self) -> Corpus:
        """Three of them."""
        text = ProblemText("statement", "analysis", "program")
        return Corpus(tuple(Document(str(number), "title", "text", text) for number in range(3)))

    async def textbook(self, name: str) -> Corpus:
        """One article."""
        return Corpus((Document("0", "title", "text"),))

    async def represented(self, kind: str) -> Corpus:
        """The same three."""
        return await self.problems()
