"""The actions on accounts. They are the only writers of roles and of the audit of accounts."""

from __future__ import annotations

from collections.abc import Iterable

from axes.models import AccessAttempt
from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.models import AccountEvent
from accounts.pseudonyms import pseudonym
from accounts.roles import Role, own_roles
from accounts.sessions import end_logins

Kind = AccountEvent.Kind


class AccountActionError(Exception):
    """An action that is not allowed; the message says why."""


def give_roles(user: User, roles: Iterable[Role]) -> None:
    """Replace the person's roles. Admins also get access to the administration pages."""
    roles = set(roles)
    user.groups.set(Group.objects.filter(name__in=roles))
    user.is_staff = user.is_superuser = Role.ADMIN in roles
    user.save(update_fields=["is_staff", "is_superuser"])


@transaction.atomic
def create_account(
    username: str, roles: Iterable[Role], actor: User | None, password: str | None = None
) -> User:
    """Store a new account. Without a password, it can be entered after a set-password link was used only.

    Raises ValidationError for a name that is taken or not valid. `actor` is None for a command of the operator.
    """
    roles = set(roles)
    user = User(username=username)
    user.set_password(password)
    user.full_clean(exclude=["password"])
    user.save()
    give_roles(user, roles)
    _record(user, actor, Kind.CREATED, _names(roles))
    return user


@transaction.atomic
def change_roles(user: User, roles: Iterable[Role], actor: User | None) -> None:
    """Replace the roles. Raises AccountActionError if admins take the role from themselves."""
    roles = set(roles)
    if user == actor and Role.ADMIN not in roles:
        raise AccountActionError("You cannot take the role admin from your own account. Ask another admin.")
    former = own_roles(user)
    if former != roles:
        give_roles(user, roles)
        _record(user, actor, Kind.ROLES, f"{_names(former)} → {_names(roles)}")


@transaction.atomic
def make_password_link(user: User, actor: User | None) -> str:
    """Remove the password, end all logins, and return the path of a page that sets a new password once."""
    if not user.is_active:
        raise AccountActionError("The account is disabled. Enable it first.")
    user.set_unusable_password()
    user.save(update_fields=["password"])
    end_logins(user)
    _record(user, actor, Kind.LINK)
    key = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("set_password", args=(key, default_token_generator.make_token(user)))


@transaction.atomic
def change_password(user: User, password: str, actor: User | None) -> None:
    """Replace the password, and end all logins."""
    user.set_password(password)
    user.save(update_fields=["password"])
    end_logins(user)
    _record(user, actor, Kind.PASSWORD)


@transaction.atomic
def record_password_change(user: User, keep_login: str | None = None) -> None:
    """Record that the person has changed the password, and end all other logins."""
    end_logins(user, keep_login)
    _record(user, user, Kind.PASSWORD)


@transaction.atomic
def disable(user: User, actor: User | None) -> None:
    """Refuse further logins and end the present ones. The records stay."""
    if user == actor:
        raise AccountActionError("You cannot disable your own account. Ask another admin.")
    user.is_active = False
    user.save(update_fields=["is_active"])
    end_logins(user)
    _record(user, actor, Kind.DISABLED)


@transaction.atomic
def enable(user: User, actor: User | None) -> None:
    """Allow logins again. Raises AccountActionError for a pseudonymised account, which stays disabled."""
    if is_pseudonymised(user):
        raise AccountActionError("A pseudonymised account cannot be enabled. Add a new account.")
    user.is_active = True
    user.save(update_fields=["is_active"])
    _record(user, actor, Kind.ENABLED)


@transaction.atomic
def end_all_logins(user: User, actor: User, keep_login: str | None = None) -> int:
    """End all logins of the account in all browsers, except the session `keep_login`; return their number."""
    count = end_logins(user, keep_login)
    _record(user, actor, Kind.LOGINS_ENDED, str(count))
    return count


@transaction.atomic
def pseudonymise(user: User, actor: User | None) -> None:
    """Disable the account for ever and replace its name by its pseudonym.

    Sessions, reviews and other records stay: they name the person by the same pseudonym.
    """
    if user == actor:
        raise AccountActionError("You cannot pseudonymise your own account. Ask another admin.")
    AccessAttempt.objects.filter(username=user.username).delete()
    user.username = pseudonym(user)
    user.first_name = user.last_name = user.email = ""
    user.is_active = False
    user.last_login = None
    user.set_unusable_password()
    user.save()
    give_roles(user, [])
    end_logins(user)
    _record(user, actor, Kind.PSEUDONYMISED)


def is_pseudonymised(user: User) -> bool:
    """Return whether the name of the account is its pseudonym."""
    return user.username == pseudonym(user)


def _record(account: User, actor: User | None, kind: AccountEvent.Kind, detail: str = "") -> None:
    AccountEvent.objects.create(account=account, actor=actor, kind=kind, detail=detail)


def _names(roles: Iterable[Role]) -> str:
    return ", ".join(sorted(roles)) or "no role"
