"""Pseudonyms: the names that events, reviews and exports give to people."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from functools import cache

from django.contrib.auth.models import User

from accounts.models import PseudonymSalt

SALT_BYTES = 32


def pseudonym(person: User) -> str:
    """Return the pseudonym of a person. It depends only on the account id and on the salt in the database."""
    return _pseudonym(str(person.pk))


def policy_pseudonym(source: str) -> str:
    """Return a pseudonym in the form of a person's for a policy in place of a tutor, such as that of one run.

    Reviewers must not learn from it that no person held the session.
    """
    return _pseudonym(f"policy {source}")


def _pseudonym(key: str) -> str:
    return "person-" + hmac.new(_salt(), key.encode(), "sha1").hexdigest()[:12]


def site_id() -> str:
    """Return a hash of the salt, which identifies this site and its backups. It reveals nothing about the salt."""
    return hashlib.sha256(b"site\0" + _salt()).hexdigest()[:16]


@cache
def _salt() -> bytes:
    return bytes(PseudonymSalt.objects.get(pk=PseudonymSalt.PK).salt)


def ensure_salt() -> None:
    """Store a random salt if the table is empty, and clear the cached salt."""
    PseudonymSalt.objects.get_or_create(
        pk=PseudonymSalt.PK, defaults={"salt": secrets.token_bytes(SALT_BYTES)}
    )
    _salt.cache_clear()
