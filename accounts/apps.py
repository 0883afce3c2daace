from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        post_migrate.connect(create_rows, sender=self)


def create_rows(**_: Any) -> None:
    """Create what every database needs: a group for each role and the salt of the pseudonyms."""
    from django.contrib.auth.models import Group

    from accounts.pseudonyms import ensure_salt
    from accounts.roles import Role

    for role in Role:
        Group.objects.get_or_create(name=role)
    ensure_salt()
