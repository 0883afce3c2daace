"""`manage.py retention`: list or erase sessions that are older than the retention period."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tutoring.withdrawal import counts_in_words, expired_notes, expired_sessions, retain


class Command(BaseCommand):
    help = (
        "Print which sessions, and how many private notes, are older than the retention period. With --erase, erase "
        "them; this cannot be undone. Workers do so each hour if RETENTION_DAYS is set."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days",
            type=int,
            default=settings.RETENTION_DAYS,
            help="days after the end (default: RETENTION_DAYS)",
        )
        parser.add_argument("--erase", action="store_true", help="erase the content")

    def handle(self, *_: Any, days: int, erase: bool, **__: Any) -> None:
        if days < 1:
            raise CommandError("No retention period is set. Set RETENTION_DAYS, or use --days N.")
        if not erase:
            found = expired_sessions(days).select_related("problem__dataset")
            for session in found:
                self.stdout.write(f"{session.pk}  {session.opened_at:%Y-%m-%d}  {session.problem}")
            counts = counts_in_words({"sessions": len(found), "private_notes": expired_notes(days).count()})
            self.stdout.write(f"Would erase: {counts}, older than {days} days. Erase them with --erase.")
            return
        withdrawal = retain(days)
        erased = withdrawal.counts if withdrawal else {"sessions": 0, "notes": 0}
        counts = counts_in_words({"sessions": erased["sessions"], "private_notes": erased["notes"]})
        self.stdout.write(f"Erased: {counts}, older than {days} days.")
