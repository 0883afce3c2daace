"""Replays of recorded hints: cards, runs, states, placements and draws (docs/replay.md)."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from benchmark.models import Judgement, LanguageModel, Problem
from benchmark.models.metering import MeteredRun
from tutoring.models.sessions import Event


class HintCard(models.Model):
    """One tutor message with the dialogue before it, and its labels as they were settled when the card was made.

    The dialogue is that of the session up to `event`. Other labels of the same message make another card.
    """

    key = models.CharField(
        max_length=64, unique=True, help_text="sha256 of the message, its labels and its program."
    )
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="hint_cards")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="hint_cards")
    text = models.TextField(help_text="The message as typed.")
    requested_code = models.BooleanField(
        help_text="Whether the message requested a program in its session. A replay always requests one."
    )
    position = models.PositiveIntegerField(help_text="1 for the first message of the session, 2 …")
    language = models.CharField(max_length=20)
    program = models.TextField(help_text="The last program before the message.")
    distance = models.FloatField(
        null=True,
        blank=True,
        help_text="Share of its tokens that differ from the program before. Null: none.",
    )
    judgement = models.ForeignKey(
        Judgement,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Of the program on all tests. Null: not judged yet.",
    )
    rule_set = models.PositiveIntegerField(
        null=True, blank=True, help_text="Version of the labels' rule set. Null: not reviewed."
    )
    level = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Settled level. Null: unknown.")
    stage = models.CharField(max_length=40, blank=True, help_text="Settled stage. Blank: unknown.")
    clauses = models.JSONField(default=list, blank=True, help_text="Settled clauses.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"card {self.pk}: message {self.position} of {self.event.session_id}"

    def get_absolute_url(self) -> str:
        return reverse("hint_card", args=[self.pk])


class ReplayRun(MeteredRun):
    """A paid replay of cards to one model. Its placements are fixed before the first draw is requested."""

    class Mode(models.TextChoices):
        TRANSPLANT = "transplant", "transplant (the model continues the recorded dialogue)"
        OWN = "own", "own program (the model's own wrong program, then the hint)"

    class State(models.TextChoices):
        FIXED = "fixed", "placements fixed"
        OPEN = "open"
        FINISHED = "finished"
        STOPPED = "stopped"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="replay_runs")
    parameters = models.JSONField(help_text="Sampling parameters as sent.")
    mode = models.CharField(max_length=10, choices=Mode.choices)
    selection = models.CharField(max_length=10, help_text="Which messages became cards: primary or first.")
    draws = models.PositiveIntegerField(help_text="Draws of each arm at each state.")
    seed = models.PositiveIntegerField(help_text="Seed of the order of the draws.")
    manifest = models.JSONField(
        default=dict,
        help_text="Thresholds of signatures, source of own programs, exclusions by reason, environment.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.FIXED)
    faults = models.JSONField(
        default=list, blank=True, help_text="Failures of the provider in the last execution."
    )
    figures = models.JSONField(null=True, blank=True, help_text="Figures at the last end. Null: none yet.")
    fixed_at = models.DateTimeField(auto_now_add=True, help_text="When the placements were fixed.")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-fixed_at"]

    def __str__(self) -> str:
        return f"{self.mode} of {self.selection} cards to {self.model_spec}: {self.state}"

    def get_absolute_url(self) -> str:
        return reverse("replay", args=[self.pk])

    @property
    def labels_fixed(self) -> bool:
        """Whether a draw was requested. Until then labels can change, and only their authors read them."""
        return self.state != self.State.FIXED


class ReplayState(models.Model):
    """A dialogue that ends with a wrong program. All cards at the same dialogue share its draws without a hint."""

    run = models.ForeignKey(ReplayRun, on_delete=models.CASCADE, related_name="states")
    key = models.CharField(max_length=64, help_text="sha256 of the dialogue.")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="+")
    messages = models.JSONField(help_text="The dialogue as every arm sends it, before the tutor's message.")
    language = models.CharField(max_length=20)
    program = models.TextField()
    judgement = models.ForeignKey(
        Judgement, on_delete=models.PROTECT, related_name="+", help_text="Of the program on all tests."
    )
    shams = models.JSONField(help_text="The cards of other problems whose texts the arm sham sends, by draw.")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="replay_state_once")]

    def __str__(self) -> str:
        return f"state {self.pk} of {self.problem}"


class Placement(models.Model):
    """A card at a state. `fit` compares the state's program with that of the card; a transplant has none."""

    state = models.ForeignKey(ReplayState, on_delete=models.CASCADE, related_name="placements")
    card = models.ForeignKey(HintCard, on_delete=models.PROTECT, related_name="placements")
    fit = models.CharField(max_length=10, blank=True, help_text="same, near, other or unknown.")
    overlap = models.FloatField(
        null=True, blank=True, help_text="σ, the Jaccard index of failed tests. Null: unknown."
    )
    agreement = models.FloatField(
        null=True, blank=True, help_text="ω, the share of common failures that are equal. Null: unknown."
    )
    label_order = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Position in the random order of labelling. Null: not to be labelled.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["state", "card"], name="placement_once")]

    def __str__(self) -> str:
        return f"card {self.card_id} at state {self.state_id}"


