"""Examples by matched representations: what stands for the problem is compared with what stands for the others.

With asm_nl and asm_pl these are attempted solutions by one model on both sides: AlgoSimBench's attempted solution
matching (docs/spec.md 4.3, 15).
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

from benchmark.methods.composition import Retriever, always
from benchmark.methods.examples import ExampleSettings, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import RankingSettings, Retrieved, search
from benchmark.methods.settings import option
from benchmark.prompts import SIMILAR_TEMPLATES, PromptContext

ComparedText = Literal["statement", "summary", "asm_nl", "asm_pl"]


@dataclass(frozen=True)
class RepresentationSettings(ExampleSettings, RankingSettings):
    """What is compared."""

    representation: ComparedText = field(
        default="statement",
        metadata=option(
            "compared: statements, or what the model wrote of every problem (manage.py represent)",
            choices=get_args(ComparedText),
        ),
    )


async def retrieve_by_representation(chain: Chain, settings: RepresentationSettings, query: str) -> Retrieved:
    """The p problems whose representations are most like that of the problem under test; they are shown as they are."""
    shown, left_out = await other_problems(chain, settings)
    corpus = await chain.represented(settings.representation)
    own = next(document.text for document in corpus.documents if document.id == chain.task.id)
    hits, record = await search(corpus, settings, own, top=settings.p, **left_out)
    record |= {"representation": settings.representation, "corpus_content": settings.corpus_content}
    documents = {document.id: document for document in shown.documents}
    return Retrieved(PromptContext(tuple(documents[hit.id] for hit in hits)), {"matched": record})


REPRESENTATION = Retriever(
    name="matched",
    summary="Show the problems whose statements, or attempted solutions by the same model, are most alike.",
    source="AlgoSimBench, Table 4",
    settings=RepresentationSettings,
    templates=always(SIMILAR_TEMPLATES),
    find=retrieve_by_representation,
)
