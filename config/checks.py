"""Deployment checks of Hintbench for `manage.py check --deploy`."""

from typing import Any

from django.conf import settings
from django.core import checks

from config import proxies
from config.valkey import missing_protection


@checks.register(checks.Tags.security, deploy=True)
def check_queue_server(**_options: Any) -> list[checks.CheckMessage]:
    """Return a warning if the queue server is on another host and lacks TLS or a password."""
    missing = missing_protection(settings.REDIS_URL)
    if not missing:
        return []
    return [
        checks.Warning(
            f"REDIS_URL names a queue server on another host without {missing}.",
            hint="Use rediss://:PASSWORD@HOST:PORT/0, or a server on this machine.",
            id="hintbench.W001",
        )
    ]


@checks.register(checks.Tags.security, deploy=True)
def check_proxies(**_options: Any) -> list[checks.CheckMessage]:
    """Return a warning if a proxy is in front that TRUSTED_PROXIES does not name."""
    reason = proxies.unnamed_proxy()
    if sender := proxies.seen_proxy():
        reason = f"A request came through the proxy {sender}, which TRUSTED_PROXIES does not name."
    return [checks.Warning(reason, hint=proxies.FIX, id="hintbench.W002")] if reason else []
