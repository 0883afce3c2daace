"""Semantic retrieval: the textbook article that fits best (METHODS.md 1.2, A3)."""

from dataclasses import dataclass, field

from benchmark.methods.composition import Search
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Found, Searching, search
from benchmark.methods.settings import takes
from benchmark.prompts import TEXTBOOK_TEMPLATES, Material


@dataclass(frozen=True)
class Semantic(Searching):
    """Which textbook is searched, and how much of the article is shown."""

    textbook: str = field(
        default="cpbook", metadata=takes("name of the corpus, as manage.py import_corpus made it")
    )
    semantic_max_chars: int | None = field(
        default=None,
        metadata=takes("characters of the article in the prompt; none shows all of it", minimum=1),
    )


async def find_article(chain: Chain, settings: Semantic, query: str) -> Found:
    """The article most like the query, cut to its first `semantic_max_chars` characters."""
    corpus = await chain.textbook(settings.textbook)
    [hit], record = await search(corpus, settings, query, top=1)
    text = corpus.documents[hit.index].text
    shown = text[: settings.semantic_max_chars]
    record["textbook"] = settings.textbook
    record["hits"] = [
        {
            "id": hit.id,
            "score": hit.score,
            "characters": len(text),
            "truncated_to": len(shown) if len(shown) < len(text) else None,
        }
    ]
    return Found(Material(excerpt=shown), {"semantic": record})


SEMANTIC = Search(
    name="semantic",
    summary="Show the article of a textbook that fits best.",
    settings=Semantic,
    templates=TEXTBOOK_TEMPLATES,
    find=find_article,
)
