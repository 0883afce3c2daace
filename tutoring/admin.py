"""Read-only administration pages of tutoring: sessions, events, reviews and training results."""

from django.contrib import admin

from benchmark.admin import RecordedAdmin
from tutoring.models import (
    ApplicabilityLabel,
    Arm,
    ArmChains,
    Assignment,
    AuditEntry,
    Consent,
    Deviation,
    Draft,
    DraftCheckRequest,
    DraftRequest,
    DraftWarning,
    Event,
    Finding,
    Flag,
    HintCard,
    Look,
    Placement,
    ProgramScore,
    Protocol,
    ReplayDraw,
    ReplayRun,
    ReplayState,
    Reply,
    ReplyDelta,
    Review,
    ReviewOutcome,
    RuleCheck,
    Session,
    SessionEffort,
    StoredFigures,
    Study,
    TextModelTraining,
    TrainingResult,
    Withdrawal,
    WithdrawnSession,
)


@admin.register(Protocol)
class ProtocolAdmin(RecordedAdmin):
    list_display = ["name", "version", "title", "frozen_at"]
    search_fields = ["name", "title"]


@admin.register(Consent)
class ConsentAdmin(RecordedAdmin):
    list_display = ["person", "protocol", "text_hash", "accepted_at"]
    list_select_related = ["person", "protocol"]
    search_fields = ["person__username", "protocol__name"]


@admin.register(ProgramScore)
class ProgramScoreAdmin(RecordedAdmin):
    list_display = ["session", "generation", "judgement", "recorded_at"]
    list_select_related = ["judgement__submission__problem__dataset"]
    search_fields = ["session__id"]


@admin.register(Session)
class SessionAdmin(RecordedAdmin):
    list_display = [
        "id",
        "origin",
        "tutor",
        "problem",
        "protocol",
        "model_spec",
        "state",
        "outcome_name",
        "opened_at",
    ]
    list_filter = ["origin", "state", "outcome", "outcome_claimed", "protocol"]
    list_select_related = ["tutor", "problem__dataset", "protocol"]
    search_fields = ["id", "tutor__username", "problem__external_id", "model_spec"]


@admin.register(Event)
class EventAdmin(RecordedAdmin):
    list_display = ["session", "seq", "kind", "actor", "at"]
    list_filter = ["kind"]
    list_select_related = ["actor"]
    search_fields = ["session__id", "actor__username"]


@admin.register(Reply)
class ReplyAdmin(RecordedAdmin):
    list_display = ["id", "session", "state", "attempt", "stop_requested", "lease_until", "started_at"]
    list_filter = ["state"]
    search_fields = ["session__id"]


@admin.register(ReplyDelta)
class ReplyDeltaAdmin(RecordedAdmin):
    list_display = ["reply", "attempt", "seq"]
    list_select_related = ["reply"]
    search_fields = ["reply__session__id"]


@admin.register(Draft)
class DraftAdmin(RecordedAdmin):
    list_display = ["session", "saved_at"]
    exclude = ["text"]  # not sent, and only its tutor may read it
    search_fields = ["session__id"]


@admin.register(DraftWarning)
class DraftWarningAdmin(RecordedAdmin):
    list_display = ["session", "at"]
    search_fields = ["session__id"]


@admin.register(Review)
class ReviewAdmin(RecordedAdmin):
    list_display = ["id", "session", "rule_set", "slot", "by", "state", "submitted_at"]
    list_filter = ["state", "rule_set", "adjudicates"]
    exclude = ["content", "verdict"]  # hidden, because an admin may be the second reviewer
    search_fields = ["session__id", "by", "reviewer__username"]


@admin.register(ReviewOutcome)
class ReviewOutcomeAdmin(RecordedAdmin):
    list_display = ["session", "rule_set", "verdict", "at"]
    list_filter = ["rule_set", "verdict"]
    search_fields = ["session__id"]


@admin.register(StoredFigures)
class StoredFiguresAdmin(RecordedAdmin):
    list_display = ["name", "rule_set", "computed_at"]
    list_filter = ["rule_set"]
    search_fields = ["name"]


@admin.register(Flag)
class FlagAdmin(RecordedAdmin):
    list_display = ["session", "reason", "raised_by", "raised_at", "answered_at"]
    list_select_related = ["raised_by"]
    search_fields = ["session__id", "reason"]


@admin.register(AuditEntry)
class AuditEntryAdmin(RecordedAdmin):
    list_display = ["at", "person", "action", "session", "command"]
    list_filter = ["action"]
    list_select_related = ["person"]
    search_fields = ["person__username", "session__id", "command"]


@admin.register(RuleCheck)
class RuleCheckAdmin(RecordedAdmin):
    list_display = ["session", "rule_set", "model", "checked_at"]
    list_filter = ["model"]
    search_fields = ["session__id"]


@admin.register(Finding)
class FindingAdmin(RecordedAdmin):
    list_display = ["event", "clause", "detector", "version", "weight", "quote"]
    list_filter = ["clause", "detector"]
    list_select_related = ["event"]
    search_fields = ["event__session__id", "quote"]


