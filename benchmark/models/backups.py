"""The backups of this site that were written."""

from __future__ import annotations

from django.db import models


class Backup(models.Model):
    """A backup that `manage.py backup` or `manage.py upgrade` has written. It may have been deleted since."""

    at = models.DateTimeField(help_text="Start of the backup, whose database has the state of this time.")
    seconds = models.FloatField()
    bytes = models.BigIntegerField(help_text="Size of all files of the backup.")
    host = models.CharField(max_length=200)
    folder = models.CharField(max_length=500)

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"backup {self.folder} on {self.host}"
