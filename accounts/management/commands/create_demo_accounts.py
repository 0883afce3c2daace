"""`manage.py create_demo_accounts`: create one account per role with a published password, for trials."""

from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.actions import give_roles
from accounts.roles import Role

DEMO_PASSWORD = "hintbench-demo"  # noqa: S105  (published on purpose; refused on a reachable address)
DEMO_ACCOUNTS = {f"demo-{role}": role for role in Role}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def refusal() -> str | None:
    """Return why demo accounts are not allowed on this site, or None if they are allowed."""
    if settings.HOST not in LOOPBACK or settings.HTTPS:
        return "Demo accounts have a published password, so they are allowed only on a loopback address without HTTPS."
    return None


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
