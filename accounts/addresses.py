"""The network address of a visitor, which limits the number of failed logins."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest

_UNKNOWN = "0.0.0.0"  # noqa: S104  (a value of the table for requests without an address)

IPV6_PREFIX = 64
"""Bits of an IPv6 address that count: a visitor usually has all addresses with these bits."""


def client_address(request: HttpRequest) -> str:
    """Return the address of the visitor; for IPv6, the first address of its /64 network.

    This is the address of the connection. If it belongs to `settings.TRUSTED_PROXIES`, it is the last address of
    X-Forwarded-For that is not a trusted proxy. Addresses before that one could be forged.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    found = None
    for text in [request.META.get("REMOTE_ADDR", ""), *reversed(forwarded)]:
        address = _parsed(text)
        if address is None:
            break
        found = address
        if not any(address in network for network in settings.TRUSTED_PROXIES):
            break
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, IPV6_PREFIX), strict=False).network_address)
    return str(found) if found else _UNKNOWN


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
