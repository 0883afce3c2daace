"""Proxies in front of the web server that TRUSTED_PROXIES does not name: all visitors then share one address."""

from __future__ import annotations

import ipaddress
import time
from contextlib import suppress
from pathlib import Path

import structlog
from django.conf import settings
from django.http import HttpRequest

logger = structlog.get_logger(__name__)

FIX = "Set TRUSTED_PROXIES to the addresses or networks of the proxies (docs/operator.md)."

_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED")
_MEMORY = 7 * 24 * 3600.0
"""Seconds for which a request through an untrusted proxy is reported."""

_noted: set[str] = set()
"""Addresses that this process has noted."""


def note_proxy(request: HttpRequest) -> None:
    """Store the sender of a request with the headers of a proxy, if it is not trusted, for `seen_proxy`."""
    if not any(name in request.META for name in _HEADERS):
        return
    sender = request.META.get("REMOTE_ADDR", "")
    if sender in _noted or _is_trusted(sender) is not False or len(_noted) > 100:
        return
    _noted.add(sender)
    logger.warning("a request came through a proxy that TRUSTED_PROXIES does not name", proxy=sender)
    with suppress(OSError):  # a full disk must not fail the page
        _file().write_text(sender)


def seen_proxy() -> str:
    """Return the address of the last untrusted proxy of this machine's web server; "" if there is none."""
    try:
        sender, age = _file().read_text().strip(), time.time() - _file().stat().st_mtime
    except OSError:
        return ""
    return sender if age < _MEMORY and _is_trusted(sender) is False else ""


def unnamed_proxy() -> str:
    """Return why the settings need a proxy that TRUSTED_PROXIES does not name; "" if they do not."""
    public = [host for host in settings.ALLOWED_HOSTS if host.strip("[]") not in settings.LOOPBACK]
    trusted = settings.TRUSTED_PROXIES
    if public and settings.HOST in settings.LOOPBACK and not trusted:
        return f"ALLOWED_HOSTS has {public[0]}, HOST={settings.HOST} needs a proxy, and TRUSTED_PROXIES is empty."
    if (
        settings.HTTPS
        and settings.HOST not in settings.LOOPBACK
        and all(network.is_loopback for network in trusted)
    ):
        return f"HTTPS=1 and HOST={settings.HOST} need a TLS proxy, and TRUSTED_PROXIES has loopback addresses only."
    return ""


def _is_trusted(sender: str) -> bool | None:
    """Return whether TRUSTED_PROXIES has the address; None if it is not an address."""
    try:
        address = ipaddress.ip_address(sender)
    except ValueError:
        return None
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.TRUSTED_PROXIES)


def _file() -> Path:
    return Path(settings.VAR) / "untrusted_proxy"
