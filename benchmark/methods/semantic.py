"""Semantic retrieval: the textbook article most similar to the query (docs/spec.md 1.2, A3)."""

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Retriever, fixed_templates
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import QuerySettings, Retrieved, search
from benchmark.methods.settings import Text, option
from benchmark.models.corpora import SHIPPED
from benchmark.prompts import TEXTBOOK_TEMPLATES, PromptContext


@dataclass(frozen=True)
class SemanticSettings(QuerySettings):
    """Settings for the textbook to search and the length of the excerpt."""

    textbook: Text = option(
        SHIPPED, "name of the textbook corpus: the shipped one, or one created by manage.py import_corpus"
    )
    semantic_max_chars: int | None = option(
        None, "characters of the article in the prompt; none shows all of it", ge=1
    )


async def retrieve_article(chain: Chain, settings: SemanticSettings, query: str) -> Retrieved:
    """Return the article most similar to the query, cut to its first `semantic_max_chars` characters."""
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
    templates=fixed_templates(*TEXTBOOK_TEMPLATES),
    retrieve=retrieve_article,
    in_usaco_paper=True,
)
