"""The control for episodic retrieval: as many solved problems, drawn at random (docs/spec.md 1.2)."""

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Retriever, fixed_templates
from benchmark.methods.examples import ExampleSettings, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Retrieved, record_of
from benchmark.methods.settings import option
from benchmark.prompts import SIMILAR_TEMPLATES, PromptContext
from benchmark.retrieval import draw


@dataclass(frozen=True)
class RandomExampleSettings(ExampleSettings):
    """Settings of examples that are drawn at random."""

    lot_seed: int = option(0, "seed of the random draw of problems", ge=0)


async def draw_examples(chain: Chain, settings: RandomExampleSettings, _query: str) -> Retrieved:
    """Return p random problems from the candidates of episodic retrieval, without a query."""
    corpus, exclusions = await other_problems(chain, settings)
    hits = draw(corpus, top=settings.p, seed=settings.lot_seed, **exclusions)
    exclusions.pop("only", None)
    record = {"lot_seed": settings.lot_seed, "corpus_content": settings.corpus_content, **exclusions}
    shown = tuple(corpus.documents[hit.index] for hit in hits)
    return Retrieved(PromptContext(shown), {"random": record | record_of(corpus, hits)})


RANDOM = Retriever(
    name="random",
    summary="Show problems of the dataset with their solutions, drawn at random.",
    source="control; the USACO code and AlgoSimBench have it",
    warning="A control: the problems shown are drawn at random, not retrieved.",
    settings=RandomExampleSettings,
    templates=fixed_templates(*SIMILAR_TEMPLATES),
    retrieve=draw_examples,
)
