"""Retrieval of similar problems: documents, tokenizers, queries and the BM25 ranking of the methods."""

from benchmark.retrieval.contents import CONTENTS, Content, ProblemText, split_analysis
from benchmark.retrieval.documents import Document, SearchCorpus, article_corpus, problem_corpus
from benchmark.retrieval.engines import ENGINES
from benchmark.retrieval.exclusion import NoDateError, has_statement
from benchmark.retrieval.formulas import FORMULAS
from benchmark.retrieval.index import NothingToRankError
from benchmark.retrieval.queries import QUERY_KINDS, QueryKind, make_query
from benchmark.retrieval.ranking import Bm25, Hit, draw, rank
from benchmark.retrieval.split import training_part
from benchmark.retrieval.tokenizers import TOKENIZERS

__all__ = [
    "CONTENTS",
    "ENGINES",
    "FORMULAS",
    "QUERY_KINDS",
    "TOKENIZERS",
    "Bm25",
    "Content",
    "Document",
    "Hit",
    "NoDateError",
    "NothingToRankError",
    "ProblemText",
    "QueryKind",
    "SearchCorpus",
    "article_corpus",
    "draw",
    "has_statement",
    "make_query",
    "problem_corpus",
    "rank",
    "split_analysis",
    "training_part",
]
