"""Operations on the programs of a chain that judge workers perform for a process that calls models."""

from __future__ import annotations

from django.db import models

from benchmark.models.leases import JUDGEMENT_LEASE, Claimable
from benchmark.models.runs import WorkItem


class ProgramOperation(Claimable):
    """One operation of a chain's program tester. The process that requested the row deletes it."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed", "failed (judge fault)"

    LEASE = JUDGEMENT_LEASE
    WAITING = State.QUEUED
    HELD = State.RUNNING

    item = models.ForeignKey(WorkItem, on_delete=models.CASCADE, related_name="program_operations")
    language = models.CharField(max_length=20, help_text="The language of the chain's programs.")
    name = models.CharField(max_length=40, help_text="A function of benchmark.runner.program_operations.")
    arguments = models.JSONField(help_text="The arguments of the function.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_index=True)
    result = models.JSONField(null=True, blank=True)
    fault = models.TextField(blank=True, help_text="Why the operation failed.")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.name} of item {self.item_id}: {self.state}"
