"""Episodic retrieval: similar problems of the same dataset with their solutions (METHODS.md 1.2, A4)."""

from dataclasses import dataclass, field

from benchmark.methods.composition import Search
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Found, Searching, search
from benchmark.methods.settings import takes
from benchmark.prompts import ORDINALS, SIMILAR_TEMPLATES, Material


@dataclass(frozen=True)
class Episodic(Searching):
    """How many problems are shown, and which never are."""

    p: int = field(
        default=2, metadata=takes("similar problems in the prompt", minimum=1, maximum=len(ORDINALS))
    )
    exclude_same_name: bool = field(
        default=False, metadata=takes("leave problems of the same name out of the search")
    )
    exclude_near_duplicates: bool = field(
        default=False, metadata=takes("leave problems with nearly the same statement out of the search")
    )
    exclude_not_earlier: bool = field(
        default=False, metadata=takes("search only in problems of earlier contests")
    )


async def find_similar(chain: Chain, settings: Episodic, query: str) -> Found:
    """The p problems of the dataset most like the query, the problem under test left out (METHODS.md 15)."""
    corpus = await chain.problems()
    hits, record = await search(
        corpus,
        settings,
        query,
        top=settings.p,
        without=chain.task.id,
        exclude_same_name=settings.exclude_same_name,
        exclude_near_duplicates=settings.exclude_near_duplicates,
        exclude_not_earlier=settings.exclude_not_earlier,
    )
    documents = tuple(corpus.documents[hit.index] for hit in hits)
    record["hits"] = [
        {"id": hit.id, "score": hit.score, "characters": len(document.text), "truncated_to": None}
        for hit, document in zip(hits, documents, strict=True)
    ]
    return Found(Material(similar=documents), {"episodic": record})


EPISODIC = Search(
    name="episodic",
    summary="Show similar problems of the dataset with their solutions.",
    settings=Episodic,
    templates=SIMILAR_TEMPLATES,
    find=find_similar,
)
