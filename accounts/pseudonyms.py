"""Pseudonyms: the names that events, reviews and exports give to people."""

from __future__ import annotations

import hmac
import secrets
from functools import cache

from django.contrib.auth.models import User

from accounts.models import PseudonymSalt

SALT_BYTES = 32


def pseudonym(person: User) -> str:
    """Return the pseudonym of a person. It depends only on the account id and on the salt in the database."""
    return "person-" + hmac.new(_salt(), str(person.pk).encode(), "sha1").hexdigest()[:12]


@cache
def _salt() -> bytes:
    return bytes(PseudonymSalt.objects.get(pk=PseudonymSalt.PK).salt)


def ensure_salt() -> None:
    """Store a random salt if the table is empty, and clear the cached salt."""
    PseudonymSalt.objects.get_or_create(
        pk=PseudonymSalt.PK, defaults={"salt": secrets.token_bytes(SALT_BYTES)}
    )
    _salt.cache_clear()
