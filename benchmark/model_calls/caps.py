"""Spending caps: whether a call may begin, and what each cap has left.

A cap is compared with the ledger immediately before a call begins. Calls in flight are completed, so that all
processes together exceed a cap by no more than the cost of these calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction

from benchmark.model_calls import catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.ledger import Account, today
from benchmark.models import DailySpend, LanguageModel, SpendingCap
from benchmark.models.spending import MICRO
from benchmark.providers import ModelSpecError, ProviderError, is_scripted, parse_model_spec

LARGEST = 1_000_000_000
"""The largest valid cap in US dollars."""

STUDY = "study:"
"""The beginning of the key of a study."""


class CapError(ValueError):
    """An invalid cap, or one that does not exist. The message says what to do."""


class CapReachedError(Exception):
    """A call that may not begin because of a spending cap. The message names the cap and says what to do."""


@dataclass(frozen=True)
class CapState:
    """A cap and the known cost that counts towards it, in micro-dollars."""

    cap: SpendingCap
    spent: int

    @property
    def left(self) -> int:
        """The micro-dollars until the cap is reached; at least 0."""
        return max(0, self.cap.microdollars - self.spent)

    @property
    def dollars(self) -> float:
        """The known cost in US dollars."""
        return self.spent / MICRO

    @property
    def percent(self) -> int:
        """The share of the cap that is spent, rounded down; 100 for a cap of 0 and at most 999."""
        return min(999, self.spent * 100 // self.cap.microdollars) if self.cap.microdollars else 100

    @property
    def command(self) -> str:
        """The command that sets the cap, without the amount."""
        target = {"site": "", "model": f" --model {self.cap.key}", "study": f" --study {self.cap.key}"}
        return f"manage.py spending set {self.cap.period} DOLLARS{target[self.cap.scope]}"


def states(account: Account | None = None) -> list[CapState]:
    """Return all caps, or those that apply to the calls of an account, with what was spent."""
    spend, caps = DailySpend._meta.db_table, SpendingCap._meta.db_table
    query = (
        f"SELECT c.id, c.scope, c.key, c.period, c.microdollars, (SELECT COALESCE(SUM(d.microdollars), 0) "  # noqa: S608
        f"FROM {spend} d WHERE (c.period = 'total' OR d.day = %s) AND (c.scope = 'site' "
        "OR (c.scope = 'model' AND d.model_spec = c.key) OR (c.scope = 'study' AND d.study_key = c.key))) "
        f"FROM {caps} c"
    )
    values: list[Any] = [connection.ops.adapt_datefield_value(today())]
    if account is not None:
        query += " WHERE c.scope = 'site' OR (c.scope = 'model' AND c.key = %s) OR (c.scope = 'study' AND c.key = %s)"
        values += [account.model_spec, account.study_key]
    with connection.cursor() as cursor:
        cursor.execute(query + " ORDER BY c.scope, c.key, c.period", values)
        names = ("id", "scope", "key", "period", "microdollars")
        return [
            CapState(SpendingCap(**dict(zip(names, row[:-1], strict=True))), int(row[-1]))
            for row in cursor.fetchall()
        ]


def refusal(account: Account) -> str:
    """Return why no call of the account may begin now, in a sentence without its full stop, or blank.

    Free calls may always begin.
    """
    if account.price is not None and account.price.is_free:
        return ""
    applicable = states(account)
    if account.price is None and applicable:
        return _unknown_price(account, applicable[0])
    reached = next((state for state in applicable if not state.left), None)
    return "" if reached is None else _reached(reached)


def refuse(account: Account) -> None:
    """Raise CapReachedError if no call of the account may begin now."""
    if reason := refusal(account):
        raise CapReachedError(f"{reason[0].upper()}{reason[1:]}.")


def unknown_price(account: Account) -> str:
    """Return why calls of unknown price are refused, if a cap applies to the account, or blank."""
    applicable = states(account) if account.price is None else []
    return _unknown_price(account, applicable[0]) if applicable else ""


def dollars_left(account: Account) -> float | None:
    """Return the US dollars until the first cap of the account is reached; None without a cap, or for free calls."""
    if account.price is not None and account.price.is_free:
        return None
    left = [state.left for state in states(account)]
    return min(left) / MICRO if left else None


def _reached(state: CapState) -> str:
    daily = state.cap.period == SpendingCap.Period.DAY
    return (
        f"the spending cap of {state.cap.subject} of {state.cap.dollars:,.2f} US dollars "
        f"{'a day' if daily else 'in all'} is reached ({state.dollars:,.2f} spent). "
        f"{'Wait until the next day (UTC), or raise' if daily else 'Raise'} the cap on the page Spending, or with: "
        f"{state.command}"
    )


def _unknown_price(account: Account, state: CapState) -> str:
    return (
        f"the price of {account.model_spec} is unknown, so the spending cap of {state.cap.subject} cannot hold. Type "
        "a price on the model's page, or give --price INPUT OUTPUT, in US dollars for a million tokens"
    )


def exist() -> bool:
    """Return whether the site has any cap. Without one, the web server need not load the listed prices."""
    return SpendingCap.objects.exists()


def set_cap(scope: str, key: str, period: str, dollars: float) -> SpendingCap:
    """Store a cap, or change the amount of the stored one. Raises CapError."""
    key = checked_key(scope, key)
    stored = SpendingCap.objects.filter(scope=scope, key=key, period=period).first()
    return store(stored or SpendingCap(), scope, key, period, dollars)


def store(cap: SpendingCap, scope: str, key: str, period: str, dollars: float) -> SpendingCap:
    """Store a new cap, or change a stored one. Raises CapError, also if another cap has this scope, key and period."""
    if not 0 <= dollars <= LARGEST:
        raise CapError(f"A cap is from 0 to {LARGEST:,} US dollars.")
    cap.scope, cap.key, cap.period = scope, checked_key(scope, key), period
    cap.microdollars = round(dollars * MICRO)
    try:
        with transaction.atomic():
            cap.save()
    except IntegrityError:
        raise CapError(f"There is a cap of {cap} already. Change that one.") from None
    return cap


def find_cap(scope: str, key: str, period: str) -> SpendingCap:
    """Return the stored cap. Raises CapError."""
    found = SpendingCap.objects.filter(scope=scope, key=checked_key(scope, key), period=period).first()
    if found is None:
        known = "; ".join(map(str, SpendingCap.objects.all())) or "none"
        raise CapError(f"There is no such cap. Caps: {known}.")
    return found


def checked_key(scope: str, key: str) -> str:
    """Return the key as the ledger has it: blank, provider:model, or study:NAME@VERSION. Raises CapError.

    A model may be given by its label, a study without "study:".
    """
    key = key.strip()
    if scope == SpendingCap.Scope.SITE:
        if key:
            raise CapError("A cap of the site has no model and no study. Leave the field blank.")
        return ""
    if scope == SpendingCap.Scope.MODEL:
        try:
            return str(parse_model_spec(key)) if ":" in key else catalogue.find(key).spec
        except (CatalogueError, ModelSpecError) as error:
            raise CapError(str(error)) from None
    name, _, version = key.removeprefix(STUDY).partition("@")
    if not name or not version:
        raise CapError("A cap of a study needs its name and version: NAME@VERSION.")
    return f"{STUDY}{name}@{version}"


def models_without_price() -> list[LanguageModel]:
    """Return the active models in use whose price is unknown. Under a cap their calls are refused."""
    found = []
    for row in LanguageModel.objects.filter(active=True).exclude(frozen_at=None):
        try:
            if not is_scripted(parse_model_spec(row.spec)) and catalogue.price_of(row) is None:
                found.append(row)
        except (
            ModelSpecError,
            ProviderError,
        ):  # the endpoint or the provider was removed, so it is not called
            continue
    return found
