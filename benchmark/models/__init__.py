"""The tables of the problem bank, of judgements and of runs."""

from benchmark.models.batches import Batch, BatchedQuestion
from benchmark.models.corpora import Article, Corpus
from benchmark.models.judging import Judgement, ReferenceVerdict, Submission
from benchmark.models.language_models import FrozenError, LanguageModel
from benchmark.models.oracles import Candidate, Verification, Verifier
from benchmark.models.problems import Dataset, Figure, Problem, ReferenceSolution, TestCase
from benchmark.models.runs import CachedRunReport, DrawCounter, Generation, Run, Runner, WorkItem
from benchmark.models.similarity import (
    Option,
    Question,
    QuestionAnswer,
    QuestionSet,
    Representation,
    SimilarityRun,
)
from benchmark.models.suites import ListedTest, PackageProgram, Suite, SuiteTest

__all__ = [
    "Article",
    "Batch",
    "BatchedQuestion",
    "CachedRunReport",
    "Candidate",
    "Corpus",
    "Dataset",
    "DrawCounter",
    "Figure",
    "FrozenError",
    "Generation",
    "Judgement",
    "LanguageModel",
    "ListedTest",
    "Option",
    "PackageProgram",
    "Problem",
    "Question",
    "QuestionAnswer",
    "QuestionSet",
    "ReferenceSolution",
    "ReferenceVerdict",
    "Representation",
    "Run",
    "Runner",
    "SimilarityRun",
    "Submission",
    "Suite",
    "SuiteTest",
    "TestCase",
    "Verification",
    "Verifier",
    "WorkItem",
]
