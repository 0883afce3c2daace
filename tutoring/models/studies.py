"""Studies: frozen designs, their arms, assignments, deviations and looks (docs/studies.md)."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from benchmark.models import LanguageModel, Problem, Run, WorkItem
from tutoring.models.append_only import AppendOnlyModel, UndeletableModel
from tutoring.models.protocols import Protocol
from tutoring.models.sessions import Session


class Study(UndeletableModel):
    """One version of a study. Its design is a draft until it is frozen; after that only its state changes."""

    class State(models.TextChoices):
        DRAFT = "draft"
        FROZEN = "frozen"
        RUNNING = "running"
        STOPPED = "stopped", "stopped (no more offers; open sessions continue)"
        CLOSED = "closed"

    UNFINISHED: Final = (State.FROZEN, State.RUNNING, State.STOPPED)
    """The states in which the problems of the study are closed to free sessions of its tutors."""

    OFFERING: Final = (State.FROZEN, State.RUNNING)
    """The states in which tutors are offered assignments."""

    name = models.SlugField(max_length=80)
    version = models.PositiveIntegerField(default=1)
    title = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT, db_index=True)
    rehearsal = models.BooleanField(
        default=False, help_text="Whether the study is a rehearsal, which every figure leaves out."
    )
    design = models.JSONField(
        help_text="A draft: tutoring.studies.design.Design as JSON. Later: tutoring.studies.design.FrozenDesign."
    )
    design_hash = models.CharField(
        max_length=64,
        blank=True,
        help_text="sha256 of the frozen design as canonical JSON; blank for a draft.",
    )
    seed = models.CharField(
        max_length=64,
        blank=True,
        help_text="Seed of the assignment, drawn by the server. No page shows it before the study is closed.",
    )
    tutors = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="studies")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    frozen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    frozen_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(
        null=True, blank=True, help_text="When the first assignment was offered."
    )
    stopped_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "-version"]
        verbose_name_plural = "studies"
        constraints = [models.UniqueConstraint(fields=["name", "version"], name="study_version_once")]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    @property
    def named_contrasts(self) -> str:
        """The contrasts that the frozen design names: "first − second; …"."""
        design = self.design["design"]
        contrasts = [design["primary_contrast"], *design["secondary_contrasts"]]
        return "; ".join(f"{first} − {second}" for first, second in contrasts)

    @property
    def spending_key(self) -> str:
        """The key under which the ledger and the spending caps count the study."""
        return f"study:{self.name}@{self.version}"


class Arm(UndeletableModel):
    """One arm of a frozen study: sessions of tutors, or chains of a method of `manage.py run_baseline`."""

    class Kind(models.TextChoices):
        HUMAN = "human"
        AUTOMATIC = "automatic"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="arms")
    name = models.SlugField(max_length=60)
    position = models.PositiveIntegerField(help_text="Position in the design, from 0.")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    protocol = models.ForeignKey(
        Protocol,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="arms",
        help_text="Of a human arm.",
    )
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="arms")
    method = models.CharField(max_length=60, blank=True, help_text="Of an automatic arm.")
    settings = models.JSONField(default=dict, blank=True, help_text="Settings of the method as typed.")
    run = models.OneToOneField(
        Run,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="arm",
        help_text="The run of an automatic arm, once it is started.",
    )

    class Meta:
        ordering = ["study", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="arm_name_once_per_study"),
            models.CheckConstraint(
                condition=Q(kind="human", protocol__isnull=False, method="")
                | (Q(kind="automatic", protocol=None) & ~Q(method="")),
                name="arm_has_what_its_kind_needs",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} {self.name}"


class Assignment(UndeletableModel):
    """One session of a study: an arm and a problem with a tutor, or one chain of an automatic arm.

    The rows that freezing writes have no `replaces`; a replacement is a row of its own, and both rows remain.
    """

    class State(models.TextChoices):
        PLANNED = "planned"
        OFFERED = "offered"
        OPEN = "open"
        DONE = "done"
        EXPIRED = "expired"
        EXCLUDED = "excluded"

    UNOPENED: Final = (State.PLANNED, State.OFFERED)
    UNFINISHED: Final = (*UNOPENED, State.OPEN)
    LEFT_OUT: Final = (State.EXPIRED, State.EXCLUDED)
    """The states of assignments that no outcome counts; a replacement may take their cell."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="assignments")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="assignments")
    replicate = models.PositiveIntegerField(help_text="1 for the first session of the cell, 2 …")
    tutor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="assignments",
        help_text="Null in automatic arms.",
    )
    order = models.PositiveIntegerField(
        default=0, help_text="Position among the tutor's assignments, from 1; 0 in automatic arms."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    reason = models.CharField(
        max_length=40, blank=True, help_text="Why it is excluded: a kind of deviation, or `stopped`."
    )
    replaces = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="replacement"
    )
    session = models.OneToOneField(
        Session, null=True, blank=True, on_delete=models.PROTECT, related_name="assignment"
    )
    work_item = models.OneToOneField(
        WorkItem, null=True, blank=True, on_delete=models.PROTECT, related_name="assignment"
    )
    outcomes = models.JSONField(
        default=dict,
        blank=True,
        help_text="Outcomes by name, kept when the content of the session is withdrawn. Empty: the session has them.",
    )
    offered_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study", "pk"]
        indexes = [
            models.Index(fields=["study", "state"]),
            models.Index(fields=["tutor", "state", "order"]),
            models.Index(fields=["state", "expires_at"]),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "arm", "problem", "replicate"],
                condition=Q(replaces=None),
                name="cell_filled_once",
            ),
            models.UniqueConstraint(
                fields=["study", "tutor", "problem"],
                condition=Q(tutor__isnull=False),
                name="problem_once_per_tutor_and_study",
            ),
            models.CheckConstraint(
                condition=Q(session=None) | Q(work_item=None), name="assignment_is_one_session"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.arm} on {self.problem}, {self.replicate}: {self.state}"


