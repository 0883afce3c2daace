"""`manage.py create_account`: create an account with one or more roles."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts import actions
from accounts.roles import Role


class Command(BaseCommand):
    help = (
        "Create an account with roles, and print its password once. "
        "With --reset, replace the password and the roles of an existing account."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="user name for the login")
        parser.add_argument(
            "--role",
            action="append",
            required=True,
            choices=[str(role) for role in Role],
            help="role of the account; may be repeated",
        )
        parser.add_argument(
            "--reset", action="store_true", help="replace the password and the roles of an existing account"
        )

    def handle(self, *arguments: Any, name: str, role: list[str], reset: bool, **options: Any) -> None:
        user = User.objects.filter(username=name).first()
        if user and not reset:
            raise CommandError(
                f"The account {name!r} exists already. Use --reset to replace its password and roles."
            )
        if not user and reset:
            raise CommandError(f"The account {name!r} does not exist. Create it without --reset.")
        password = secrets.token_urlsafe(12)
        roles = [Role(one) for one in role]
        try:
            with transaction.atomic():
                if user:
                    actions.change_password(user, password, None)
                    actions.change_roles(user, roles, None)
                else:
                    actions.create_account(name, roles, None, password)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        self.stdout.write(f"{name} ({', '.join(role)}): password {password}")
