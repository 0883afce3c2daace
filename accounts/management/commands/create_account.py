"""`manage.py create_account`: an account for a person, with one or more roles."""

import secrets
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.roles import Role


def give_roles(user: User, roles: Iterable[Role]) -> None:
    """Make these the person's only roles. Admins may also enter the administration pages."""
    roles = set(roles)
    user.groups.set(Group.objects.filter(name__in=roles))
    user.is_staff = user.is_superuser = Role.ADMIN in roles
    user.save(update_fields=["is_staff", "is_superuser"])


class Command(BaseCommand):
    help = "Make an account and print its password, once. With --reset, an existing account gets a new one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what the person types at the login")
        parser.add_argument(
            "--role",
            action="append",
            required=True,
            choices=[str(role) for role in Role],
            help="may be repeated",
        )
        parser.add_argument(
            "--reset", action="store_true", help="new password and roles for an existing account"
        )

    def handle(self, *arguments: Any, name: str, role: list[str], reset: bool, **options: Any) -> None:
        user = User.objects.filter(username=name).first()
        if user and not reset:
            raise CommandError(f"There is an account {name!r} already. Give --reset for a new password.")
        if not user and reset:
            raise CommandError(f"There is no account {name!r} to reset.")
        user = user or User(username=name)
        password = secrets.token_urlsafe(12)
        user.set_password(password)
        try:
            user.full_clean()
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        with transaction.atomic():
            user.save()
            give_roles(user, map(Role, role))
        self.stdout.write(f"{name} ({', '.join(role)}): password {password}")
