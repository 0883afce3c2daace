"""`manage.py create_demo_accounts`: create one account per role with a published password, for trials."""

from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.actions import give_roles
from accounts.demo_accounts import DEMO_ACCOUNTS, DEMO_PASSWORD, refusal


class Command(BaseCommand):
    help = (
        "Create an account for each role: demo-tutor, demo-reviewer … If they exist, reset their passwords."
    )

    def handle(self, *arguments: Any, **options: Any) -> None:
        if reason := refusal():
            raise CommandError(f"{reason} Use create_account instead.")
        password = make_password(DEMO_PASSWORD)  # hashed once, because it takes half a second
        with transaction.atomic():
            for name, role in DEMO_ACCOUNTS.items():
                user, _ = User.objects.update_or_create(
                    username=name, defaults={"password": password, "is_active": True}
                )
                give_roles(user, [role])
        if options["verbosity"]:
            self.stdout.write(f"{', '.join(DEMO_ACCOUNTS)}: password {DEMO_PASSWORD}")
