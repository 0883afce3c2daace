"""Numbers as pages show them and as requests state them."""

_MOST_DIGITS = 9
"""Digits of the greatest number in a request: columns hold more, and long numbers take quadratic time to read."""


def with_minus(number: str) -> str:
    """Return a formatted number, or several, with minus signs in place of hyphens."""
    return number.replace("-", "−")


def whole_number(text: str) -> int | None:
    """Return the whole number that the text of a request states; None if it is none, or longer than 9 digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None
