"""Withdrawal of consent and the retention period: sessions are erased, and a tombstone remains (consent.md)."""

from tutoring.withdrawal.consents import WithdrawalRefusedError, count_of, withdraw_consent
from tutoring.withdrawal.register import REGISTER, entries, read_register, write_register
from tutoring.withdrawal.replaying import apply_register
from tutoring.withdrawal.retention import expired_notes, expired_sessions, retain
from tutoring.withdrawal.wording import counts_in_words

__all__ = [
    "REGISTER",
    "WithdrawalRefusedError",
    "apply_register",
    "count_of",
    "counts_in_words",
    "entries",
    "expired_notes",
    "expired_sessions",
    "read_register",
    "retain",
    "withdraw_consent",
    "write_register",
]
