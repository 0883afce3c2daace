"""Retrieval: a draft serves as the query, and every prompt of the attempt shows the results (docs/spec.md 15)."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from dataclasses import dataclass as plain_dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic.dataclasses import dataclass

from benchmark.methods.method import Chain
from benchmark.methods.settings import MethodSettings, OneOf, option
from benchmark.models import Generation
from benchmark.prompts import NO_CONTEXT, PromptContext, solve_prompt
from benchmark.retrieval import (
    FORMULAS,
    TOKENIZERS,
    Bm25,
    Document,
    Hit,
    QueryKind,
    SearchCorpus,
    make_query,
    rank,
)

CHARACTERS_PER_TOKEN = 3.5
"""A low value for English with programs (3.4 to 3.8 were measured), which keeps texts within a bound in tokens."""


@dataclass(frozen=True)
class ContextSettings(MethodSettings):
    """Setting for the total length of the retrieved texts in a prompt."""

    shown_max_tokens: int | None = option(
        None,
        "estimated tokens of all retrieved texts; the textbook is cut first, then the least similar problem",
        ge=1,
    )


@dataclass(frozen=True)
class RankingSettings(ContextSettings):
    """Settings for the ranking of texts of any kind."""

    tokenizer: Annotated[str, OneOf(TOKENIZERS)] = option("usaco_split", "tokenizer of the texts")
    formula: Annotated[str, OneOf(FORMULAS)] = option(
        "okapi", "score of a document: a form of BM25, or TF-IDF"
    )
    k1: float = option(1.5, "BM25: saturation of repeated words", ge=0)
    b: float = option(0.75, "BM25: weight of a document's length", ge=0, le=1)
    epsilon: float = option(0.25, "BM25Okapi: weight of words in more than half of the documents", ge=0)

    @property
    def bm25(self) -> Bm25:
        """The ranking function of these settings."""
        return Bm25(self.tokenizer, self.k1, self.b, self.epsilon, self.formula)


@dataclass(frozen=True)
class QuerySettings(RankingSettings):
    """Settings for the query."""

    query: QueryKind = option(
        "reply", "query: the statement, alone or with the draft's program or its whole reply"
    )
    draft: Literal["own", "shared"] = option(
        "own",
        "a draft for each attempt (own), or one for all attempts at a problem, as in the USACO code (shared)",
    )


@plain_dataclass(frozen=True)
class Retrieved:
    """Retrieved texts for the prompts, and the record of their retrieval, which is stored with the replies."""

    context: PromptContext = NO_CONTEXT
    record: Mapping[str, Any] | None = None


RetrieveFunction = Callable[[Chain, Any, str], Awaitable[Retrieved]]
"""Retrieves one kind of text from the chain, the settings and the query, which is blank where none is needed."""


async def retrieve(
    chain: Chain, settings: ContextSettings, functions: Sequence[RetrieveFunction]
) -> Retrieved:
    """Return the texts that all functions retrieve with one query.

    The query needs one draft, unless it is the statement alone; the draft is never an attempt.
    """
    query, record = "", {}
    if isinstance(settings, QuerySettings):
        query, record = await _query(chain, settings), {"query": settings.query}
    results = [await function(chain, settings, query) for function in functions]
    context = PromptContext(
        similar=tuple(document for one in results for document in one.context.similar),
        excerpt="".join(one.context.excerpt for one in results),
        analysis="".join(one.context.analysis for one in results),
    )
    for one in results:
        record |= one.record or {}
    if settings.shown_max_tokens is not None:
        context = _truncate(context, math.floor(settings.shown_max_tokens * CHARACTERS_PER_TOKEN))
    return Retrieved(context, _with_lengths(record, context))


async def _query(chain: Chain, settings: QuerySettings) -> str:
    """Return the query, with the reply to a draft prompt where the settings need one."""
    reply = code = ""
    if settings.query != "statement":
        prompt = solve_prompt(chain.task, settings.form)
        draft = await chain.request(prompt, Generation.Purpose.DRAFT, shared=settings.draft == "shared")
        reply, code = draft.text, draft.code
    return make_query(settings.query, chain.task.statement, reply=reply, code=code)


async def search(
    corpus: SearchCorpus, settings: RankingSettings, query: str, *, top: int, **exclusions: Any
) -> tuple[list[Hit], dict[str, Any]]:
    """Return the best documents and the record of the search. `exclusions` are those of `rank`."""
    key = query, top, settings.bm25, *sorted(exclusions.items())
    find = partial(rank, corpus, query, top=top, bm25=settings.bm25, **exclusions)
    hits = await asyncio.to_thread(corpus.memoize, key, find)
    exclusions.pop("only", None)
    return hits, {**asdict(settings.bm25), **exclusions, **record_of(corpus, hits)}


def record_of(corpus: SearchCorpus, hits: Sequence[Hit]) -> dict[str, Any]:
    """Return the ids, scores and lengths of the retrieved texts, and the form and hash of the corpus."""
    return {
        "corpus_form": corpus.form,
        "corpus_hash": corpus.content_hash,
        "hits": [
            {"id": hit.id, "score": hit.score, "characters": len(corpus.documents[hit.index].text)}
            for hit in hits
        ],
    }


def _truncate(context: PromptContext, characters: int) -> PromptContext:
    """Return the context cut to this number of characters: the textbook first, then the least similar problems."""
    similar: list[Document] = []
    for document in context.similar:
        text = document.text[:characters]
        characters -= len(text)
        if text:
            similar.append(replace(document, text=text))
    return replace(context, similar=tuple(similar), excerpt=context.excerpt[:characters])


def _with_lengths(record: dict[str, Any], context: PromptContext) -> dict[str, Any]:
    """Return the record with the length to which each text was cut, None where all of it is shown."""
    shown = {document.id: len(document.text) for document in context.similar}
    if "semantic" in record:
        [hit] = record["semantic"]["hits"]
        shown_of = {"semantic": {hit["id"]: len(context.excerpt)}}
    else:
        shown_of = {}
    for kind, found in record.items():
        for hit in found["hits"] if isinstance(found, dict) and "hits" in found else ():
            length = shown_of.get(kind, shown).get(hit["id"], 0)
            hit["truncated_to"] = length if length < hit["characters"] else None
    return record
