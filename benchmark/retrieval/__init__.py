"""Finding problems like a given one: documents, tokenisers, queries and the BM25 ranking of the methods."""

from benchmark.retrieval.documents import Corpus, Document, article_corpus, problem_corpus
from benchmark.retrieval.engines import ENGINES
from benchmark.retrieval.exclusion import NoDate
from benchmark.retrieval.index import NothingToRank
from benchmark.retrieval.queries import QUERY_KINDS, QueryKind, make_query
from benchmark.retrieval.ranking import Bm25, Hit, rank
from benchmark.retrieval.tokenizers import TOKENIZERS

__all__ = [
    "ENGINES",
    "QUERY_KINDS",
    "TOKENIZERS",
    "Bm25",
    "Corpus",
    "Document",
    "Hit",
    "NoDate",
    "NothingToRank",
    "QueryKind",
    "article_corpus",
    "make_query",
    "problem_corpus",
    "rank",
]
