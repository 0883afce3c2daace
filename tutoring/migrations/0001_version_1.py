"""Create the tables of version 1.0 at once. A database of an earlier version runs the replaced migrations."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("tutoring", "0001_initial"),
        ("tutoring", "0002_review"),
        ("tutoring", "0003_rules"),
        ("tutoring", "0004_checks_and_figures"),
        ("tutoring", "0005_sessions_and_near_misses"),
        ("tutoring", "0006_schedule_and_drafts"),
        ("tutoring", "0007_withdrawn_reviews"),
        ("tutoring", "0008_reviews_counted"),
        ("tutoring", "0009_pseudonym_salt"),
        ("tutoring", "0010_claimed_outcomes"),
        ("tutoring", "0011_salt_to_accounts"),
        ("tutoring", "0012_program_scores"),
        ("tutoring", "0013_fill_program_scores"),
        ("tutoring", "0014_leases_of_replies"),
        ("tutoring", "0015_event_version"),
        ("tutoring", "0016_plain_help_texts"),
        ("tutoring", "0018_review_outcome"),
        ("tutoring", "0019_review_slot"),
        ("tutoring", "0020_review_help_texts"),
        ("tutoring", "0021_models_of_sessions"),
        ("tutoring", "0023_rule_checks_by_models"),
        ("tutoring", "0024_arms"),
        ("tutoring", "0025_studies"),
        ("tutoring", "0028_program_outcomes"),
        ("tutoring", "0029_rejudging"),
        ("tutoring", "0030_notes_and_sample_runs"),
        ("tutoring", "0031_reply_price"),
        ("tutoring", "0032_review_queue_indexes"),
        ("tutoring", "0033_reply_calls"),
    ]

    initial = True

    dependencies = [
        ("auth", "__first__"),
        ("benchmark", "0001_version_1"),
    ]

    operations = [
        migrations.CreateModel(
            name="PrivateNote",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="private_notes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="private_notes",
                        to="benchmark.problem",
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("saved_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("person", "problem"), name="note_once_per_person_and_problem"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Protocol",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=80)),
                ("version", models.PositiveIntegerField(default=1)),
                ("title", models.CharField(max_length=200)),
                ("rules", models.JSONField(help_text="tutoring.protocols.Rules as JSON.")),
                ("content_hash", models.CharField(help_text="sha256 of the rules.", max_length=64)),
                ("frozen_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name", "-version"],
                "constraints": [
                    models.UniqueConstraint(fields=("name", "version"), name="protocol_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Consent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="consents",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "protocol",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="consents",
                        to="tutoring.protocol",
                    ),
                ),
                (
                    "text_hash",
                    models.CharField(help_text="sha256 of the consent text of the protocol.", max_length=64),
                ),
                ("accepted_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-accepted_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("person", "protocol", "text_hash"), name="consent_given_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("tutored", "held here"),
                            ("imported", "Imported"),
                            ("automatic", "automatic (a policy in place of a tutor)"),
                        ],
                        default="tutored",
                        max_length=10,
                    ),
                ),
                (
                    "tutor",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tutoring_sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sessions",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "protocol",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sessions",
                        to="tutoring.protocol",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        blank=True,
                        help_text="The model's version. Null in imported sessions.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sessions",
                        to="benchmark.languagemodel",
                    ),
                ),
                (
                    "model_spec",
                    models.CharField(
                        blank=True, help_text="provider:model; blank if unknown.", max_length=200
                    ),
                ),
                ("language", models.CharField(default="python", max_length=20)),
                (
                    "number",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="1 for the tutor's first session on this problem with this model, 2 …",
                        null=True,
                    ),
                ),
                (
                    "work_item",
                    models.OneToOneField(
                        blank=True,
                        help_text="The chain of a run that an automatic session shows.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="session",
                        to="benchmark.workitem",
                    ),
                ),
                (
                    "source",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Head of an imported record, or run and item of an automatic session.",
                    ),
                ),
                (
                    "opened_at",
                    models.DateTimeField(
                        blank=True, help_text="Unknown for imported files without times.", null=True
                    ),
                ),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("recorded_at", models.DateTimeField(auto_now_add=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("judging", "waiting for the verdict"),
                            ("closed", "Closed"),
                        ],
                        db_index=True,
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("solved", "Solved"),
                            ("not_solved", "not solved"),
                            ("abandoned", "Abandoned"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "former_outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("solved", "Solved"),
                            ("not_solved", "not solved"),
                            ("abandoned", "Abandoned"),
                            ("unknown", "Unknown"),
                        ],
                        default="",
                        help_text="The outcome that the tutor saw, if a rejudging replaced it.",
                        max_length=12,
                    ),
                ),
                (
                    "outcome_claimed",
                    models.BooleanField(
                        default=False,
                        help_text="Whether an imported record states the outcome without a verdict.",
                    ),
                ),
                (
                    "invalidated",
                    models.BooleanField(
                        default=False,
                        help_text="Excluded from all figures; an event records author and reason.",
                    ),
                ),
                (
                    "code_generations",
                    models.PositiveIntegerField(default=0, help_text="Counter of replies with a program."),
                ),
                (
                    "executions",
                    models.PositiveIntegerField(
                        default=0, help_text="Counter of executions that did not fail."
                    ),
                ),
                (
                    "program_outcomes",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Of an automatic session: A (right), S (passes the samples only) or W for each program.",
                        max_length=100,
                    ),
                ),
                (
                    "late_replies",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Counter of replies that were not complete at their scheduled time.",
                    ),
                ),
                (
                    "judgement",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sessions",
                        to="benchmark.judgement",
                    ),
                ),
                (
                    "sample_judgement",
                    models.ForeignKey(
                        blank=True,
                        help_text="The run on the samples whose result is not recorded yet. Null: none.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sample_sessions",
                        to="benchmark.judgement",
                    ),
                ),
            ],
            options={
                "ordering": ["-recorded_at"],
                "indexes": [
                    models.Index(fields=["-recorded_at"], name="tutoring_se_recorde_a6c7d8_idx"),
                    models.Index(fields=["tutor", "-recorded_at"], name="tutoring_se_tutor_i_3c30a2_idx"),
                    models.Index(
                        fields=["state", "invalidated", "code_generations", "origin", "tutor", "id"],
                        name="tutoring_se_state_e5938c_idx",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tutor", "problem", "protocol", "model_spec", "number"),
                        name="session_number_once_per_tutor_and_problem",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="tutoring.session",
                    ),
                ),
                ("seq", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("opened", "Opened"),
                            ("message", "Message"),
                            ("stop", "Stop"),
                            ("asked_again", "Asked Again"),
                            ("reply", "Reply"),
                            ("reply_restarted", "Reply Restarted"),
                            ("reply_failed", "Reply Failed"),
                            ("execution", "Execution"),
                            ("execution_fault", "Execution Fault"),
                            ("verdict", "Verdict"),
                            ("sample_run", "Sample Run"),
                            ("sample_result", "Sample Result"),
                            ("closed", "Closed"),
                            ("refused", "Refused"),
                            ("invalidated", "Invalidated"),
                            ("reread", "Read again"),
                            ("rejudged", "Judged again"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "actor",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "by",
                    models.CharField(
                        blank=True, help_text="Pseudonym of the actor in exports.", max_length=80
                    ),
                ),
                (
                    "version",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="Version of the schema of the data (tutoring.models.payloads)."
                    ),
                ),
                ("data", models.JSONField(default=dict)),
                (
                    "command",
                    models.UUIDField(
                        blank=True,
                        help_text="Id of the command that caused the event, chosen by the browser.",
                        null=True,
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        blank=True, help_text="Time of the event; unknown in some imports.", null=True
                    ),
                ),
            ],
            options={
                "ordering": ["session", "seq"],
                "constraints": [
                    models.UniqueConstraint(fields=("session", "seq"), name="event_seq_once_per_session"),
                    models.UniqueConstraint(fields=("session", "command"), name="command_carried_out_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draft",
                        to="tutoring.session",
                    ),
                ),
                ("text", models.TextField(blank=True)),
                (
                    "revision",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Number of saved texts. A page may replace only the revision that it has read.",
                    ),
                ),
                (
                    "checks",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Texts for which the tutor got a warning; the next message records them.",
                    ),
                ),
                ("saved_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="ProgramScore",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="program_scores",
                        to="tutoring.session",
                    ),
                ),
                (
                    "event",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="program_score",
                        to="tutoring.event",
                    ),
                ),
                ("generation", models.PositiveIntegerField()),
                (
                    "distance_to_previous",
                    models.FloatField(
                        blank=True,
                        help_text="Share of tokens that differ from the previous program, 0 to 1. Null: the first program.",
                        null=True,
                    ),
                ),
                (
                    "distance_to_final",
                    models.FloatField(
                        help_text="Share of tokens that differ from the last program of the session, 0 to 1."
                    ),
                ),
                (
                    "judgement",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="program_score",
                        to="benchmark.judgement",
                    ),
                ),
                (
                    "figures_record",
                    models.JSONField(
                        blank=True,
                        help_text="The figures where no judgement holds them, by their names in exports.",
                        null=True,
                    ),
                ),
                ("recorded_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["-recorded_at", "session", "generation"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("session", "generation"), name="program_score_once_per_generation"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("figures_record__isnull", False), ("judgement__isnull", True)),
                            models.Q(("figures_record__isnull", True), ("judgement__isnull", False)),
                            _connector="OR",
                        ),
                        name="program_score_has_one_source",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reply",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "owner",
                    models.CharField(
                        blank=True, default="", help_text="The process that holds the lease.", max_length=120
                    ),
                ),
                (
                    "lease_until",
                    models.DateTimeField(
                        blank=True, help_text="When the lease ends unless its owner renews it.", null=True
                    ),
                ),
                (
                    "attempt",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of claims. Only the latest claim may write."
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replies",
                        to="tutoring.session",
                    ),
                ),
                (
                    "message",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replies",
                        to="tutoring.event",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("streaming", "Streaming"),
                            ("done", "Done"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                        ],
                        db_index=True,
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("stop_requested", models.BooleanField(default=False)),
                (
                    "live",
                    models.BooleanField(
                        default=True,
                        help_text="Whether the tutor sees the text while it arrives. False if a program may have to be hidden.",
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("first_text_at", models.DateTimeField(blank=True, null=True)),
                (
                    "shown_from",
                    models.DateTimeField(
                        blank=True,
                        help_text="When its first word may appear. Null: as soon as it arrives.",
                        null=True,
                    ),
                ),
                (
                    "answer",
                    models.JSONField(
                        blank=True,
                        help_text="The model's whole answer until the tutor has seen it, so that it is not requested again.",
                        null=True,
                    ),
                ),
                (
                    "calls",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Calls of the provider so far; the last one runs or is about to begin.",
                    ),
                ),
                (
                    "gives_up_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the reply fails unless text arrives before. Null: not claimed yet.",
                        null=True,
                    ),
                ),
                (
                    "price",
                    models.JSONField(
                        blank=True,
                        help_text="US dollars for a million tokens at the start of the call, with their source. Null: unknown.",
                        null=True,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["queued", "streaming"])),
                        fields=("session",),
                        name="one_unfinished_reply",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReplyDelta",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "reply",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deltas",
                        to="tutoring.reply",
                    ),
                ),
                ("attempt", models.PositiveIntegerField()),
                ("seq", models.PositiveIntegerField()),
                ("text", models.TextField()),
            ],
            options={
                "ordering": ["reply", "attempt", "seq"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("reply", "attempt", "seq"), name="delta_seq_once_per_attempt"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="tutoring.session",
                    ),
                ),
                (
                    "rule_set",
                    models.PositiveIntegerField(help_text="Version of the rule set the labels belong to."),
                ),
                (
                    "slot",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="1 and 2: independent reviews; 3: adjudication; empty: no slot.",
                        null=True,
                    ),
                ),
                ("adjudicates", models.BooleanField(default=False)),
                (
                    "reviewer",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty for imported reviews.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("by", models.CharField(help_text="Pseudonym of the reviewer in exports.", max_length=80)),
                (
                    "assigned_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("submitted", "Submitted"),
                            ("skipped", "Skipped"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "content",
                    models.JSONField(default=dict, help_text="tutoring.review.content.Content as JSON."),
                ),
                (
                    "verdict",
                    models.CharField(
                        blank=True, help_text="The content's verdict, once submitted.", max_length=20
                    ),
                ),
                (
                    "findings_first",
                    models.BooleanField(
                        default=False,
                        help_text="Whether automatic findings were shown before the submission.",
                    ),
                ),
                ("opened_at", models.DateTimeField()),
                ("saved_at", models.DateTimeField(blank=True, null=True)),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                (
                    "active_seconds",
                    models.PositiveIntegerField(
                        default=0, help_text="Seconds between saves of the draft; long pauses are capped."
                    ),
                ),
            ],
            options={
                "ordering": ["opened_at"],
                "indexes": [
                    models.Index(
                        fields=["rule_set", "state", "slot", "session", "lease_until"],
                        name="tutoring_re_rule_se_375ab9_idx",
                    ),
                    models.Index(
                        fields=["rule_set", "by", "state", "active_seconds"],
                        name="tutoring_re_rule_se_cb77d9_idx",
                    ),
                    models.Index(
                        fields=["reviewer", "state", "-submitted_at"], name="tutoring_re_reviewe_821f1f_idx"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("session", "rule_set", "slot"), name="one_review_per_slot"
                    ),
                    models.UniqueConstraint(
                        fields=("session", "rule_set", "reviewer"),
                        name="reviewer_once_per_session_and_rule_set",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("slot__isnull", True),
                            models.Q(("adjudicates", False), ("slot__in", [1, 2])),
                            models.Q(("adjudicates", True), ("slot", 3)),
                            _connector="OR",
                        ),
                        name="review_slot_matches_kind",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewOutcome",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="review_outcomes",
                        to="tutoring.session",
                    ),
                ),
                ("rule_set", models.PositiveIntegerField()),
                (
                    "verdict",
                    models.CharField(
                        blank=True,
                        db_index=True,
                        help_text="Blank until the adjudication if the reviews differ.",
                        max_length=20,
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        blank=True,
                        help_text="The adjudication, if any.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="tutoring.review",
                    ),
                ),
                (
                    "reviewers",
                    models.JSONField(
                        default=list,
                        help_text="Pseudonyms of the two independent reviewers, in alphabetical order.",
                    ),
                ),
                (
                    "counts",
                    models.BinaryField(
                        default=b"", help_text="Agreement tables of all measures (tutoring.review.agreement)."
                    ),
                ),
                (
                    "breaches",
                    models.JSONField(
                        default=list,
                        help_text="Decided forbidden clauses as pairs of message and clause; empty while disputed.",
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("session", "rule_set"), name="one_review_outcome_per_rule_set"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Flag",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="flags",
                        to="tutoring.session",
                    ),
                ),
                (
                    "raised_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("reason", models.TextField()),
                ("raised_at", models.DateTimeField()),
                (
                    "answered_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("answer", models.TextField(blank=True)),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["raised_at"],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("command", models.UUIDField(db_index=True)),
                ("action", models.CharField(max_length=40)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tutoring.session",
                    ),
                ),
                ("data", models.JSONField(default=dict)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit entries",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="TrainingResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="training_results",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("rule_set", models.PositiveIntegerField(help_text="Version of the rule set of the labels.")),
                ("answers", models.JSONField(help_text="Chosen clauses by message number.")),
                (
                    "right",
                    models.PositiveIntegerField(help_text="Messages whose clauses match the codebook."),
                ),
                ("messages", models.PositiveIntegerField(help_text="Labelled messages.")),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-at"],
            },
        ),
        migrations.CreateModel(
            name="RuleCheck",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rule_checks",
                        to="tutoring.session",
                    ),
                ),
                (
                    "rule_set",
                    models.PositiveIntegerField(help_text="Version of the rule set the clauses belong to."),
                ),
                ("rule_set_hash", models.CharField(max_length=64)),
                ("detectors", models.JSONField(help_text="Name and version of each detector that ran.")),
                (
                    "basis",
                    models.CharField(
                        help_text="sha256 over rule set, detectors, budget, problem and last event.",
                        max_length=64,
                    ),
                ),
                (
                    "model",
                    models.CharField(
                        blank=True,
                        help_text="Name that the provider returned; blank for checks by detectors.",
                        max_length=200,
                    ),
                ),
                (
                    "language_model",
                    models.ForeignKey(
                        blank=True,
                        help_text="The row of the model. Null for checks by detectors, older checks and imported checks.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rule_checks",
                        to="benchmark.languagemodel",
                    ),
                ),
                (
                    "prompt_hash",
                    models.CharField(
                        blank=True,
                        help_text="sha256 of the prompt template; blank for checks by detectors.",
                        max_length=64,
                    ),
                ),
                ("checked_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["session", "-pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("session", "basis"), name="rule_check_once_per_basis")
                ],
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "rule_check",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="findings",
                        to="tutoring.rulecheck",
                    ),
                ),
                (
                    "event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="findings",
                        to="tutoring.event",
                    ),
                ),
                (
                    "clause",
                    models.CharField(
                        help_text="F1 … F5, or the budget that was exceeded: code_generations.", max_length=20
                    ),
                ),
                ("detector", models.CharField(max_length=40)),
                ("version", models.PositiveIntegerField(help_text="Version of the detector.")),
                (
                    "start",
                    models.PositiveIntegerField(
                        help_text="First character of the passage; 0 to 0 is the whole event."
                    ),
                ),
                ("end", models.PositiveIntegerField(help_text="Character after the passage.")),
                ("quote", models.TextField(blank=True, help_text="Text of the passage.")),
                ("explanation", models.CharField(max_length=300)),
                ("weight", models.FloatField(help_text="Confidence that a reviewer would agree, 0 to 1.")),
                (
                    "counts",
                    models.JSONField(
                        blank=True, default=dict, help_text="For a budget: `found` and `allowed`."
                    ),
                ),
            ],
            options={
                "ordering": ["rule_check", "event", "start", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=80)),
                ("version", models.PositiveIntegerField(default=1)),
                ("title", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("frozen", "Frozen"),
                            ("running", "Running"),
                            ("stopped", "stopped (no more offers; open sessions continue)"),
                            ("closed", "Closed"),
                        ],
                        db_index=True,
                        default="draft",
                        max_length=10,
                    ),
                ),
                (
                    "rehearsal",
                    models.BooleanField(
                        default=False,
                        help_text="Whether the study is a rehearsal, which every figure leaves out.",
                    ),
                ),
                (
                    "design",
                    models.JSONField(
                        help_text="A draft: tutoring.studies.design.Design as JSON. Later: tutoring.studies.design.FrozenDesign."
                    ),
                ),
                (
                    "design_hash",
                    models.CharField(
                        blank=True,
                        help_text="sha256 of the frozen design as canonical JSON; blank for a draft.",
                        max_length=64,
                    ),
                ),
                (
                    "seed",
                    models.CharField(
                        blank=True,
                        help_text="Seed of the assignment, drawn by the server. No page shows it before the study is closed.",
                        max_length=64,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "frozen_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("frozen_at", models.DateTimeField(blank=True, null=True)),
                (
                    "started_at",
                    models.DateTimeField(
                        blank=True, help_text="When the first assignment was offered.", null=True
                    ),
                ),
                ("stopped_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "tutors",
                    models.ManyToManyField(blank=True, related_name="studies", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "ordering": ["name", "-version"],
                "constraints": [
                    models.UniqueConstraint(fields=("name", "version"), name="study_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Arm",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="arms", to="tutoring.study"
                    ),
                ),
                ("name", models.SlugField(max_length=60)),
                ("position", models.PositiveIntegerField(help_text="Position in the design, from 0.")),
                (
                    "kind",
                    models.CharField(choices=[("human", "Human"), ("automatic", "Automatic")], max_length=10),
                ),
                (
                    "protocol",
                    models.ForeignKey(
                        blank=True,
                        help_text="Of a human arm.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="arms",
                        to="tutoring.protocol",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="arms",
                        to="benchmark.languagemodel",
                    ),
                ),
                ("method", models.CharField(blank=True, help_text="Of an automatic arm.", max_length=60)),
                (
                    "settings",
                    models.JSONField(blank=True, default=dict, help_text="Settings of the method as typed."),
                ),
                (
                    "run",
                    models.OneToOneField(
                        blank=True,
                        help_text="The run of an automatic arm, once it is started.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="arm",
                        to="benchmark.run",
                    ),
                ),
            ],
            options={
                "ordering": ["study", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("study", "name"), name="arm_name_once_per_study"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "human"), ("method", ""), ("protocol__isnull", False)),
                            models.Q(
                                ("kind", "automatic"),
                                ("protocol", None),
                                models.Q(("method", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="arm_has_what_its_kind_needs",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="tutoring.study",
                    ),
                ),
                (
                    "arm",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="tutoring.arm",
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "replicate",
                    models.PositiveIntegerField(help_text="1 for the first session of the cell, 2 …"),
                ),
                (
                    "tutor",
                    models.ForeignKey(
                        blank=True,
                        help_text="Null in automatic arms.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "order",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Position among the tutor's assignments, from 1; 0 in automatic arms.",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("planned", "Planned"),
                            ("offered", "Offered"),
                            ("open", "Open"),
                            ("done", "Done"),
                            ("expired", "Expired"),
                            ("excluded", "Excluded"),
                        ],
                        default="planned",
                        max_length=10,
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        help_text="Why it is excluded: a kind of deviation, or `stopped`.",
                        max_length=40,
                    ),
                ),
                (
                    "replaces",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replacement",
                        to="tutoring.assignment",
                    ),
                ),
                (
                    "session",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignment",
                        to="tutoring.session",
                    ),
                ),
                (
                    "work_item",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignment",
                        to="benchmark.workitem",
                    ),
                ),
                (
                    "outcomes",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Outcomes by name, kept when the content of the session is withdrawn. Empty: the session has them.",
                    ),
                ),
                ("offered_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["study", "pk"],
                "indexes": [
                    models.Index(fields=["study", "state"], name="tutoring_as_study_i_1a28a8_idx"),
                    models.Index(fields=["tutor", "state", "order"], name="tutoring_as_tutor_i_27a9bd_idx"),
                    models.Index(fields=["state", "expires_at"], name="tutoring_as_state_5e4415_idx"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("replaces", None)),
                        fields=("study", "arm", "problem", "replicate"),
                        name="cell_filled_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("tutor__isnull", False)),
                        fields=("study", "tutor", "problem"),
                        name="problem_once_per_tutor_and_study",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("session", None), ("work_item", None), _connector="OR"),
                        name="assignment_is_one_session",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Deviation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deviations",
                        to="tutoring.study",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("report", "report of a tutor (to be settled)"),
                            ("dismissed", "report without consequence"),
                            ("infrastructure", "fault of model, problem or judge (replaced)"),
                            ("tutor", "breach by the tutor (counts as not solved where compliance counts)"),
                            ("problem_changed", "problem changed after freezing"),
                            ("model_changed", "the provider returned another model"),
                            ("expired_session", "session closed because its time had expired"),
                            ("no_replacement", "no tutor is left for a replacement"),
                            ("withdrawal", "withdrawal of a person"),
                            ("stopped", "stopped before the end of the design"),
                            ("rejudged", "verdicts replaced by a rejudging"),
                            ("amendment", "replaced by a new version of the study"),
                            ("other", "other"),
                        ],
                        max_length=20,
                    ),
                ),
                ("reason", models.TextField()),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Null: recorded by the system.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "data",
                    models.JSONField(
                        blank=True, default=dict, help_text="Values before and after, where there are any."
                    ),
                ),
                (
                    "settles",
                    models.OneToOneField(
                        blank=True,
                        help_text="The report that this row settles.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="settlement",
                        to="tutoring.deviation",
                    ),
                ),
                (
                    "assignments",
                    models.ManyToManyField(blank=True, related_name="deviations", to="tutoring.assignment"),
                ),
            ],
            options={
                "ordering": ["study", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Look",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="looks", to="tutoring.study"
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Null: by the stopping rule.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("counted", models.PositiveIntegerField(help_text="Complete pairs that the figures count.")),
                ("figures", models.JSONField(help_text="tutoring.studies.analysis.Figures as JSON.")),
                (
                    "decision",
                    models.CharField(choices=[("continue", "Continue"), ("stop", "Stop")], max_length=10),
                ),
            ],
            options={
                "ordering": ["study", "pk"],
            },
        ),
        migrations.SeparateDatabaseAndState(
            # accounts.0001 adds the model of this table to the state.
            database_operations=[
                migrations.CreateModel(
                    name="PseudonymSalt",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("salt", models.BinaryField()),
                    ],
                    options={"db_table": "accounts_pseudonymsalt"},
                )
            ]
        ),
    ]
