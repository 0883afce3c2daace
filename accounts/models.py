"""Tables of accounts: salt of the pseudonyms, logins of browsers, identities of single sign-on, and the audit."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models


class PseudonymSalt(models.Model):
    """The only salt of this database. Replacing it changes the pseudonyms in all later records."""

    PK = 1

    salt = models.BinaryField(
        help_text="Key of an HMAC. It links each pseudonym to its account, so keep it secret."
    )

    def __str__(self) -> str:
        return "salt of pseudonyms"


class LoginSession(AbstractBaseSession):
    """The session of one browser, with the account that is logged in. Deleting the row ends the login."""

    user = models.ForeignKey(User, models.CASCADE, null=True, db_index=True, related_name="login_sessions")

    @classmethod
    def get_session_store_class(cls) -> Any:
        """Return the store of these rows."""
        return import_module(settings.SESSION_ENGINE).SessionStore


class ExternalIdentity(models.Model):
    """An identity at a provider of single sign-on, and the account to which it logs in."""

    user = models.ForeignKey(User, models.CASCADE, related_name="external_identities")
    issuer = models.CharField(max_length=500, help_text="Address of the provider.")
    subject = models.CharField(
        max_length=255, help_text="The provider's name of the person, which never changes."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="identity_has_one_account")]

    def __str__(self) -> str:
        return f"identity of account {self.user_id}"


class AccountEvent(models.Model):
    """One change of an account: who changed what, and when. It never contains a password, a link or a user name."""

    class Kind(models.TextChoices):
        """The kind of a change."""

        CREATED = "created", "Account created"
        ROLES = "roles", "Roles changed"
        LINK = "link", "Set-password link made"
        PASSWORD = "password", "Password changed"
        DISABLED = "disabled", "Account disabled"
        ENABLED = "enabled", "Account enabled"
        LOGINS_ENDED = "logins-ended", "Logins ended"
        PSEUDONYMISED = "pseudonymised", "Account pseudonymised"
        EMAIL = "email", "E-mail changed"
        LINKED = "linked", "Linked to single sign-on"

    at = models.DateTimeField(auto_now_add=True)
    account = models.ForeignKey(User, models.PROTECT, related_name="account_events")
    actor = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="The account that made the change; null for a command of the operator.",
    )
    kind = models.CharField(max_length=20, choices=Kind.choices)
    detail = models.CharField(max_length=200, help_text="For example the roles of the account.")

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: account {self.account_id}"
