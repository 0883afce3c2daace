"""Semantic retrieval: the textbook article that fits best (docs/spec.md 1.2, A3)."""

from dataclasses import dataclass, field

from benchmark.methods.composition import Retriever, always
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import QuerySettings, Retrieved, search
from benchmark.methods.settings import option
from benchmark.models.corpora import SHIPPED
from benchmark.prompts import TEXTBOOK_TEMPLATES, PromptContext


@dataclass(frozen=True)
class SemanticSettings(QuerySettings):
    """Which textbook is searched, and how much of the article is shown."""

    textbook: str = field(
        default=SHIPPED, metadata=option("name of the corpus; ours, or one that manage.py import_corpus made")
    )
    semantic_max_chars: int | None = field(
        default=None,
        metadata=option("characters of the article in the prompt; none shows all of it", minimum=1),
    )


async def retrieve_article(chain: Chain, settings: SemanticSettings, query: str) -> Retrieved:
    """The article most like the query, cut to its first `semantic_max_chars` characters."""
    corpus = await chain.textbook(settings.textbook)
    [hit], record = await search(corpus, settings, query, top=1)
    record["textbook"] = settings.textbook
    excerpt = corpus.documents[hit.index].text[: settings.semantic_max_chars]
    return Retrieved(PromptContext(excerpt=excerpt), {"semantic": record})


SEMANTIC = Retriever(
    name="semantic",
    summary="Show the article of a textbook that fits best.",
    source="USACO paper, A3",
    settings=SemanticSettings,
    templates=always(TEXTBOOK_TEMPLATES),
    find=retrieve_article,
)
