"""`manage.py withdraw_consent`: erase a person's sessions after the consent was withdrawn."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from tutoring.withdrawal import WithdrawalRefusedError, count_of, counts_in_words, withdraw_consent


class Command(BaseCommand):
    help = "Print what the withdrawal of a person's consent erases. With --erase, erase it; this cannot be undone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="user name of the person")
        parser.add_argument("--erase", action="store_true", help="erase the content")

    def handle(self, *_: Any, name: str, erase: bool, **__: Any) -> None:
        person = User.objects.filter(username=name).first()
        if person is None:
            raise CommandError(f"The account {name!r} does not exist.")
        if not erase:
            self.stdout.write(f"Would erase: {counts_in_words(count_of(person))}. Erase it with --erase.")
            return
        try:
            withdrawal = withdraw_consent(person, None)
        except WithdrawalRefusedError as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(f"Erased: {counts_in_words(withdrawal.counts)}. Withdrawal {withdrawal.pk}.")
