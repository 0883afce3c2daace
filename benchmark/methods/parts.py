"""The steps that methods are composed of."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.methods.method import Chain
from benchmark.methods.settings import Sampling
from benchmark.models import Generation
from benchmark.prompts import zero_shot_prompt
from benchmark.retrieval import Bm25, Document, QueryKind, make_query, rank


@dataclass(frozen=True)
class Retrieved:
    """Documents found, best first, and the record of how, as it is stored with the generation that uses them."""

    documents: Sequence[Document]
    record: dict[str, Any]


async def ask_zero_shot(chain: Chain, settings: Sampling, purpose: Generation.Purpose) -> Generation:
    """The plain question (P-1): a draft whose reply serves as a query, or already the attempt."""
    prompt = zero_shot_prompt(chain.task, settings.language, state_limits=settings.state_limits)
    return await chain.ask(prompt, purpose)


async def retrieve_similar(
    chain: Chain, query: QueryKind, draft: Generation | None, *, top: int, bm25: Bm25, exclude_same_name: bool
) -> Retrieved:
    """The `top` problems of the dataset most like this one, itself left out (METHODS.md 15, LeaveOneOut)."""
    corpus = await chain.corpus()
    text = make_query(
        query, chain.task.statement, reply=draft.text if draft else "", code=draft.code if draft else ""
    )
    hits = await asyncio.to_thread(
        rank, corpus, text, top=top, without=chain.task.id, bm25=bm25, exclude_same_name=exclude_same_name
    )
    documents = [corpus.documents[hit.index] for hit in hits]
    record = {
        "query": query,
        "engine": "rank_bm25",
        **asdict(bm25),
        "exclude_same_name": exclude_same_name,
        "corpus_hash": corpus.content_hash,
        "hits": [
            {"id": hit.id, "score": hit.score, "characters": len(document.text), "truncated_to": None}
            for hit, document in zip(hits, documents, strict=True)
        ],
    }
    return Retrieved(documents, record)