@admin.register(TrainingResult)
class TrainingResultAdmin(RecordedAdmin):
    list_display = ["person", "rule_set", "right", "messages", "at"]
    list_select_related = ["person"]
    search_fields = ["person__username"]


@admin.register(Study)
class StudyAdmin(RecordedAdmin):
    list_display = ["name", "version", "title", "state", "rehearsal", "frozen_at"]
    exclude = ["seed"]
    list_filter = ["state", "rehearsal"]
    search_fields = ["name", "title"]


@admin.register(Arm)
class ArmAdmin(RecordedAdmin):
    list_display = ["study", "name", "kind", "model", "run"]
    list_filter = ["kind"]
    list_select_related = ["study", "model", "run__dataset"]
    search_fields = ["study__name", "name"]


@admin.register(Assignment)
class AssignmentAdmin(RecordedAdmin):
    # The arm is concealed until the study is closed; the pages of the study show it then.
    list_display = ["id", "study", "problem", "tutor", "state"]
    exclude = ["arm"]
    list_filter = ["state"]
    list_select_related = ["study", "problem__dataset", "tutor"]
    search_fields = ["study__name", "problem__external_id"]


@admin.register(Deviation)
class DeviationAdmin(RecordedAdmin):
    list_display = ["id", "study", "kind", "reason"]
    list_filter = ["kind"]
    list_select_related = ["study"]
    search_fields = ["study__name", "reason"]


@admin.register(Look)
class LookAdmin(RecordedAdmin):
    list_display = ["id", "study"]
    list_select_related = ["study"]
    search_fields = ["study__name"]


@admin.register(HintCard)
class HintCardAdmin(RecordedAdmin):
    list_display = ["id", "event", "problem", "position", "level", "stage", "rule_set"]
    list_filter = ["level", "rule_set"]
    list_select_related = ["event", "problem__dataset"]
    search_fields = ["event__session__id", "problem__external_id"]


@admin.register(ReplayRun)
class ReplayRunAdmin(RecordedAdmin):
    list_display = ["id", "model", "mode", "selection", "draws", "state", "fixed_at"]
    list_filter = ["state", "mode"]
    list_select_related = ["model"]
    search_fields = ["id", "model__label"]


@admin.register(ReplayState)
class ReplayStateAdmin(RecordedAdmin):
    list_display = ["id", "run", "problem", "language"]
    list_select_related = ["run__model", "problem__dataset"]
    search_fields = ["run__id", "problem__external_id"]


@admin.register(Placement)
class PlacementAdmin(RecordedAdmin):
    list_display = ["id", "state", "card", "fit", "overlap", "agreement"]
    list_filter = ["fit"]
    list_select_related = ["state__problem__dataset", "card__event"]
    search_fields = ["state__run__id", "card__event__session__id"]


@admin.register(ApplicabilityLabel)
class ApplicabilityLabelAdmin(RecordedAdmin):
    list_display = ["id", "placement", "by", "value", "labelled_at"]
    list_filter = ["value"]
    list_select_related = ["placement"]
    search_fields = ["placement__state__run__id", "by"]


@admin.register(ReplayDraw)
class ReplayDrawAdmin(RecordedAdmin):
    list_display = ["id", "state", "arm", "number", "right", "uptake", "created_at"]
    list_filter = ["arm"]
    list_select_related = ["state__problem__dataset"]
    search_fields = ["state__run__id", "request_id"]


@admin.register(Withdrawal)
class WithdrawalAdmin(RecordedAdmin):
    list_display = ["id", "cause", "at", "by"]
    list_filter = ["cause"]
    list_select_related = ["by"]
    search_fields = ["id", "by__username"]


@admin.register(WithdrawnSession)
class WithdrawnSessionAdmin(RecordedAdmin):
    list_display = ["session", "withdrawal"]
    list_select_related = ["withdrawal"]
    search_fields = ["session"]


@admin.register(SessionEffort)
class SessionEffortAdmin(RecordedAdmin):
    list_display = ["session", "seconds", "messages", "unknown", "microdollars", "measured_at"]
    search_fields = ["session__id"]


@admin.register(TextModelTraining)
class TextModelTrainingAdmin(RecordedAdmin):
    list_display = ["id", "state", "version", "requested_by", "requested_at", "decided_by"]
    list_filter = ["state"]
    list_select_related = ["requested_by", "decided_by"]
    search_fields = ["requested_by__username"]


@admin.register(ArmChains)
class ArmChainsAdmin(RecordedAdmin):
    list_display = ["run", "version", "chains", "invalidated", "counted_at"]
    list_select_related = ["run"]
    search_fields = ["run__id"]


@admin.register(DraftRequest)
class DraftRequestAdmin(RecordedAdmin):
    list_display = ["id", "session", "state"]
    list_filter = ["state"]
    search_fields = ["session__id"]


@admin.register(DraftCheckRequest)
class DraftCheckRequestAdmin(RecordedAdmin):
    list_display = ["id", "session", "state", "microdollars", "requested_at"]
    list_filter = ["state"]
    search_fields = ["session__id"]
    exclude = ["text"]