class Deviation(AppendOnlyModel):
    """A recorded departure from the frozen design, or a report of one that an admin settles with another row."""

    class Kind(models.TextChoices):
        REPORT = "report", "report of a tutor (to be settled)"
        DISMISSED = "dismissed", "report without consequence"
        INFRASTRUCTURE = "infrastructure", "fault of model, problem or judge (replaced)"
        TUTOR = "tutor", "breach by the tutor (counts as not solved where compliance counts)"
        PROBLEM_CHANGED = "problem_changed", "problem changed after freezing"
        MODEL_CHANGED = "model_changed", "the provider returned another model"
        EXPIRED_SESSION = "expired_session", "session closed because its time had expired"
        NO_REPLACEMENT = "no_replacement", "no tutor is left for a replacement"
        WITHDRAWAL = "withdrawal", "withdrawal of a person"
        STOPPED = "stopped", "stopped before the end of the design"
        REJUDGED = "rejudged", "verdicts replaced by a rejudging"
        AMENDMENT = "amendment", "replaced by a new version of the study"
        OTHER = "other", "other"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="deviations")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    reason = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Null: recorded by the system.",
    )
    at = models.DateTimeField(auto_now_add=True)
    data = models.JSONField(
        default=dict, blank=True, help_text="Values before and after, where there are any."
    )
    settles = models.OneToOneField(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="settlement",
        help_text="The report that this row settles.",
    )
    assignments = models.ManyToManyField(Assignment, blank=True, related_name="deviations")

    class Meta:
        ordering = ["study", "pk"]

    def __str__(self) -> str:
        return f"{self.study}: {self.kind}"


class Look(AppendOnlyModel):
    """One look at the results before or at the end of a study, with what was seen and decided."""

    class Decision(models.TextChoices):
        CONTINUE = "continue"
        STOP = "stop"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="looks")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Null: by the stopping rule.",
    )
    at = models.DateTimeField(auto_now_add=True)
    counted = models.PositiveIntegerField(help_text="Complete pairs that the figures count.")
    figures = models.JSONField(help_text="tutoring.studies.analysis.Figures as JSON.")
    decision = models.CharField(max_length=10, choices=Decision.choices)

    class Meta:
        ordering = ["study", "pk"]

    def __str__(self) -> str:
        return f"{self.study}: look at {self.counted} pairs, {self.decision}"
