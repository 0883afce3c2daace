"""Episodic retrieval: solved problems found with the model's own first reply (METHODS.md 1.2, A4)."""

from dataclasses import dataclass, field

from benchmark.methods.method import Chain, Method
from benchmark.methods.parts import ask_zero_shot, retrieve_similar
from benchmark.methods.settings import Sampling, takes
from benchmark.models import Generation
from benchmark.prompts import ORDINALS, episodic_prompt
from benchmark.retrieval import QUERY_KINDS, TOKENIZERS, Bm25, QueryKind


@dataclass(frozen=True)
class Settings(Sampling):
    """How many problems are retrieved and how they are found."""

    p: int = field(
        default=2, metadata=takes("similar problems in the prompt", minimum=1, maximum=len(ORDINALS))
    )
    query: QueryKind = field(
        default="reply",
        metadata=takes(
            "searched with: the statement, alone or with the draft's program or reply", choices=QUERY_KINDS
        ),
    )
    tokenizer: str = field(
        default="usaco_split", metadata=takes("how texts are cut into words", choices=tuple(TOKENIZERS))
    )
    k1: float = field(default=1.5, metadata=takes("BM25: how soon repeated words stop to count", minimum=0))
    b: float = field(
        default=0.75, metadata=takes("BM25: how much a document's length counts", minimum=0, maximum=1)
    )
    epsilon: float = field(
        default=0.25,
        metadata=takes("BM25Okapi: weight of words in more than half of the documents", minimum=0),
    )
    exclude_same_name: bool = field(
        default=False, metadata=takes("leave problems of the same name out of the search")
    )


async def solve(chain: Chain, settings: Settings) -> Generation:
    """A draft (unless only the statement is searched with), the search, and the attempt."""
    draft = None
    if settings.query != "statement":
        draft = await ask_zero_shot(chain, settings, Generation.Purpose.DRAFT)
    similar = await retrieve_similar(
        chain,
        settings.query,
        draft,
        top=settings.p,
        bm25=Bm25(settings.tokenizer, settings.k1, settings.b, settings.epsilon),
        exclude_same_name=settings.exclude_same_name,
    )
    prompt = episodic_prompt(
        chain.task, settings.language, similar.documents, state_limits=settings.state_limits
    )
    return await chain.ask(prompt, Generation.Purpose.SOLVE, retrieval=similar.record)


METHOD = Method(
    name="episodic",
    summary="Draft a solution, find similar problems with it, ask again with those problems and their solutions.",
    settings=Settings,
    templates=("zero_shot", "episodic", "similar_problem"),
    solve=solve,
)
