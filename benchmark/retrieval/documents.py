"""Searchable collections: problems with their analyses and programs, and the articles of a textbook."""

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

from benchmark import models
from benchmark.models import Dataset, Problem, ReferenceSolution
from benchmark.retrieval.contents import Content, ProblemText
from benchmark.retrieval.engines import ENGINES, Engine
from benchmark.retrieval.tokenizers import TOKENIZERS, words

SHINGLE = 8
"""Consecutive words in one shingle."""
MEMOIZED = 100
"""Cached searches of one corpus. Dry runs, and attempts that search with statements, repeat their searches."""

T = TypeVar("T")


@dataclass(frozen=True)
class Document:
    """A searchable text. `id` is its identifier at the source and unique in the corpus."""

    id: str
    title: str
    text: str
    problem: ProblemText | None = None
    """The parts of the text; None for an article."""
    contest_date: date | None = None
    tier: str = ""

    @cached_property
    def shingles(self) -> frozenset[str]:
        """Return the shingles of the statement as strings, because strings cache their hashes."""
        return shingles_of(self.problem.statement) if self.problem else frozenset()


def shingles_of(statement: str) -> frozenset[str]:
    """Return every sequence of SHINGLE consecutive words of the statement."""
    cut = words(statement)
    return frozenset(" ".join(cut[start : start + SHINGLE]) for start in range(len(cut) - SHINGLE + 1))


@dataclass(frozen=True)
class SearchCorpus:
    """Documents in the order that breaks ties, with a hash of their contents."""

    documents: tuple[Document, ...]
    _indexes: dict[tuple[str, str], Engine] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _holding: dict[str, "SearchCorpus"] = field(default_factory=dict, init=False, repr=False, compare=False)
    _building: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)
    _memoized: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def form(self) -> str:
        """Return the form of the problems, `mixed` if they have several forms, or `articles`."""
        forms = {document.problem.form if document.problem else "articles" for document in self.documents}
        return "mixed" if len(forms) > 1 else next(iter(forms), "analysis")

    @cached_property
    def content_hash(self) -> str:
        """Return the sha256 over the form, unless it is `analysis` or `articles`, and the ids and texts in order."""
        digest = hashlib.sha256()
        if self.form in ("published", "mixed"):
            digest.update(self.form.encode())
        for document in self.documents:
            for part in (document.id, document.text):
                encoded = part.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.hexdigest()

    def holding(self, content: Content) -> "SearchCorpus":
        """Return the corpus of the same problems with documents of this content. It is built once, in any thread."""
        if content == "all":
            return self
        with self._building:
            if content not in self._holding:
                self._holding[content] = SearchCorpus(
                    tuple(
                        replace(document, text=document.problem.holding(content))
                        for document in self.documents
                        if document.problem
                    )
                )
            return self._holding[content]

    def memoize(self, key: Hashable, search: Callable[[], T]) -> T:
        """Return the result of `search`, from the cache if `key` is among the last MEMOIZED keys."""
        result: T | None = self._memoized.get(key)
        if result is None:
            result = search()
            with self._building:
                self._memoized[key] = result
                if len(self._memoized) > MEMOIZED:
                    del self._memoized[next(iter(self._memoized))]
        return result

    def index(self, engine: str, tokenizer: str) -> Engine:
        """Return the index of all documents. Each kind of index is built once, in any thread."""
        with self._building:
            if (engine, tokenizer) not in self._indexes:
                texts = (TOKENIZERS[tokenizer](document.text) for document in self.documents)
                self._indexes[engine, tokenizer] = ENGINES[engine](texts)
            return self._indexes[engine, tokenizer]


def problem_corpus(dataset: Dataset, language: str) -> SearchCorpus:
    """Return every problem of the dataset as a document, sorted in Python because databases collate differently."""
    problems = dataset.problems.prefetch_related("references").defer("statement_html", "analysis_html")
    documents = []
    for row in problems:
        text = _problem_text(row, language)
        documents.append(
            Document(row.external_id, row.title, text.holding("all"), text, row.contest_date, row.tier)
        )
    return SearchCorpus(tuple(sorted(documents, key=lambda document: document.id)))


def article_corpus(corpus: models.Corpus) -> SearchCorpus:
    """Return the articles of a textbook as documents, in the order of the book."""
    articles = corpus.articles.order_by("order").values_list("external_id", "title", "text")
    return SearchCorpus(tuple(Document(*article) for article in articles))


def _problem_text(row: Problem, language: str) -> ProblemText:
    """Return the parts of a stored problem, in the published form if it has both published keys."""
    references = list(row.references.all())
    published = next((one.source for one in references if one.name == ReferenceSolution.PUBLISHED), "")
    if row.analysis_english and published:
        return ProblemText(row.statement, row.analysis_english, published, "published")
    return ProblemText(row.statement, row.analysis, _reference(references, language))


def _reference(references: list[ReferenceSolution], language: str) -> str:
    """Return the first reference solution in the language, else the first in any language, else an empty string."""
    wanted = [reference for reference in references if reference.language == language]
    return next((reference.source for reference in wanted or references), "")
