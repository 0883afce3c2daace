"""Collections to search in: problems with their analyses and programs, and the articles of a textbook."""

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
"""Words in a row that make one shingle."""
REMEMBERED = 100
"""Searches of a collection whose results are kept: dry runs, and attempts that search with statements, repeat them."""

T = TypeVar("T")


@dataclass(frozen=True)
class Document:
    """One searchable text. `id` is the identifier at its source, unique in the corpus."""

    id: str
    title: str
    text: str
    problem: ProblemText | None = None
    """The parts of the text; none of an article."""
    contest_date: date | None = None
    tier: str = ""

    @cached_property
    def shingles(self) -> frozenset[str]:
        """Every run of SHINGLE words of the statement, each as one text: those keep their hashes."""
        return shingles_of(self.problem.statement) if self.problem else frozenset()


def shingles_of(statement: str) -> frozenset[str]:
    """Return every run of SHINGLE words of the statement."""
    cut = words(statement)
    return frozenset(" ".join(cut[start : start + SHINGLE]) for start in range(len(cut) - SHINGLE + 1))


@dataclass(frozen=True)
class Corpus:
    """Documents in the order that breaks ties, with a hash of all of them."""

    documents: tuple[Document, ...]
    _indexes: dict[tuple[str, str], Engine] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _holding: dict[str, "Corpus"] = field(default_factory=dict, init=False, repr=False, compare=False)
    _building: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)
    _found: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def form(self) -> str:
        """Return the form of the problems, `mixed` where they have several, or `articles`."""
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

    def holding(self, content: Content) -> "Corpus":
        """The same problems with documents that hold this; made once, whichever thread asks first."""
        if content == "all":
            return self
        with self._building:
            if content not in self._holding:
                self._holding[content] = Corpus(
                    tuple(
                        replace(document, text=document.problem.holding(content))
                        for document in self.documents
                        if document.problem
                    )
                )
            return self._holding[content]

    def found_once(self, asked: Hashable, find: Callable[[], T]) -> T:
        """What `find` finds, or found before for one of the last REMEMBERED things that were asked."""
        found: T | None = self._found.get(asked)
        if found is None:
            found = find()
            with self._building:
                self._found[asked] = found
                if len(self._found) > REMEMBERED:
                    del self._found[next(iter(self._found))]
        return found

    def index(self, engine: str, tokenizer: str) -> Engine:
        """The index of all documents, built once of each kind, whichever thread asks first."""
        with self._building:
            if (engine, tokenizer) not in self._indexes:
                texts = (TOKENIZERS[tokenizer](document.text) for document in self.documents)
                self._indexes[engine, tokenizer] = ENGINES[engine](texts)
            return self._indexes[engine, tokenizer]


def problem_corpus(dataset: Dataset, language: str) -> Corpus:
    """Return every problem of the dataset as a document, ordered by its external id whatever the database sorts by."""
    problems = dataset.problems.prefetch_related("references").defer("statement_html", "analysis_html")
    documents = []
    for row in problems:
        text = _problem_text(row, language)
        documents.append(
            Document(row.external_id, row.title, text.holding("all"), text, row.contest_date, row.tier)
        )
    return Corpus(tuple(sorted(documents, key=lambda document: document.id)))


def article_corpus(corpus: models.Corpus) -> Corpus:
    """The articles of a textbook as documents, in its own order."""
    articles = corpus.articles.order_by("order").values_list("external_id", "title", "text")
    return Corpus(tuple(Document(*article) for article in articles))


def _problem_text(row: Problem, language: str) -> ProblemText:
    """Return the parts of a stored problem, in the published form where it carries both published keys."""
    references = list(row.references.all())
    published = next((one.source for one in references if one.name == ReferenceSolution.PUBLISHED), "")
    if row.analysis_english and published:
        return ProblemText(row.statement, row.analysis_english, published, "published")
    return ProblemText(row.statement, row.analysis, _reference(references, language))


def _reference(references: list[ReferenceSolution], language: str) -> str:
    """The source of the first reference solution in the language, else of the first of all, else nothing."""
    wanted = [reference for reference in references if reference.language == language]
    return next((reference.source for reference in wanted or references), "")
