"""The control for episodic retrieval: as many solved problems, drawn by lot (docs/spec.md 1.2, extras in the code)."""

from dataclasses import dataclass, field

from benchmark.methods.composition import Search, always
from benchmark.methods.examples import Examples, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Found, record_of
from benchmark.methods.settings import takes
from benchmark.prompts import SIMILAR_TEMPLATES, Material
from benchmark.retrieval import draw


@dataclass(frozen=True)
class RandomExamples(Examples):
    """Examples that are drawn."""

    lot_seed: int = field(default=0, metadata=takes("which problems are drawn", minimum=0))


async def draw_examples(chain: Chain, settings: RandomExamples, query: str) -> Found:
    """p problems of the dataset by lot, from those that episodic retrieval would search in; there is no query."""
    corpus, left_out = await other_problems(chain, settings)
    hits = draw(corpus, top=settings.p, seed=settings.lot_seed, **left_out)
    left_out.pop("only", None)
    record = {"lot_seed": settings.lot_seed, "corpus_content": settings.corpus_content, **left_out}
    shown = tuple(corpus.documents[hit.index] for hit in hits)
    return Found(Material(shown), {"random": record | record_of(corpus, hits)})


RANDOM = Search(
    name="random",
    summary="Show problems of the dataset with their solutions, drawn by lot.",
    source="control; the USACO code and AlgoSimBench have it",
    caveat="A control: the problems shown are drawn by lot, not found.",
    settings=RandomExamples,
    templates=always(SIMILAR_TEMPLATES),
    find=draw_examples,
)
