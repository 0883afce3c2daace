"""Scores of the check of drafts on labelled drafts: recall per clause, and the share of allowed messages flagged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark.metrics import Interval, wilson
from benchmark.models import Problem
from tutoring.checks.contexts import problem_context
from tutoring.checks.labelled_drafts import CorpusError, LabelledDraft
from tutoring.rules import MessageContext, current_rule_set
from tutoring.rules.detectors import detect


@dataclass(frozen=True)
class Share:
    """A share, `hits` of `total`, with Wilson's 95 % interval."""

    hits: int
    total: int

    @property
    def interval(self) -> Interval | None:
        """Return the interval, or None for a total of 0."""
        return wilson(self.hits, self.total) if self.total else None

    @property
    def percentage(self) -> str:
        """Return the share with its interval, such as "75.0% [46.8%, 91.1%]"; an empty text for a total of 0."""
        if self.interval is None:
            return ""
        low, high = self.interval
        return f"{self.hits / self.total:.1%} [{low:.1%}, {high:.1%}]"

    def __str__(self) -> str:
        """Return the numbers and the percentage, such as "9/12, 75.0% [46.8%, 91.1%]"."""
        return ", ".join(filter(None, (f"{self.hits}/{self.total}", self.percentage)))


@dataclass(frozen=True)
class DraftScores:
    """The clauses found in each draft, in the order of the drafts. A finding of any severity counts."""

    drafts: Sequence[LabelledDraft]
    found: Sequence[frozenset[str]]

    def recall(self, clause: str) -> Share:
        """Return the share of the messages with the clause in which it is found."""
        hits = [clause in found for draft, found in self._pairs() if clause in draft.labels]
        return Share(sum(hits), len(hits))

    def precision(self, clause: str) -> Share:
        """Return the share of the messages in which the clause is found that have it."""
        hits = [clause in draft.labels for draft, found in self._pairs() if clause in found]
        return Share(sum(hits), len(hits))

    @property
    def recall_of_all(self) -> Share:
        """Return the share of all labels, message by message and clause by clause, that are found."""
        hits = [clause in found for draft, found in self._pairs() for clause in draft.labels]
        return Share(sum(hits), len(hits))

    @property
    def flagged_allowed(self) -> Share:
        """Return the share of the allowed messages with a finding."""
        hits = [bool(found) for draft, found in self._pairs() if not draft.labels]
        return Share(sum(hits), len(hits))

    @property
    def errors_by_kind(self) -> dict[str, dict[str, list[str]]]:
        """Return, for each kind with an error, the ids of missed messages by clause and of flagged allowed ones."""
        errors: dict[str, dict[str, list[str]]] = {}
        for draft, found in self._pairs():
            for clause in sorted(draft.labels - found) if draft.labels else sorted(found):
                kind = errors.setdefault(draft.kind, {})
                kind.setdefault(clause, []).append(draft.id)
        return dict(sorted(errors.items()))

    @property
    def counts_by_kind(self) -> Counter[str]:
        """Return the number of messages of each kind."""
        return Counter(draft.kind for draft in self.drafts)

    def _pairs(self) -> Sequence[tuple[LabelledDraft, frozenset[str]]]:
        return list(zip(self.drafts, self.found, strict=True))


def score_drafts(drafts: Sequence[LabelledDraft]) -> DraftScores:
    """Check the drafts with all detectors. Raise CorpusError for a problem that is not in the database."""
    contexts = draft_contexts(drafts)
    forbidden = current_rule_set().forbidden_codes
    found = [
        frozenset(one.clause for one in detect(draft.text, contexts[draft.id])) & forbidden
        for draft in drafts
    ]
    return DraftScores(drafts, found)


def draft_contexts(drafts: Sequence[LabelledDraft]) -> Mapping[str, MessageContext]:
    """Return the context of each draft by its id. Raise CorpusError for a problem that is not in the database."""
    wanted = {draft.problem for draft in drafts}
    problems = {
        problem.external_id: problem
        for problem in Problem.objects.filter(external_id__in=wanted).order_by("-pk")
    }
    if missing := sorted(wanted - problems.keys()):
        raise CorpusError(
            f"{len(missing)} problems are not in the database: {', '.join(missing)}. Import them with import_problems."
        )
    of_problem = {name: problem_context(problem) for name, problem in problems.items()}
    return {
        draft.id: of_problem[draft.problem].after_program(
            draft.program.code, draft.program.language, draft.before
        )
        for draft in drafts
    }
