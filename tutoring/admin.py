"""Administration pages of tutoring: sessions and their events can be looked up, never changed."""

from django.contrib import admin

from benchmark.admin import RecordedAdmin
from tutoring.models import Draft, Event, Protocol, Reply, ReplyDelta, Session


@admin.register(Protocol)
class ProtocolAdmin(RecordedAdmin):
    list_display = ["name", "version", "title", "frozen_at"]
    search_fields = ["name", "title"]


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
        "outcome",
        "opened_at",
    ]
    list_filter = ["origin", "state", "outcome", "protocol"]
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
    search_fields = ["session__id"]
