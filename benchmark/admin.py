"""Read-only administration pages of the problem bank, judgements and runs."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin

from benchmark.models import (
    Article,
    Backup,
    Batch,
    BatchedRequest,
    CachedRunReport,
    Candidate,
    Corpus,
    DailySpend,
    Dataset,
    DrawCounter,
    Figure,
    Generation,
    GrowthCurve,
    Judgement,
    LanguageModel,
    ListedTest,
    MemoryProbe,
    ModelTest,
    Option,
    PackageProgram,
    Problem,
    ProblemVersion,
    Process,
    ProgramOperation,
    Question,
    QuestionAnswer,
    QuestionSet,
    ReferenceSolution,
    ReferenceVerdict,
    RejudgedProgram,
    Rejudging,
    Representation,
    Run,
    Runner,
    RunTutor,
    SimilarityRun,
    SizedGenerator,
    SlowComparison,
    SpeedMeasurement,
    SpendingCap,
    Submission,
    Suite,
    SuiteTest,
    TestCase,
    TimeFactor,
    Verification,
    Verifier,
    WorkItem,
)

# The class takes a type argument in its stubs only.
if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class RecordedAdmin(_ModelAdmin):
    """Read-only pages of a table whose rows are records."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, *_: Any, **__: Any) -> bool:
        return False

    def has_change_permission(self, *_: Any, **__: Any) -> bool:
        return False

    def has_delete_permission(self, *_: Any, **__: Any) -> bool:
        return False


@admin.register(Dataset)
class DatasetAdmin(RecordedAdmin):
    list_display = ["name", "format", "created_at"]
    search_fields = ["name"]


@admin.register(Problem)
class ProblemAdmin(RecordedAdmin):
    list_display = ["external_id", "title", "dataset", "tier", "contest", "contest_date", "samples_only"]
    list_filter = ["dataset", "tier", "samples_only"]
    list_select_related = ["dataset"]
    search_fields = ["external_id", "title", "contest"]


@admin.register(TestCase)
class TestCaseAdmin(RecordedAdmin):
    list_display = ["problem", "order", "name", "origin"]
    list_filter = ["origin", "problem__dataset"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "name"]


@admin.register(ReferenceSolution)
class ReferenceSolutionAdmin(RecordedAdmin):
    list_display = ["problem", "name", "language"]
    list_filter = ["language", "problem__dataset"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "name"]


@admin.register(PackageProgram)
class PackageProgramAdmin(RecordedAdmin):
    list_display = ["problem", "role", "name", "language"]
    list_filter = ["role", "language", "problem__dataset"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "name"]


@admin.register(ListedTest)
class ListedTestAdmin(RecordedAdmin):
    list_display = ["problem", "order", "name", "generator", "fault"]
    list_filter = ["kind", "problem__dataset"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "name"]


@admin.register(SizedGenerator)
class SizedGeneratorAdmin(RecordedAdmin):
    list_display = ["problem", "parameter", "name", "largest", "author"]
    list_filter = ["problem__dataset"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "name"]


@admin.register(GrowthCurve)
class GrowthCurveAdmin(RecordedAdmin):
    list_display = ["submission", "state", "parameter", "slope", "finished_at"]
    list_filter = ["state", "submission__problem__dataset"]
    list_select_related = ["submission__problem__dataset"]
    search_fields = ["submission__problem__external_id", "submission__source_hash"]


@admin.register(SlowComparison)
class SlowComparisonAdmin(RecordedAdmin):
    list_display = ["slow", "candidate", "compared", "slow_is_wrong", "at"]
    list_select_related = ["slow__problem__dataset", "candidate__problem__dataset"]


@admin.register(Suite)
class SuiteAdmin(RecordedAdmin):
    list_display = ["problem", "version", "released_at", "wrong_rejected", "wrong_total", "created_at"]
    list_filter = ["problem__dataset"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "content_hash"]


@admin.register(SuiteTest)
class SuiteTestAdmin(RecordedAdmin):
    list_display = ["suite", "order", "name", "origin", "group"]
    list_filter = ["origin"]
    list_select_related = ["suite__problem__dataset"]
    search_fields = ["suite__problem__external_id", "name"]


@admin.register(Figure)
class FigureAdmin(RecordedAdmin):
    list_display = ["problem", "name", "media_type"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "name"]


@admin.register(Corpus)
class CorpusAdmin(RecordedAdmin):
    list_display = ["name", "format", "content_hash", "imported_at"]
    search_fields = ["name"]


@admin.register(Article)
class ArticleAdmin(RecordedAdmin):
    list_display = ["external_id", "title", "corpus", "order"]
    list_filter = ["corpus"]
    list_select_related = ["corpus"]
    search_fields = ["external_id", "title"]


