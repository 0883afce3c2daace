"""Limits of failed logins, which are checked before a password is hashed. django-axes stores the failures.

* An account from one address: five failures, then none for five minutes.
* One address: fifty failures on any accounts, then none for five minutes.
* An account from all addresses: twenty failures, then none for one minute. Browsers in which the account was logged in
  before are exempt, so a guesser cannot keep its owner out.

A failure counts until five minutes have passed without another one of the same account, address and browser.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.addresses import client_address

ADDRESS_LIMIT = 50
"""Failures of one address on any accounts."""

ACCOUNT_LIMIT = 20
"""Failures on one account from all addresses."""

ACCOUNT_COOL_DOWN = timedelta(minutes=1)
"""Time after the last failure for which ACCOUNT_LIMIT applies."""

_KNOWN_BROWSER = "known_browser"
_KNOWN_BROWSER_AGE = timedelta(days=180)

_IN_PROGRESS_PAUSE = timedelta(seconds=5)
"""The pause that a visitor is given if only logins in progress reach a limit."""

_CLOCK_TOLERANCE = timedelta(minutes=1)
"""Largest difference between the clocks of web servers."""

_in_progress: Counter[tuple[str | None, str]] = Counter()
_in_progress_lock = threading.Lock()


class LoginThrottle(AxesDatabaseHandler):  # type: ignore[misc]
    """The store of failures of django-axes with the limits of this module."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Return whether a login with these credentials must be refused without a check of the password."""
        return seconds_to_wait(request, (credentials or {}).get("username", "")) > 0


@contextmanager
def login_in_progress(request: HttpRequest, username: str) -> Iterator[None]:
    """Count a login as a possible failure until it has ended, so that parallel guesses keep the limits too."""
    keys = [(username, client_address(request)), (None, client_address(request))]
    with _in_progress_lock:
        _in_progress.update(keys)
    try:
        yield
    finally:
        with _in_progress_lock:
            _in_progress.subtract(keys)
            for key in keys:
                if not _in_progress[key]:
                    del _in_progress[key]


def seconds_to_wait(request: HttpRequest, username: str) -> int:
    """Return the number of seconds until this visitor may try a password of this account; 0 if it may now."""
    address = client_address(request)
    cool_down = settings.AXES_COOLOFF_TIME
    now = timezone.now()
    # A failure in the future was stored before the clock was set back; it would lock its owner out for that time.
    counted = AccessAttempt.objects.filter(attempt_time__range=(now - cool_down, now + _CLOCK_TOLERANCE))
    of_account = counted.filter(username=username)
    limits = [
        _Limit(
            settings.AXES_FAILURE_LIMIT, cool_down, of_account.filter(ip_address=address), (username, address)
        ),
        _Limit(ADDRESS_LIMIT, cool_down, counted.filter(ip_address=address), (None, address)),
    ]
    if not _is_known_browser(request, username):
        limits.append(_Limit(ACCOUNT_LIMIT, ACCOUNT_COOL_DOWN, of_account, (username, "")))
    return max(0, *(math.ceil((limit.end(now) - now).total_seconds()) for limit in limits))


@dataclass(frozen=True)
class _Limit:
    """A number of failures after which a visitor must wait for `cool_down`."""

    failures: int
    cool_down: timedelta
    attempts: QuerySet[AccessAttempt]
    in_progress: tuple[str | None, str]
    """The key of the logins in progress that may become failures of this limit."""

    def end(self, now: datetime) -> datetime:
        """Return the time from which the next password may be tried."""
        found = self.attempts.aggregate(failures=Sum("failures_since_start"), last=Max("attempt_time"))
        failures: int = found["failures"] or 0
        if failures >= self.failures:
            last: datetime = found["last"]
            return last + self.cool_down
        others = _in_progress[self.in_progress] - 1
        return now + _IN_PROGRESS_PAUSE if failures + others >= self.failures else now


def remember_browser(response: HttpResponse, user: User) -> None:
    """Set the cookie of a browser in which the account was logged in."""
    response.set_cookie(
        _KNOWN_BROWSER,
        _browser_token(user.get_username()),
        max_age=_KNOWN_BROWSER_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _is_known_browser(request: HttpRequest, username: str) -> bool:
    return constant_time_compare(request.COOKIES.get(_KNOWN_BROWSER, ""), _browser_token(username))


def _browser_token(username: str) -> str:
    return salted_hmac("accounts.known_browser", username, algorithm="sha256").hexdigest()


def locked_out(request: HttpRequest, *_: Any) -> HttpResponse:
    """Return the page that says when the visitor may try again. It is the same for accounts that do not exist."""
    username = (getattr(request, "axes_credentials", None) or {}).get("username", "")
    seconds = max(1, seconds_to_wait(request, username))
    response = render(
        request, "registration/locked_out.html", {"minutes": math.ceil(seconds / 60)}, status=429
    )
    response["Retry-After"] = str(seconds)
    return response
