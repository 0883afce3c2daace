"""The action that scores the training: the only writer of training results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from accounts.roles import Role
from tutoring.models import TrainingResult
from tutoring.review.actions import ReviewAction
from tutoring.sessions.context import RefusedError
from tutoring.training.material import material


@dataclass(frozen=True, kw_only=True)
class FinishTraining(ReviewAction):
    """An action that compares a person's labels with the codebook's and stores the score.

    A person may repeat the training.
    """

    answers: Mapping[int, frozenset[str]]

    def perform(self, _now: datetime) -> None:
        self.require(*Role)
        messages, rules = material().messages, material().rules
        known = {clause.code for clause in rules.clauses}
        missing = [message.number for message in messages if not self.answers.get(message.number)]
        if missing:
            raise RefusedError(
                f"Choose at least one clause for every message; missing: {', '.join(map(str, missing))}."
            )
        if any(chosen - known for chosen in self.answers.values()):
            raise RefusedError(f"Every label must be a clause of codebook {rules.version}.")
        result = TrainingResult.objects.create(
            person=self.person,
            rule_set=rules.version,
            answers={str(message.number): sorted(self.answers[message.number]) for message in messages},
            right=sum(self.answers[message.number] == message.clauses for message in messages),
            messages=len(messages),
        )
        self.record(None, result=result.pk)
