"""Representation retrieval: examples whose representations are most similar to that of the problem under test.

With asm_nl and asm_pl the representations are attempted solutions by one model for all problems: AlgoSimBench's
attempted solution matching (docs/spec.md 4.3, 15). Stored runs and `--method` name this retriever "matched".
"""

from typing import Literal

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Retriever, fixed_templates
from benchmark.methods.examples import ExampleSettings, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import RankingSettings, Retrieved, search
from benchmark.methods.settings import option
from benchmark.prompts import SIMILAR_TEMPLATES, PromptContext


@dataclass(frozen=True)
class RepresentationSettings(ExampleSettings, RankingSettings):
    """Settings for the representation that is compared."""

    representation: Literal["statement", "summary", "asm_nl", "asm_pl"] = option(
        "statement",
        "representation compared: the statements, or texts that the model generated for every problem "
        "(manage.py represent)",
    )


async def retrieve_by_representation(
    chain: Chain, settings: RepresentationSettings, _query: str
) -> Retrieved:
    """Return the p problems whose representations are most similar to that of the problem under test.

    Prompts show the problems themselves, not their representations.
    """
    shown, exclusions = await other_problems(chain, settings)
    corpus = await chain.represented(settings.representation)
    own = next(document.text for document in corpus.documents if document.id == chain.task.id)
    hits, record = await search(corpus, settings, own, top=settings.p, **exclusions)
    record |= {"representation": settings.representation, "corpus_content": settings.corpus_content}
    documents = {document.id: document for document in shown.documents}
    return Retrieved(PromptContext(tuple(documents[hit.id] for hit in hits)), {"matched": record})


REPRESENTATION = Retriever(
    name="matched",
    summary="Show the problems whose statements, or attempted solutions by the same model, are most similar.",
    source="AlgoSimBench, Table 4",
    settings=RepresentationSettings,
    templates=fixed_templates(*SIMILAR_TEMPLATES),
    retrieve=retrieve_by_representation,
)
