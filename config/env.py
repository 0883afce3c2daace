"""Typed readers of environment variables.

Each raises ImproperlyConfigured for an invalid value. The message names the variable, the error and valid values;
every process shows it and does not start.
"""

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from benchmark.blob_stores.location import Bucket, BucketLocationError, parse_bucket

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"", "0", "false", "no", "off"}


def env_text(name: str, default: str = "") -> str:
    """Return the variable without surrounding whitespace; `default` if it is not set or blank."""
    return os.environ.get(name, "").strip() or default


def env_flag(name: str, default: bool = False) -> bool:
    """Return a switch: 1/true/yes/on or 0/false/no/off in upper or lower case; blank is off."""
    text = os.environ.get(name)
    if text is None:
        return default
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={text!r} is not a switch: use 1 or 0.")


def env_integer(name: str, default: int, minimum: int, maximum: int) -> int:
    """Return an integer from `minimum` to `maximum`, both included."""
    text = env_text(name)
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={text!r} is not an integer.") from None
    if not minimum <= number <= maximum:
        raise ImproperlyConfigured(f"{name}={number} is out of range: {minimum} to {maximum}.")
    return number


def env_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """Return one of `choices`, in any case of letters."""
    text = env_text(name, default).lower()
    if text not in choices:
        raise ImproperlyConfigured(f"{name}={text!r} is unknown: use {' or '.join(choices)}.")
    return text


def env_url(name: str, default: str, schemes: tuple[str, ...]) -> str:
    """Return a URL whose scheme is one of `schemes`. Errors omit the value, which may contain a password."""
    text = env_text(name, default)
    if not text:
        return text
    try:
        parts = urlsplit(text)
        scheme, _ = parts.scheme, parts.port
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is not a valid URL. Write characters like # and / of a password as %23 and %2F."
        ) from None
    if scheme not in schemes:
        raise ImproperlyConfigured(
            f"{name} has the scheme {scheme!r}; it must start with one of: {', '.join(s + '://' for s in schemes)}."
        )
    return text


def require_env(cause: str, *names: str) -> None:
    """Raise ImproperlyConfigured for the first variable that is not set and that `cause` needs."""
    for name in names:
        if not env_text(name):
            raise ImproperlyConfigured(f"{cause} is set and {name} is not: set it as well.")


def env_list(name: str, default: list[str]) -> list[str]:
    """Return comma-separated words; an empty word is an error."""
    text = env_text(name)
    if not text:
        return default
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ImproperlyConfigured(f"{name}={text!r} has an empty entry between commas.")
    return words


def env_networks(name: str, default: list[str]) -> list[IPv4Network | IPv6Network]:
    """Return networks from comma-separated addresses and networks, such as "127.0.0.1,10.0.0.0/8"."""
    try:
        return [ip_network(word) for word in env_list(name, default)]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name}: {error}. Use addresses or networks like 127.0.0.1,10.0.0.0/8."
        ) from None


def env_folder(name: str, default: Path) -> Path:
    """Return an absolute folder path, which need not exist; an existing file is an error."""
    path = Path(env_text(name, str(default))).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ImproperlyConfigured(f"{name}={str(path)!r} is a file; it must be a folder.")
    return path


def env_blobs(name: str, default: Path) -> Path | Bucket:
    """Return the place of the blobs: an absolute folder path, or the bucket of an address s3://bucket/prefix."""
    text = env_text(name)
    if "://" not in text:
        return env_folder(name, default)
    try:
        return parse_bucket(text)
    except BucketLocationError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None


def env_factors(name: str, known: Collection[str]) -> dict[str, float]:
    """Return positive numbers by name, such as "python=3,java=1.5"; names must be in `known`. Empty by default."""
    factors: dict[str, float] = {}
    for word in env_list(name, []):
        key, _, text = word.partition("=")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if key not in known or not 0 < number < math.inf:
            raise ImproperlyConfigured(
                f"{name}: {word!r} is not like python=2.5, with one of these names: {', '.join(known)}."
            )
        factors[key] = number
    return factors


@dataclass(frozen=True)
class ModelEndpoint:
    """A model server that the operator has named; the representation omits address and key, which are secret."""

    url: str = field(repr=False)
    key: str = field(default="", repr=False)


def env_endpoints(prefix: str) -> dict[str, ModelEndpoint]:
    """Return the endpoints of the variables `prefix`NAME_URL and `prefix`NAME_KEY, by name in lower case.

    An endpoint without a key is valid, a key without an address is an error. Errors omit the values.
    """
    names = set()
    for variable in sorted(os.environ):
        if not variable.startswith(prefix) or not env_text(variable):
            continue
        match = re.fullmatch(r"([A-Z0-9_]+)_(?:URL|KEY)", variable.removeprefix(prefix))
        if match is None:
            raise ImproperlyConfigured(
                f"{variable} is not a variable of an endpoint: use {prefix}NAME_URL and {prefix}NAME_KEY, with a NAME "
                "of upper-case letters, digits and _."
            )
        names.add(match[1])
    endpoints = {}
    for name in sorted(names):
        variable = f"{prefix}{name}_URL"
        url = env_url(variable, "", ("http", "https"))
        if not url:
            raise ImproperlyConfigured(
                f"{prefix}{name}_KEY is set and {variable} is not: set the address as well."
            )
        if not urlsplit(url).hostname:
            raise ImproperlyConfigured(
                f"{variable} has no host. Use an address like http://localhost:8000/v1."
            )
        endpoints[name.lower()] = ModelEndpoint(url, env_text(f"{prefix}{name}_KEY"))
    return endpoints


class Secret(Enum):
    """A group of variables that only some kinds of processes need. Each value is a pattern of their names."""

    PROVIDERS = r"(?:OPENAI|ANTHROPIC|COMPATIBLE)_API_KEY|MODEL_ENDPOINT_[A-Z0-9_]+_KEY"
    """Keys of model providers and endpoints."""
    WEB = r"SECRET_KEY|METRICS_TOKEN|OIDC_[A-Z_]+"
    """Logins and metrics. All variables of single sign-on belong together."""
    STORES = r"DATABASE_URL|REDIS_URL|AWS_[A-Z0-9_]+"
    """Passwords of database, queue server and bucket."""


def surplus_secrets(names: Iterable[str], *needed: Secret) -> list[str]:
    """Return the names of the variables that hold secrets of other groups than those needed."""
    surplus = [secret.value for secret in Secret if secret not in needed]
    return sorted(name for name in names if any(re.fullmatch(pattern, name) for pattern in surplus))


def environment_with(environment: Mapping[str, str], *needed: Secret) -> dict[str, str]:
    """Return the environment for a process that needs the secrets of these groups only."""
    surplus = surplus_secrets(environment, *needed)
    return {name: value for name, value in environment.items() if name not in surplus}
