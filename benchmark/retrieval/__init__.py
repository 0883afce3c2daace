"""Finding problems like a given one: documents, tokenisers, queries and the BM25 ranking of the methods."""

from benchmark.retrieval.documents import Corpus, Document, problem_corpus
from benchmark.retrieval.queries import QUERY_KINDS, QueryKind, make_query
from benchmark.retrieval.ranking import Bm25, Hit, NothingToRank, rank
from benchmark.retrieval.tokenizers import TOKENIZERS

__all__ = [
    "QUERY_KINDS",
    "TOKENIZERS",
    "Bm25",
    "Corpus",
    "Document",
    "Hit",
    "NothingToRank",
    "QueryKind",
    "make_query",
    "problem_corpus",
    "rank",
]
