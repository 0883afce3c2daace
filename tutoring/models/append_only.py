"""Base classes of recorded rows: no row is deleted, and most rows are never changed either."""

from __future__ import annotations

from typing import Any

from django.db import models


class UndeletableModel(models.Model):
    """A row that is never deleted."""

    class Meta:
        abstract = True

    def delete(self, *_: Any, **__: Any) -> tuple[int, dict[str, int]]:
        """Raise TypeError: recorded rows are never deleted."""
        raise TypeError(f"A recorded {self._meta.verbose_name} is never deleted.")


class AppendOnlyModel(UndeletableModel):
    """A row that is written once and then neither changed nor deleted."""

    class Meta:
        abstract = True

    def save(self, *arguments: Any, **options: Any) -> None:
        """Insert the row. Raise TypeError if it is stored already."""
        if not self._state.adding:
            raise TypeError(f"A recorded {self._meta.verbose_name} is never changed; append another one.")
        super().save(*arguments, **options)
