"""Episodic retrieval: similar problems of the same dataset with their solutions (docs/spec.md 1.2, A4)."""

from dataclasses import dataclass

from benchmark.methods.composition import Retriever, always
from benchmark.methods.examples import ExampleSettings, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import QuerySettings, Retrieved, search
from benchmark.prompts import SIMILAR_TEMPLATES, PromptContext


@dataclass(frozen=True)
class EpisodicSettings(ExampleSettings, QuerySettings):
    """Examples that are searched for."""


async def retrieve_similar(chain: Chain, settings: EpisodicSettings, query: str) -> Retrieved:
    """The p problems of the dataset most like the query, the problem under test left out (docs/spec.md 15)."""
    corpus, left_out = await other_problems(chain, settings)
    hits, record = await search(corpus, settings, query, top=settings.p, **left_out)
    record["corpus_content"] = settings.corpus_content
    return Retrieved(PromptContext(tuple(corpus.documents[hit.index] for hit in hits)), {"episodic": record})


EPISODIC = Retriever(
    name="episodic",
    summary="Show similar problems of the dataset with their solutions.",
    source="USACO paper, A4",
    settings=EpisodicSettings,
    templates=always(SIMILAR_TEMPLATES),
    find=retrieve_similar,
)
