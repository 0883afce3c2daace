"""The error of backups."""


class BackupError(Exception):
    """A backup that cannot be written or restored; the message says what is wrong and what to do."""
