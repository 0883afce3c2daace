"""Numbers as pages show them."""


def with_minus(number: str) -> str:
    """Return a formatted number, or several, with minus signs in place of hyphens."""
    return number.replace("-", "−")
