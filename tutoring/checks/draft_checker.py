"""The question to the checker model about a draft, and the findings that are stored for it.

The web server stores the question, a streamer asks it (`tutoring/replies/draft_checks.py`), and the web server reads
the findings. The row of a question is its cache: model, parameters and the whole prompt determine it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.db import transaction

from benchmark.model_calls import caps, catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.ledger import Account
from benchmark.models import LanguageModel
from benchmark.models.spending import Purpose
from benchmark.providers import ModelSpecError
from tutoring.checks import model_checker
from tutoring.checks.recording import basis_of
from tutoring.models import DraftCheckRequest, Session
from tutoring.notifications import notify_streamers
from tutoring.protocols import Rules
from tutoring.rules import Detection, MessageContext
from tutoring.sessions.masking import Names, mask
from tutoring.sessions.spending import study_key_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DraftQuestion:
    """The request to the checker model of a protocol about one draft."""

    model: LanguageModel
    prompt: str

    @classmethod
    def about(cls, text: str, context: MessageContext, rules: Rules) -> DraftQuestion:
        """Return the question about a draft. Raises CatalogueError and ModelSpecError."""
        model = catalogue.named_unsaved(rules.checker_model)
        return cls(model, model_checker.prompt(text, context, rules.codebook))

    @property
    def basis(self) -> str:
        """The sha256 of what determines the answer."""
        return basis_of(self.model.spec, self.model.parameters, self.prompt)

    def account(self, session: Session) -> Account:
        """Return the account in which the call counts."""
        return Account.of_model(self.model, Purpose.DRAFT_CHECK, study_key_of(session))


@dataclass(frozen=True)
class PendingQuestion:
    """A question that a streamer asks, named by its basis, so that a repeated request need not build its prompt."""

    basis: str

    @property
    def is_open(self) -> bool:
        """Whether it has no answer yet."""
        unfinished = DraftCheckRequest.objects.filter(state__in=DraftCheckRequest.UNFINISHED)
        return unfinished.filter(basis=self.basis).exists()


def findings_by_model(
    session: Session, text: str, context: MessageContext, rules: Rules
) -> list[Detection] | PendingQuestion:
    """Return the findings of the checker model in a draft, or the question while a streamer asks it.

    The first call stores the question. The findings are empty if the model cannot be asked, failed, or found nothing.
    """
    try:
        question = DraftQuestion.about(text, context, rules)
    except (CatalogueError, ModelSpecError) as error:
        logger.warning("drafts are not checked by a model: %s", error)
        return []
    row = DraftCheckRequest.objects.filter(basis=question.basis).first()
    if row is None:
        return _request(session, text, question)
    if row.state in DraftCheckRequest.UNFINISHED:
        return PendingQuestion(row.basis)
    return [_shown(one, session, question) for one in row.findings]


def _request(session: Session, text: str, question: DraftQuestion) -> list[Detection] | PendingQuestion:
    """Store the question in place of those about earlier drafts of the session that no streamer has claimed."""
    if caps.exist() and caps.refusal(question.account(session)):
        return []
    with transaction.atomic():
        DraftCheckRequest.objects.waiting().filter(session=session).delete()
        DraftCheckRequest.objects.get_or_create(
            basis=question.basis, defaults={"session": session, "text": text}
        )
        transaction.on_commit(notify_streamers)
    return PendingQuestion(question.basis)


def _shown(found: tuple[str, int, int, str], session: Session, question: DraftQuestion) -> Detection:
    """Return a stored finding. Names of models in its reason are masked."""
    clause, start, end, reason = found
    statement = session.problem.statement if session.problem else ""
    names = Names(statement, question.model.spec.partition(":")[2])
    return model_checker.detection(clause, start, end, mask(reason, names.spans(reason)))
