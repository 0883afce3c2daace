"""Collections to search in: problems with their analyses and programs, and the articles of a textbook."""

import hashlib
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from threading import Lock

from benchmark import models
from benchmark.models import Dataset, Problem, ReferenceSolution
from benchmark.retrieval.engines import ENGINES, Engine
from benchmark.retrieval.tokenizers import TOKENIZERS, words

SHINGLE = 8
"""Words in a row that make one shingle."""


@dataclass(frozen=True)
class Document:
    """One searchable text. `id` is the identifier at its source, unique in the corpus."""

    id: str
    title: str
    text: str
    statement: str = ""
    """What near duplicates are told by; blank where the document is no problem."""
    contest_date: date | None = None

    @cached_property
    def shingles(self) -> frozenset[str]:
        """Every run of SHINGLE words of the statement, each as one text: those keep their hashes."""
        cut = words(self.statement)
        return frozenset(" ".join(cut[start : start + SHINGLE]) for start in range(len(cut) - SHINGLE + 1))


@dataclass(frozen=True)
class Corpus:
    """Documents in the order that breaks ties, with a hash of all of them."""

    documents: tuple[Document, ...]
    _indexes: dict[tuple[str, str], Engine] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _building: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    @cached_property
    def content_hash(self) -> str:
        """sha256 over the ids and texts, in order."""
        digest = hashlib.sha256()
        for document in self.documents:
            for part in (document.id, document.text):
                encoded = part.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.hexdigest()

    def index(self, engine: str, tokenizer: str) -> Engine:
        """The index of all documents, built once of each kind, whichever thread asks first."""
        with self._building:
            if (engine, tokenizer) not in self._indexes:
                texts = (TOKENIZERS[tokenizer](document.text) for document in self.documents)
                self._indexes[engine, tokenizer] = ENGINES[engine](texts)
            return self._indexes[engine, tokenizer]


def problem_corpus(dataset: Dataset, language: str) -> Corpus:
    """Every problem of the dataset as a document, ordered by its external id whatever the database sorts by."""
    problems = dataset.problems.prefetch_related("references").defer("statement_html", "analysis_html")
    documents = [
        Document(p.external_id, p.title, document_text(p, language), p.statement, p.contest_date)
        for p in problems
    ]
    return Corpus(tuple(sorted(documents, key=lambda document: document.id)))


def article_corpus(corpus: models.Corpus) -> Corpus:
    """The articles of a textbook as documents, in its own order."""
    articles = corpus.articles.order_by("order").values_list("external_id", "title", "text")
    return Corpus(tuple(Document(*article) for article in articles))


def document_text(problem: Problem, language: str) -> str:
    """Statement, analysis and one program, joined as in the USACO paper's code (METHODS.md 1.2, A4).

    A program that the analysis already contains is not repeated. Figure 9's counts (METHODS.md 1.4) hold for
    exactly this joining.
    """
    text = f"{problem.statement}\nSolution: \n{problem.analysis}"
    program = _reference(list(problem.references.all()), language)
    if program and program.strip() not in problem.analysis:
        text += f"\nSolution Code: \n{program}"
    return text


def _reference(references: list[ReferenceSolution], language: str) -> str:
    """The source of the first reference solution in the language, else of the first of all, else nothing."""
    wanted = [reference for reference in references if reference.language == language]
    return next((reference.source for reference in wanted or references), "")
