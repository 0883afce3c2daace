"""Problems as the documents of a search: statement, analysis and a reference program."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from benchmark.models import Dataset, Problem, ReferenceSolution


@dataclass(frozen=True)
class Document:
    """One searchable text. `id` is the problem's identifier at its source, unique in the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Corpus:
    """Documents in the order that breaks ties, with a hash of all of them."""

    documents: tuple[Document, ...]

    @cached_property
    def content_hash(self) -> str:
        """sha256 over the ids and texts, in order."""
        digest = hashlib.sha256()
        for document in self.documents:
            for part in (document.id, document.text):
                encoded = part.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.hexdigest()


def problem_corpus(dataset: Dataset, language: str) -> Corpus:
    """Every problem of the dataset as a document, ordered by its external id whatever the database sorts by."""
    problems = dataset.problems.prefetch_related("references").defer("statement_html", "analysis_html")
    documents = [Document(p.external_id, p.title, document_text(p, language)) for p in problems]
    return Corpus(tuple(sorted(documents, key=lambda document: document.id)))


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
