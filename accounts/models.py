"""The secret salt of the pseudonyms."""

from __future__ import annotations

from django.db import models


class PseudonymSalt(models.Model):
    """The only salt of this database. Replacing it changes the pseudonyms in all later records."""

    PK = 1

    salt = models.BinaryField(
        help_text="Key of an HMAC. It links each pseudonym to its account, so keep it secret."
    )

    def __str__(self) -> str:
        return "salt of pseudonyms"
