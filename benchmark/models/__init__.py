"""The tables of the problem bank, of judgements and of runs."""

from benchmark.models.backups import Backup
from benchmark.models.batches import Batch, BatchedRequest
from benchmark.models.corpora import Article, Corpus
from benchmark.models.growth import GrowthCurve, SlowComparison
from benchmark.models.judging import Judgement, ReferenceVerdict, Submission
from benchmark.models.language_models import FrozenError, LanguageModel, ModelTest
from benchmark.models.machine_speed import SpeedMeasurement, TimeFactor
from benchmark.models.memorisation import MemoryProbe
from benchmark.models.oracles import Candidate, Verification, Verifier
from benchmark.models.problems import Dataset, Figure, Problem, ReferenceSolution, TestCase
from benchmark.models.processes import Process
from benchmark.models.program_operations import ProgramOperation
from benchmark.models.rejudging import ProblemVersion, RejudgedProgram, Rejudging
from benchmark.models.runs import CachedRunReport, DrawCounter, Generation, Run, Runner, RunTutor, WorkItem
from benchmark.models.similarity import (
    Option,
    Question,
    QuestionAnswer,
    QuestionSet,
    Representation,
    SimilarityRun,
)
from benchmark.models.spending import DailySpend, SpendingCap
from benchmark.models.suites import ListedTest, PackageProgram, SizedGenerator, Suite, SuiteTest

__all__ = [
    "Article",
    "Backup",
    "Batch",
    "BatchedRequest",
    "CachedRunReport",
    "Candidate",
    "Corpus",
    "DailySpend",
    "Dataset",
    "DrawCounter",
    "Figure",
    "FrozenError",
    "Generation",
    "GrowthCurve",
    "Judgement",
    "LanguageModel",
    "ListedTest",
    "MemoryProbe",
    "ModelTest",
    "Option",
    "PackageProgram",
    "Problem",
    "ProblemVersion",
    "Process",
    "ProgramOperation",
    "Question",
    "QuestionAnswer",
    "QuestionSet",
    "ReferenceSolution",
    "ReferenceVerdict",
    "RejudgedProgram",
    "Rejudging",
    "Representation",
    "Run",
    "RunTutor",
    "Runner",
    "SimilarityRun",
    "SizedGenerator",
    "SlowComparison",
    "SpeedMeasurement",
    "SpendingCap",
    "Submission",
    "Suite",
    "SuiteTest",
    "TestCase",
    "TimeFactor",
    "Verification",
    "Verifier",
    "WorkItem",
]
