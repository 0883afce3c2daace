"""Episodic retrieval: similar problems of the same dataset with their solutions (docs/spec.md 1.2, A4)."""

from dataclasses import dataclass

from benchmark.methods.composition import Search, always
from benchmark.methods.examples import Examples, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Found, Searching, search
from benchmark.prompts import SIMILAR_TEMPLATES, Material


@dataclass(frozen=True)
class Episodic(Examples, Searching):
    """Examples that are searched for."""


async def find_similar(chain: Chain, settings: Episodic, query: str) -> Found:
    """The p problems of the dataset most like the query, the problem under test left out (docs/spec.md 15)."""
    corpus, left_out = await other_problems(chain, settings)
    hits, record = await search(corpus, settings, query, top=settings.p, **left_out)
    record["corpus_content"] = settings.corpus_content
    return Found(Material(tuple(corpus.documents[hit.index] for hit in hits)), {"episodic": record})


EPISODIC = Search(
    name="episodic",
    summary="Show similar problems of the dataset with their solutions.",
    source="USACO paper, A4",
    settings=Episodic,
    templates=always(SIMILAR_TEMPLATES),
    find=find_similar,
)
