"""Other problems of the dataset as examples: which may be shown, and what of them (docs/spec.md 1.2, A4; 1.3; 15)."""

from dataclasses import dataclass, field
from typing import Any

from benchmark.methods.method import Chain
from benchmark.methods.retrieval import ContextSettings
from benchmark.methods.settings import option
from benchmark.prompts import ORDINALS
from benchmark.retrieval import CONTENTS, Content, Corpus, training_part


@dataclass(frozen=True)
class ExampleSettings(ContextSettings):
    """How many problems are shown, what of them, and which never are."""

    p: int = field(default=2, metadata=option("problems in the prompt", minimum=1, maximum=len(ORDINALS)))
    corpus_content: Content = field(
        default="all",
        metadata=option(
            "what is searched in and shown of a problem; masked: all, its programs without names and numbers",
            choices=CONTENTS,
        ),
    )
    exclude_same_name: bool = field(
        default=False, metadata=option("leave problems of the same name out of the search")
    )
    exclude_near_duplicates: bool = field(
        default=False, metadata=option("leave problems with nearly the same statement out of the search")
    )
    exclude_not_earlier: bool = field(
        default=False, metadata=option("search only in problems of earlier contests")
    )


async def other_problems(chain: Chain, settings: ExampleSettings) -> tuple[Corpus, dict[str, Any]]:
    """The problems to search in, and who is left out, as `rank` and `draw` take it: always the one under test."""
    corpus = (await chain.problems()).holding(settings.corpus_content)
    left_out: dict[str, Any] = {
        "without": chain.task.id,
        "exclude_same_name": settings.exclude_same_name,
        "exclude_near_duplicates": settings.exclude_near_duplicates,
        "exclude_not_earlier": settings.exclude_not_earlier,
    }
    if settings.train is not None:
        tiers = [(document.id, document.tier) for document in corpus.documents]
        left_out["only"] = training_part(tiers, settings.train, settings.split_seed)
    return corpus, left_out
