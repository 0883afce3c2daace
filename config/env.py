"""Typed readers of environment variables.

Each raises ImproperlyConfigured for an invalid value. The message names the variable, the error and valid values;
every process shows it and does not start.
"""

import math
import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

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


def env_url(name: str, default: str, schemes: tuple[str, ...]) -> str:
    """Return a URL whose scheme is one of `schemes`. Errors omit the value, which may contain a password."""
    text = env_text(name, default)
    if not text:
        return text
    scheme = urlsplit(text).scheme
    if scheme not in schemes:
        raise ImproperlyConfigured(
            f"{name} has the scheme {scheme!r}; it must start with one of: {', '.join(s + '://' for s in schemes)}."
        )
    return text


def env_list(name: str, default: list[str]) -> list[str]:
    """Return comma-separated words; an empty word is an error."""
    text = env_text(name)
    if not text:
        return default
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise ImproperlyConfigured(f"{name}={text!r} has an empty entry between commas.")
    return words


def env_folder(name: str, default: Path) -> Path:
    """Return an absolute folder path, which need not exist; an existing file is an error."""
    path = Path(env_text(name, str(default))).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ImproperlyConfigured(f"{name}={str(path)!r} is a file; it must be a folder.")
    return path


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