@admin.register(Submission)
class SubmissionAdmin(RecordedAdmin):
    list_display = ["id", "problem", "language", "source_hash", "created_at"]
    list_filter = ["language", "problem__dataset"]
    list_select_related = ["problem__dataset"]
    search_fields = ["source_hash", "problem__external_id"]


@admin.register(Judgement)
class JudgementAdmin(RecordedAdmin):
    list_display = ["id", "submission", "purpose", "suite", "policy", "state", "verdict", "created_at"]
    list_filter = ["purpose", "state", "verdict", "suite", "policy"]
    list_select_related = ["submission__problem__dataset"]
    search_fields = ["submission__source_hash", "submission__problem__external_id", "fault"]


@admin.register(Rejudging)
class RejudgingAdmin(RecordedAdmin):
    list_display = ["id", "reason", "state", "requested_by", "requested_at", "decided_by", "decided_at"]
    list_filter = ["state"]
    list_select_related = ["requested_by", "decided_by"]
    search_fields = ["reason"]


@admin.register(RejudgedProgram)
class RejudgedProgramAdmin(RecordedAdmin):
    list_display = ["rejudging", "role", "number", "work_item_id", "session", "before_id", "after_id"]
    list_filter = ["role"]
    search_fields = ["session"]


@admin.register(ProblemVersion)
class ProblemVersionAdmin(RecordedAdmin):
    list_display = ["problem", "content_hash", "time_limit", "memory_limit", "replaced_at"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "content_hash"]


@admin.register(Run)
class RunAdmin(RecordedAdmin):
    list_display = ["id", "dataset", "method", "model_spec", "attempts", "state", "started_at", "finished_at"]
    list_filter = ["state", "method", "dataset"]
    list_select_related = ["dataset"]
    search_fields = ["id", "model_spec"]


@admin.register(DrawCounter)
class DrawCounterAdmin(RecordedAdmin):
    list_display = ["model_spec", "last"]
    search_fields = ["model_spec"]


@admin.register(CachedRunReport)
class CachedRunReportAdmin(RecordedAdmin):
    list_display = ["run", "fingerprint", "score"]
    search_fields = ["run__method", "run__model_spec"]


@admin.register(WorkItem)
class WorkItemAdmin(RecordedAdmin):
    list_display = ["id", "run", "problem", "chain", "state", "attempt", "lease_until"]
    list_filter = ["state"]
    list_select_related = ["run__dataset", "problem__dataset"]
    search_fields = ["run__id", "problem__external_id", "fault"]


@admin.register(Generation)
class GenerationAdmin(RecordedAdmin):
    list_display = ["id", "work_item", "step", "purpose", "model_returned", "output_tokens", "created_at"]
    list_filter = ["purpose", "finish_reason"]
    list_select_related = ["work_item__problem__dataset"]
    search_fields = ["work_item__run__id", "work_item__problem__external_id", "request_id"]


@admin.register(RunTutor)
class RunTutorAdmin(RecordedAdmin):
    list_display = ["run", "model_spec", "paid_calls", "paid_input_tokens", "paid_output_tokens"]
    list_select_related = ["run__dataset"]
    search_fields = ["run__id", "model_spec"]


@admin.register(Runner)
class RunnerAdmin(RecordedAdmin):
    list_display = ["owner", "run", "exclusive_key", "model_spec", "lease_until"]
    list_select_related = ["run__dataset"]
    search_fields = ["owner", "model_spec"]


@admin.register(Process)
class ProcessAdmin(RecordedAdmin):
    list_display = ["owner", "kind", "host", "pid", "version", "since", "last_seen"]
    list_filter = ["kind"]
    search_fields = ["owner", "host"]


@admin.register(Batch)
class BatchAdmin(RecordedAdmin):
    list_display = ["id", "run", "provider_id", "requests", "answered", "created_at", "ended_at"]
    list_select_related = ["run__dataset"]
    search_fields = ["id", "provider_id", "run__id"]


@admin.register(BatchedRequest)
class BatchedRequestAdmin(RecordedAdmin):
    list_display = ["id", "batch", "name", "fault"]
    list_select_related = ["batch"]
    search_fields = ["name", "batch__provider_id"]


@admin.register(QuestionSet)
class QuestionSetAdmin(RecordedAdmin):
    list_display = ["name", "dataset", "built", "created_at"]
    list_select_related = ["dataset"]
    search_fields = ["name"]


@admin.register(Question)
class QuestionAdmin(RecordedAdmin):
    list_display = ["id", "question_set", "number", "reference"]
    list_filter = ["question_set"]
    list_select_related = ["question_set", "reference__dataset"]
    search_fields = ["reference__external_id"]


