"""The demo accounts, one for each role. Their password is published, so they are for trials on one machine only."""

from django.conf import settings

from accounts.roles import Role

DEMO_PASSWORD = "hintbench-demo"  # noqa: S105  (published on purpose; refused on a reachable address)
DEMO_ACCOUNTS = {f"demo-{role}": role for role in Role}


def refusal() -> str | None:
    """Return why the published password is not accepted at this site, or None if it is."""
    if settings.HOST not in settings.LOOPBACK or settings.HTTPS:
        return "Demo accounts have a published password, so they are allowed only on a loopback address without HTTPS."
    return None


def is_published(name: str, password: str) -> bool:
    """Return whether these are the published name and password of a demo account."""
    return name.lower() in DEMO_ACCOUNTS and password == DEMO_PASSWORD
