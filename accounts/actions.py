"""The actions on accounts. They are the only writers of roles and of the audit of accounts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from axes.models import AccessAttempt
from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.models import AccountEvent, ExternalIdentity
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


def check_user_name(name: str) -> None:
    """Raise ValidationError for a name with characters that user names may not have."""
    try:
        User.username_validator(name)
    except ValidationError:
        raise ValidationError("A user name may have only letters, digits and @ . + - _") from None


@transaction.atomic
def create_account(
    username: str, roles: Iterable[Role], actor: User | None, password: str | None = None
) -> User:
    """Store a new account. Without a password, the account can be used only after a set-password link was used.

    Raises ValidationError for a name that is taken or not valid. `actor` is None for a command of the operator.
    """
    check_user_name(username)
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
    """Replace the roles. Raises AccountActionError if admins remove their own role admin."""
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
    """Disable the account permanently and replace its name by its pseudonym.

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
    user.external_identities.all().delete()
    end_logins(user)
    _record(user, actor, Kind.PSEUDONYMISED)


@transaction.atomic
def change_email(user: User, email: str, actor: User | None) -> None:
    """Replace the e-mail address, which links the account at the first single sign-on.

    Raises AccountActionError for an address that is not valid or that another account has.
    """
    if email:
        try:
            validate_email(email)
        except ValidationError:
            raise AccountActionError(f"{email} is not an e-mail address.") from None
        if User.objects.filter(email__iexact=email).exclude(pk=user.pk).exists():
            raise AccountActionError("Another account has this e-mail address.")
    user.email = email
    user.save(update_fields=["email"])
    _record(user, actor, Kind.EMAIL)


@dataclass(frozen=True)
class Identity:
    """A person as a provider of single sign-on describes it."""

    issuer: str
    subject: str
    email: str
    """An address that the provider has verified, or ""."""
    account_name: str
    """The user name of the account here by the claim that the operator has chosen, or ""."""
    proposed_name: str
    """A user name for a new account, or ""."""


@transaction.atomic
def account_for(identity: Identity) -> User:
    """Return the account of the person, which may be disabled.

    The first login links the account with this user name or verified e-mail address; otherwise it makes an account
    without a role. Raises AccountActionError if several accounts have the address, or if the account that the claims
    name belongs to another person of the provider.
    """
    known = ExternalIdentity.objects.filter(issuer=identity.issuer, subject=identity.subject)
    if found := known.select_related("user").first():
        return found.user
    user = _account_to_link(identity)
    if user is None:
        user = create_account(_free_name(identity), [], None)
        if identity.email:
            user.email = identity.email
            user.save(update_fields=["email"])
    elif user.external_identities.filter(issuer=identity.issuer).exists():
        raise AccountActionError("Another person uses this account by single sign-on. Ask an admin.")
    ExternalIdentity.objects.create(user=user, issuer=identity.issuer, subject=identity.subject)
    _record(user, None, Kind.LINKED)
    return user


def _account_to_link(identity: Identity) -> User | None:
    if identity.account_name:
        return User.objects.filter(username=identity.account_name).first()
    users = list(User.objects.filter(email__iexact=identity.email)[:2]) if identity.email else []
    if len(users) > 1:
        raise AccountActionError("Several accounts have your e-mail address. Ask an admin.")
    return users[0] if users else None


def _free_name(identity: Identity) -> str:
    """Return a valid user name that no account has."""
    wanted = identity.account_name or identity.proposed_name or identity.email.partition("@")[0]
    name = re.sub(r"[^\w.@+-]", "", wanted)[:140] or "person"
    numbers = itertools.chain([""], map(str, itertools.count(2)))
    free = (f"{name}{number}" for number in numbers)
    return next(one for one in free if not User.objects.filter(username__iexact=one).exists())


def is_pseudonymised(user: User) -> bool:
    """Return whether the name of the account is its pseudonym."""
    return user.username == pseudonym(user)


def _record(account: User, actor: User | None, kind: AccountEvent.Kind, detail: str = "") -> None:
    AccountEvent.objects.create(account=account, actor=actor, kind=kind, detail=detail)


def _names(roles: Iterable[Role]) -> str:
    return ", ".join(sorted(roles)) or "no role"