@admin.register(Option)
class OptionAdmin(RecordedAdmin):
    list_display = ["id", "question", "place", "problem", "similar"]
    list_filter = ["similar", "question__question_set"]
    list_select_related = ["question__question_set", "problem__dataset"]
    search_fields = ["problem__external_id"]


@admin.register(Representation)
class RepresentationAdmin(RecordedAdmin):
    list_display = ["id", "problem", "kind", "model_spec", "section_found", "output_tokens", "created_at"]
    list_filter = ["kind", "section_found", "model_spec"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "request_id"]


@admin.register(MemoryProbe)
class MemoryProbeAdmin(RecordedAdmin):
    list_display = [
        "id",
        "problem",
        "kind",
        "draw",
        "model_spec",
        "overlap",
        "chance",
        "others",
        "created_at",
    ]
    list_filter = ["kind", "model_spec"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "request_id"]


@admin.register(SimilarityRun)
class SimilarityRunAdmin(RecordedAdmin):
    list_display = ["id", "question_set", "task", "representation", "model_spec", "state", "started_at"]
    list_filter = ["task", "representation", "state", "question_set"]
    list_select_related = ["question_set"]
    search_fields = ["id", "model_spec"]


@admin.register(QuestionAnswer)
class QuestionAnswerAdmin(RecordedAdmin):
    list_display = ["id", "run", "question", "correct", "rank", "output_tokens", "created_at"]
    list_filter = ["correct"]
    list_select_related = ["run__question_set", "question__question_set"]
    search_fields = ["run__id", "question__reference__external_id", "request_id"]


@admin.register(Verifier)
class VerifierAdmin(RecordedAdmin):
    list_display = ["id", "problem", "state", "run", "suite", "official_verdict", "created_at"]
    list_filter = ["state", "official_verdict"]
    list_select_related = ["problem__dataset", "run__dataset", "suite__problem__dataset"]
    search_fields = ["problem__external_id"]


@admin.register(Candidate)
class CandidateAdmin(RecordedAdmin):
    list_display = ["id", "problem", "name", "official_verdict"]
    list_filter = ["official_verdict"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "name"]


@admin.register(Verification)
class VerificationAdmin(RecordedAdmin):
    list_display = ["id", "verifier", "submission", "accepted", "passed", "total", "slow", "created_at"]
    list_filter = ["accepted"]
    list_select_related = ["verifier__problem__dataset", "submission__problem__dataset"]
    search_fields = ["verifier__problem__external_id"]


@admin.register(LanguageModel)
class LanguageModelAdmin(RecordedAdmin):
    list_display = ["label", "version", "spec", "active", "for_sessions", "frozen_at"]
    list_filter = ["active", "for_sessions"]
    search_fields = ["label", "spec"]


@admin.register(ModelTest)
class ModelTestAdmin(RecordedAdmin):
    list_display = ["id", "model", "state"]
    list_filter = ["state"]
    list_select_related = ["model"]
    search_fields = ["model__label"]


@admin.register(DailySpend)
class DailySpendAdmin(RecordedAdmin):
    list_display = ["day", "model_spec", "study_key", "purpose", "calls", "microdollars"]
    list_filter = ["purpose"]
    search_fields = ["model_spec", "study_key"]


@admin.register(SpendingCap)
class SpendingCapAdmin(RecordedAdmin):
    list_display = ["scope", "key", "period", "microdollars"]
    list_filter = ["scope", "period"]
    search_fields = ["key"]


@admin.register(ReferenceVerdict)
class ReferenceVerdictAdmin(RecordedAdmin):
    list_display = ["id", "problem", "verdict", "language", "at"]
    list_select_related = ["problem__dataset"]
    search_fields = ["problem__external_id", "verdict"]


@admin.register(SpeedMeasurement)
class SpeedMeasurementAdmin(RecordedAdmin):
    list_display = ["host", "factor", "spread", "measured_at"]
    search_fields = ["host"]


@admin.register(TimeFactor)
class TimeFactorAdmin(RecordedAdmin):
    list_display = ["host", "scope", "factor", "measured", "fixed_at"]
    search_fields = ["host", "scope"]


@admin.register(Backup)
class BackupAdmin(RecordedAdmin):
    list_display = ["at", "host", "folder", "bytes", "seconds"]
    search_fields = ["host", "folder"]


@admin.register(ProgramOperation)
class ProgramOperationAdmin(RecordedAdmin):
    list_display = ["id", "item", "name", "language", "state", "created_at"]
    list_filter = ["state", "name"]
    search_fields = ["item__run__id"]
