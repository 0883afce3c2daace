"""Retrieval: a draft serves as the query, and what it finds goes into every prompt of the attempt (docs/spec.md 15)."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

from benchmark.methods.method import Chain
from benchmark.methods.settings import MethodSettings, option
from benchmark.models import Generation
from benchmark.prompts import NO_CONTEXT, PromptContext, solve_prompt
from benchmark.retrieval import (
    FORMULAS,
    QUERY_KINDS,
    TOKENIZERS,
    Bm25,
    Corpus,
    Document,
    Hit,
    QueryKind,
    make_query,
    rank,
)

Draft = Literal["own", "shared"]

CHARACTERS_PER_TOKEN = 3.5
"""Few for a token of English with programs (3.4 to 3.8 were measured), so that a guard in tokens is kept."""


@dataclass(frozen=True)
class ContextSettings(MethodSettings):
    """How much of the texts found is shown."""

    shown_max_tokens: int | None = field(
        default=None,
        metadata=option(
            "tokens of all texts shown, estimated; the textbook is cut first, then the least similar problem",
            minimum=1,
        ),
    )


@dataclass(frozen=True)
class RankingSettings(ContextSettings):
    """How texts are ranked, whichever texts they are."""

    tokenizer: str = field(
        default="usaco_split", metadata=option("how texts are cut into words", choices=tuple(TOKENIZERS))
    )
    formula: str = field(
        default="okapi",
        metadata=option("how documents are scored: a form of BM25, or TF-IDF", choices=tuple(FORMULAS)),
    )
    k1: float = field(default=1.5, metadata=option("BM25: how soon repeated words stop to count", minimum=0))
    b: float = field(
        default=0.75, metadata=option("BM25: how much a document's length counts", minimum=0, maximum=1)
    )
    epsilon: float = field(
        default=0.25,
        metadata=option("BM25Okapi: weight of words in more than half of the documents", minimum=0),
    )

    @property
    def bm25(self) -> Bm25:
        """The ranking that these settings describe."""
        return Bm25(self.tokenizer, self.k1, self.b, self.epsilon, self.formula)


@dataclass(frozen=True)
class QuerySettings(RankingSettings):
    """What texts are searched for with."""

    query: QueryKind = field(
        default="reply",
        metadata=option(
            "searched with: the statement, alone or with the draft's program or reply", choices=QUERY_KINDS
        ),
    )
    draft: Draft = field(
        default="own",
        metadata=option(
            "a draft for each attempt (own), or one for all attempts at a problem, as the USACO code (shared)",
            choices=get_args(Draft),
        ),
    )


@dataclass(frozen=True)
class Retrieved:
    """What goes into the prompts, and how it was found, as it is stored with the replies to them."""

    material: PromptContext = NO_CONTEXT
    record: Mapping[str, Any] | None = None


RetrieveFunction = Callable[[Chain, Any, str], Awaitable[Retrieved]]
"""Looks for one kind of text, with a query where it takes one."""


async def retrieve(chain: Chain, settings: ContextSettings, finds: Sequence[RetrieveFunction]) -> Retrieved:
    """One draft for all searches (none where nothing is searched with it); it is never an attempt."""
    query, record = "", {}
    if isinstance(settings, QuerySettings):
        reply = code = ""
        if settings.query != "statement":
            prompt = solve_prompt(chain.task, settings.form)
            shared = settings.draft == "shared"
            draft = await chain.ask(prompt, Generation.Purpose.DRAFT, shared=shared)
            reply, code = draft.text, draft.code
        query = make_query(settings.query, chain.task.statement, reply=reply, code=code)
        record = {"query": settings.query}
    found = [await find(chain, settings, query) for find in finds]
    material = PromptContext(
        similar=tuple(document for one in found for document in one.material.similar),
        excerpt="".join(one.material.excerpt for one in found),
        analysis="".join(one.material.analysis for one in found),
    )
    for one in found:
        record |= one.record or {}
    if settings.shown_max_tokens is not None:
        material = _within(material, math.floor(settings.shown_max_tokens * CHARACTERS_PER_TOKEN))
    return Retrieved(material, _with_lengths(record, material))


async def search(
    corpus: Corpus, settings: RankingSettings, query: str, *, top: int, **left_out: Any
) -> tuple[list[Hit], dict[str, Any]]:
    """The best documents, and the record of the search. `left_out`: as `rank` takes it."""
    asked = query, top, settings.bm25, *sorted(left_out.items())
    find = partial(rank, corpus, query, top=top, bm25=settings.bm25, **left_out)
    hits = await asyncio.to_thread(corpus.found_once, asked, find)
    left_out.pop("only", None)
    return hits, {**asdict(settings.bm25), **left_out, **record_of(corpus, hits)}


def record_of(corpus: Corpus, hits: Sequence[Hit]) -> dict[str, Any]:
    """Return the ids, scores and lengths of the texts found, and the form and hash of the corpus searched."""
    return {
        "corpus_form": corpus.form,
        "corpus_hash": corpus.content_hash,
        "hits": [
            {"id": hit.id, "score": hit.score, "characters": len(corpus.documents[hit.index].text)}
            for hit in hits
        ],
    }


def _within(material: PromptContext, characters: int) -> PromptContext:
    """The material cut to so many characters: the textbook first, then the least similar problem, then the next."""
    similar: list[Document] = []
    for document in material.similar:
        text = document.text[:characters]
        characters -= len(text)
        if text:
            similar.append(replace(document, text=text))
    return replace(material, similar=tuple(similar), excerpt=material.excerpt[:characters])


def _with_lengths(record: dict[str, Any], material: PromptContext) -> dict[str, Any]:
    """The record with the length each text was cut to, None where all of it is shown."""
    shown = {document.id: len(document.text) for document in material.similar}
    if "semantic" in record:
        [hit] = record["semantic"]["hits"]
        shown_of = {"semantic": {hit["id"]: len(material.excerpt)}}
    else:
        shown_of = {}
    for kind, found in record.items():
        for hit in found["hits"] if isinstance(found, dict) and "hits" in found else ():
            length = shown_of.get(kind, shown).get(hit["id"], 0)
            hit["truncated_to"] = length if length < hit["characters"] else None
    return record
