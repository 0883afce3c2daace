"""The control for episodic retrieval: as many solved problems, drawn by lot (docs/spec.md 1.2, extras in the code)."""

from dataclasses import dataclass, field

from benchmark.methods.composition import Retriever, always
from benchmark.methods.examples import ExampleSettings, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved, record_of
from benchmark.methods.settings import option
from benchmark.prompts import SIMILAR_TEMPLATES, PromptContext
from benchmark.retrieval import draw


@dataclass(frozen=True)
class RandomExampleSettings(ExampleSettings):
    """Examples that are drawn."""

    lot_seed: int = field(default=0, metadata=option("which problems are drawn", minimum=0))


async def draw_examples(chain: Chain, settings: RandomExampleSettings, query: str) -> Retrieved:
    """p problems of the dataset by lot, from those that episodic retrieval would search in; there is no query."""
    corpus, left_out = await other_problems(chain, settings)
    hits = draw(corpus, top=settings.p, seed=settings.lot_seed, **left_out)
    left_out.pop("only", None)
    record = {"lot_seed": settings.lot_seed, "corpus_content": settings.corpus_content, **left_out}
    shown = tuple(corpus.documents[hit.index] for hit in hits)
    return Retrieved(PromptContext(shown), {"random": record | record_of(corpus, hits)})


RANDOM = Retriever(
    name="random",
    summary="Show problems of the dataset with their solutions, drawn by lot.",
    source="control; the USACO code and AlgoSimBench have it",
    caveat="A control: the problems shown are drawn by lot, not found.",
    settings=RandomExampleSettings,
    templates=always(SIMILAR_TEMPLATES),
    find=draw_examples,
)
