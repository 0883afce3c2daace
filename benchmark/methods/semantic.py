"""Semantic retrieval: the textbook article that fits best (docs/spec.md 1.2, A3)."""

from dataclasses import dataclass, field

from benchmark.methods.composition import Search, always
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Found, Searching, search
from benchmark.methods.settings import takes
from benchmark.models.corpora import SHIPPED
from benchmark.prompts import TEXTBOOK_TEMPLATES, Material


@dataclass(frozen=True)
class Semantic(Searching):
    """Which textbook is searched, and how much of the article is shown."""

    textbook: str = field(
        default=SHIPPED, metadata=takes("name of the corpus; ours, or one that manage.py import_corpus made")
    )
    semantic_max_chars: int | None = field(
        default=None,
        metadata=takes("characters of the article in the prompt; none shows all of it", minimum=1),
    )


async def find_article(chain: Chain, settings: Semantic, query: str) -> Found:
    """The article most like the query, cut to its first `semantic_max_chars` characters."""
    corpus = await chain.textbook(settings.textbook)
    [hit], record = await search(corpus, settings, query, top=1)
    record["textbook"] = settings.textbook
    excerpt = corpus.documents[hit.index].text[: settings.semantic_max_chars]
    return Found(Material(excerpt=excerpt), {"semantic": record})


SEMANTIC = Search(
    name="semantic",
    summary="Show the article of a textbook that fits best.",
    source="USACO paper, A3",
    settings=Semantic,
    templates=always(TEXTBOOK_TEMPLATES),
    find=find_article,
)
