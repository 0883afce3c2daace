"""The account of a session's replies, and what its tutor reads when a spending cap refuses a reply."""

from __future__ import annotations

from benchmark.model_calls import caps
from benchmark.model_calls.budget import Price
from benchmark.model_calls.ledger import Account
from benchmark.models import LanguageModel
from benchmark.models.spending import Purpose
from benchmark.providers import REFUSED
from tutoring.models import Reply, Session, Study

SPENDING_LIMIT = "spending_limit"
"""The kind of failure of a queued reply that a spending cap refused."""

NOT_CALLED = (
    "The spending limit of this site was reached before the model was called. The reply does not count."
)


def may_be_billed(error_kind: str, arrived: str = "") -> bool:
    """Return whether a provider may bill a call that failed in this way after text or reasoning that had arrived.

    Only a provider that refused the call, or was not called because of a cap, certainly bills nothing.
    """
    return bool(arrived) or error_kind not in REFUSED | {SPENDING_LIMIT}


def study_key_of(session: Session) -> str:
    """Return the spending key of the study that assigned the session; blank outside studies."""
    study = Study.objects.filter(assignments__session=session).first()
    return study.spending_key if study else ""


def account_of(session: Session) -> Account:
    """Return the account of the session's next reply. The price is that of the model's row now."""
    row = session.model or LanguageModel(spec=session.model_spec)
    return Account.of_model(row, Purpose.REPLY, study_key_of(session))


def account_of_reply(session: Session, reply: Reply) -> Account:
    """Return the account of a reply that a streamer has claimed. The price is that of the start of its call."""
    price = Price(**reply.price) if reply.price else None
    return Account(session.model_spec, price, study_key_of(session), Purpose.REPLY)


def spending_refusal(session: Session) -> str:
    """Return why no reply can be requested now because of a spending cap, or blank.

    The sentence is for the tutor. It names neither the model nor an amount.
    """
    if not caps.exist():
        return ""
    account = account_of(session)
    if not caps.refusal(account):
        return ""
    state = "cannot be checked" if account.price is None else "is reached"
    return (
        f"The spending limit of this site {state}, so no reply can be requested now. Your text is kept. Please tell "
        "an admin."
    )
