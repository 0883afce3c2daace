"""Private notes of tutors on problems."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from benchmark.models import Problem


class PrivateNote(models.Model):
    """The notes of a tutor about a problem. Only this tutor reads them.

    No page, export or administration of other people may contain the text; `tests/tutoring/test_notes.py` visits all.
    """

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="private_notes"
    )
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="private_notes")
    text = models.TextField(blank=True)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["person", "problem"], name="note_once_per_person_and_problem")
        ]

    def __str__(self) -> str:
        return f"private note of {self.person_id} on problem {self.problem_id}"
