"""The store of browser sessions: Django's, with the account beside each session, so that all logins can be ended."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import OperationalError, transaction
from django.dispatch import Signal
from django.utils import timezone

from accounts.models import LoginSession

logins_ended = Signal()
"""Sent after logins of an account were ended; `user_id` is its key. Live pages must check their login then."""


class SessionStore(DatabaseStore):
    """A session in the table LoginSession."""

    @classmethod
    def get_model_class(cls) -> type[LoginSession]:
        """Return the model of the rows."""
        return LoginSession

    def save(self, must_create: bool = False) -> None:
        """Store the session. Raises OperationalError, for example for a full disk, and UpdateError for an ended login.

        Django raises UpdateError for both, and the page would say that the login has ended.
        """
        failure: BaseException | None = None
        try:
            super().save(must_create)
        except UpdateError as error:
            failure = error.__context__
            if not isinstance(failure, OperationalError):
                raise
        if failure:
            raise failure

    def create_model_instance(self, data: dict[str, Any]) -> LoginSession:
        """Return the row of this session, with the account that is logged in."""
        row = cast(LoginSession, super().create_model_instance(data))
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        return row

    async def acreate_model_instance(self, data: dict[str, Any]) -> LoginSession:
        """Return the row of this session, with the account that is logged in."""
        row = cast(LoginSession, await super().acreate_model_instance(data))
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        return row


def end_logins(user: User, except_key: str | None = None) -> int:
    """End all logins of the account, except the session `except_key`; return their number. Live pages close."""
    count, _ = LoginSession.objects.filter(user=user).exclude(session_key=except_key).delete()
    transaction.on_commit(lambda: logins_ended.send(SessionStore, user_id=user.pk))
    return count


def delete_expired() -> None:
    """Delete sessions whose time is over."""
    LoginSession.objects.filter(expire_date__lt=timezone.now()).delete()
