"""Episodic retrieval: similar problems of the same dataset with their solutions (docs/spec.md 1.2, A4)."""

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Retriever, fixed_templates
from benchmark.methods.examples import ExampleSettings, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import QuerySettings, Retrieved, search
from benchmark.prompts import SIMILAR_TEMPLATES, PromptContext


@dataclass(frozen=True)
class EpisodicSettings(ExampleSettings, QuerySettings):
    """Settings of examples that are retrieved by a query."""


async def retrieve_similar(chain: Chain, settings: EpisodicSettings, query: str) -> Retrieved:
    """Return the p problems most similar to the query, without the problem under test (docs/spec.md 15)."""
    corpus, exclusions = await other_problems(chain, settings)
    hits, record = await search(corpus, settings, query, top=settings.p, **exclusions)
    record["corpus_content"] = settings.corpus_content
    return Retrieved(PromptContext(tuple(corpus.documents[hit.index] for hit in hits)), {"episodic": record})


EPISODIC = Retriever(
    name="episodic",
    summary="Show similar problems of the dataset with their solutions.",
    source="USACO paper, A4",
    settings=EpisodicSettings,
    templates=fixed_templates(*SIMILAR_TEMPLATES),
    retrieve=retrieve_similar,
    in_usaco_paper=True,
)
