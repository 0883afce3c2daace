"""Retrieval: a draft serves as the query, and what it finds goes into every prompt of the attempt (METHODS.md 15)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmark.methods.method import Chain
from benchmark.methods.settings import Sampling, takes
from benchmark.models import Generation
from benchmark.prompts import NOTHING, Material, solve_prompt
from benchmark.retrieval import QUERY_KINDS, TOKENIZERS, Bm25, Corpus, Hit, QueryKind, make_query, rank


@dataclass(frozen=True)
class Searching(Sampling):
    """How texts are searched for, whichever texts they are."""

    query: QueryKind = field(
        default="reply",
        metadata=takes(
            "searched with: the statement, alone or with the draft's program or reply", choices=QUERY_KINDS
        ),
    )
    tokenizer: str = field(
        default="usaco_split", metadata=takes("how texts are cut into words", choices=tuple(TOKENIZERS))
    )
    k1: float = field(default=1.5, metadata=takes("BM25: how soon repeated words stop to count", minimum=0))
    b: float = field(
        default=0.75, metadata=takes("BM25: how much a document's length counts", minimum=0, maximum=1)
    )
    epsilon: float = field(
        default=0.25,
        metadata=takes("BM25Okapi: weight of words in more than half of the documents", minimum=0),
    )

    @property
    def bm25(self) -> Bm25:
        """The ranking that these settings describe."""
        return Bm25(self.tokenizer, self.k1, self.b, self.epsilon)


@dataclass(frozen=True)
class Found:
    """What goes into the prompts, and how it was found, as it is stored with the replies to them."""

    material: Material = NOTHING
    record: Mapping[str, Any] | None = None


Find = Callable[[Chain, Any, str], Awaitable[Found]]
"""Searches one kind of text with a query."""


async def retrieve(chain: Chain, settings: Searching, finds: Sequence[Find]) -> Found:
    """One draft for all searches (none when only the statement is searched with); it is never an attempt."""
    reply = code = ""
    if settings.query != "statement":
        draft = await chain.ask(solve_prompt(chain.task, settings.form), Generation.Purpose.DRAFT)
        reply, code = draft.text, draft.code
    query = make_query(settings.query, chain.task.statement, reply=reply, code=code)
    found = [await find(chain, settings, query) for find in finds]
    record: dict[str, Any] = {"query": settings.query}
    for one in found:
        record |= one.record or {}
    return Found(
        Material(
            similar=tuple(document for one in found for document in one.material.similar),
            excerpt="\n\n".join(one.material.excerpt for one in found if one.material.excerpt),
        ),
        record,
    )


async def search(
    corpus: Corpus, settings: Searching, query: str, *, top: int, **left_out: Any
) -> tuple[list[Hit], dict[str, Any]]:
    """The best documents, and the record of the search without them. `left_out`: as `rank` takes it."""
    hits = await asyncio.to_thread(rank, corpus, query, top=top, bm25=settings.bm25, **left_out)
    return hits, {**asdict(settings.bm25), **left_out, "corpus_hash": corpus.content_hash}
