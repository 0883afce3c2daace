"""Other problems of the dataset as examples, and their content in prompts (docs/spec.md 1.2, A4; 1.3; 15)."""

from typing import Any

from pydantic.dataclasses import dataclass

from benchmark.methods.method import Chain
from benchmark.methods.retrieval import ContextSettings
from benchmark.methods.settings import option
from benchmark.prompts import ORDINALS
from benchmark.retrieval import Content, SearchCorpus, training_part


@dataclass(frozen=True)
class ExampleSettings(ContextSettings):
    """Settings for the number of example problems, their content, and the problems to exclude."""

    p: int = option(2, "problems in the prompt", ge=1, le=len(ORDINALS))
    corpus_content: Content = option(
        "all",
        "content of a problem that is searched and shown; masked: all, with names and numbers removed from programs",
    )
    exclude_same_name: bool = option(False, "exclude problems with the same name")
    exclude_near_duplicates: bool = option(False, "exclude problems with nearly the same statement")
    exclude_not_earlier: bool = option(False, "search only problems of earlier contests")


async def other_problems(chain: Chain, settings: ExampleSettings) -> tuple[SearchCorpus, dict[str, Any]]:
    """Return the corpus to search and the exclusions as `rank` and `draw` accept them.

    The problem under test is always excluded.
    """
    corpus = (await chain.problems()).holding(settings.corpus_content)
    exclusions: dict[str, Any] = {
        "without": chain.task.id,
        "exclude_same_name": settings.exclude_same_name,
        "exclude_near_duplicates": settings.exclude_near_duplicates,
        "exclude_not_earlier": settings.exclude_not_earlier,
    }
    if settings.train is not None:
        tiers = [(document.id, document.tier) for document in corpus.documents]
        exclusions["only"] = training_part(tiers, settings.train, settings.split_seed)
    return corpus, exclusions
