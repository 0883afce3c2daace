"""Password hashing with a bound: few hashes at once, in threads of low priority, so that logins do not slow pages."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.contrib.auth.hashers import PBKDF2PasswordHasher

HASHES_AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""Hashes that this process computes at the same time."""

NICENESS = 10
"""The niceness of the hashing threads: pages on the same core have priority."""

LONGEST_WAIT = 30.0
"""Seconds after which a login that waits for its hash is given up."""


class HashingBusyError(Exception):
    """The error of too many passwords that are checked at once; the request may be repeated later."""


class BoundedPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's default hasher, which computes at most HASHES_AT_ONCE hashes at a time. Its hashes are the same."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Return the encoded hash. Raises HashingBusyError if it is not computed within LONGEST_WAIT seconds."""
        future = _pool().submit(super().encode, password, salt, iterations)
        try:
            return future.result(LONGEST_WAIT)
        except TimeoutError:
            future.cancel()
            raise HashingBusyError("too many passwords are being checked") from None


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(HASHES_AT_ONCE, "password-hash", _lower_priority)


def _lower_priority() -> None:
    # Linux keeps the niceness of each thread.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
