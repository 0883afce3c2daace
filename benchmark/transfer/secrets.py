"""Keys and addresses of this site, which no export may contain."""

import json
import os
import re
from collections.abc import Mapping

from django.conf import settings

_SHORTEST = 8
"""Characters of a value that counts as a secret; shorter ones occur in ordinary text."""

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_ADDRESS_NAME = re.compile(r"(_BASE_URL|REDIS_URL|DATABASE_URL|MODEL_ENDPOINT_\w+_URL)$")
_PATTERNS = {
    "an address with a user name or a password": re.compile(r"://[^/\s\"@]+@"),
    "a text in the form of an API key": re.compile(r"\bsk-[\w-]{16,}"),
}
_ADDRESS = re.compile(r"\w://")
MASK = "[address]"


class SecretFilter:
    """The secret values of this site by name, searched for in the lines of an export."""

    def __init__(self) -> None:
        self._keys = _values(_SECRET_NAME)
        self._addresses = _values(_ADDRESS_NAME)
        names = self._keys | self._addresses
        self._names = {json.dumps(value, ensure_ascii=False)[1:-1]: name for value, name in names.items()}
        self._search = _any_of(self._names)
        self._address = _any_of(self._addresses)

    def masked(self, text: str) -> str:
        """Return a message of a provider with the addresses of this site masked."""
        return self._address.sub(MASK, text) if self._address else text

    def found_in(self, line: str) -> str:
        """Return the name of a secret of this site in a line; blank without any."""
        match = self._search.search(line) if self._search else None
        return f"the value of {self._names[match[0]]}" if match else ""

    def found_in_settings(self, line: str, model: str) -> str:
        """Return a name for what looks like a secret in a run's line; `model` is the JSON of its model and limits."""
        for name, pattern in _PATTERNS.items():
            if pattern.search(line):
                return name
        return "the address of a server" if _ADDRESS.search(model) else self.found_in(line)


def _values(name: re.Pattern[str]) -> dict[str, str]:
    """Return the values of settings and environment variables whose names match."""
    known: dict[str, object] = {one: getattr(settings, one) for one in dir(settings) if one.isupper()}
    database: Mapping[str, object] = settings.DATABASES["default"]
    known |= {f"DATABASE_{one}": value for one, value in database.items()} | dict(os.environ)
    return {
        value.rstrip("/"): one
        for one, value in known.items()
        if name.search(one) and isinstance(value, str) and len(value.rstrip("/")) >= _SHORTEST
    }


def _any_of(values: Mapping[str, str]) -> re.Pattern[str] | None:
    longest_first = sorted(values, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if values else None