class ApplicabilityLabel(models.Model):
    """A reviewer's answer to whether a hint is true of the program at which it is placed.

    Labels are stored and changed only before the first draw of the replay (tutoring.replay.applicability).
    """

    class Value(models.TextChoices):
        YES = "yes"
        PARTLY = "partly"
        NO = "no"

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="labels")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    by = models.CharField(max_length=80, help_text="Pseudonym of the reviewer in exports.")
    value = models.CharField(max_length=10, choices=Value.choices)
    labelled_at = models.DateTimeField(help_text="When this value was chosen.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["placement", "reviewer"], name="applicability_label_once")
        ]

    def __str__(self) -> str:
        return f"{self.value} for {self.placement} by {self.by}"

    def save(self, *arguments: Any, **options: Any) -> None:
        """Store the label. Raises TypeError after the first draw of the replay."""
        if self.placement.state.run.labels_fixed:
            raise TypeError(
                "A label of a hint is neither stored nor changed after the first draw of the replay."
            )
        super().save(*arguments, **options)


class ReplayDraw(models.Model):
    """One paid reply of the student at a state after the message of an arm."""

    class Arm(models.TextChoices):
        HINT = "hint"
        NEUTRAL = "neutral"
        VERDICT = "verdict"
        SHAM = "sham"

    state = models.ForeignKey(ReplayState, on_delete=models.CASCADE, related_name="draws")
    arm = models.CharField(max_length=10, choices=Arm.choices)
    card = models.ForeignKey(
        HintCard,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="draws",
        help_text="The card whose text was sent: of the hint, or of another problem. Null: a fixed text.",
    )
    number = models.PositiveIntegerField(help_text="From 0.")
    prompt_hash = models.CharField(max_length=64, help_text="sha256 of the messages as canonical JSON.")
    reply = models.TextField()
    reasoning = models.TextField(blank=True)
    program = models.TextField(blank=True, help_text="The extracted program. Blank: none.")
    judgement = models.ForeignKey(
        Judgement, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    right = models.BooleanField(
        null=True, blank=True, help_text="Null: not judged, or the judge itself failed."
    )
    uptake = models.CharField(max_length=30, blank=True)
    model_returned = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Null: unknown.")
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_input_tokens = models.PositiveIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(null=True, blank=True)
    latency = models.FloatField(null=True, blank=True, help_text="Seconds.")
    finish_reason = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["state", "arm", "card", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["state", "arm", "number"], condition=~Q(arm="hint"), name="shared_draw_once"
            ),
            models.UniqueConstraint(
                fields=["state", "card", "number"], condition=Q(arm="hint"), name="hint_draw_once"
            ),
            models.CheckConstraint(
                condition=Q(arm__in=["hint", "sham"], card__isnull=False)
                | Q(arm__in=["neutral", "verdict"], card__isnull=True),
                name="draw_has_the_card_of_its_text",
            ),
        ]

    def __str__(self) -> str:
        return f"draw {self.number} of {self.arm} at state {self.state_id}"
