"""Examples by matched representations: what stands for the problem is compared with what stands for the others.

With asm_nl and asm_pl these are attempted solutions by one model on both sides: AlgoSimBench's attempted solution
matching (docs/spec.md 4.3, 15).
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

from benchmark.methods.composition import Search, always
from benchmark.methods.examples import Examples, other_problems
from benchmark.methods.method import Chain
from benchmark.methods.retrieval import Found, Ranking, search
from benchmark.methods.settings import takes
from benchmark.prompts import SIMILAR_TEMPLATES, Material

Compared = Literal["statement", "summary", "asm_nl", "asm_pl"]


@dataclass(frozen=True)
class Matched(Examples, Ranking):
    """What is compared."""

    representation: Compared = field(
        default="statement",
        metadata=takes(
            "compared: statements, or what the model wrote of every problem (manage.py represent)",
            choices=get_args(Compared),
        ),
    )


async def find_matched(chain: Chain, settings: Matched, query: str) -> Found:
    """The p problems whose representations are most like that of the problem under test; they are shown as they are."""
    shown, left_out = await other_problems(chain, settings)
    corpus = await chain.represented(settings.representation)
    own = next(document.text for document in corpus.documents if document.id == chain.task.id)
    hits, record = await search(corpus, settings, own, top=settings.p, **left_out)
    record |= {"representation": settings.representation, "corpus_content": settings.corpus_content}
    documents = {document.id: document for document in shown.documents}
    return Found(Material(tuple(documents[hit.id] for hit in hits)), {"matched": record})


MATCHED = Search(
    name="matched",
    summary="Show the problems whose statements, or attempted solutions by the same model, are most alike.",
    source="AlgoSimBench, Table 4",
    settings=Matched,
    templates=always(SIMILAR_TEMPLATES),
    find=find_matched,
)
