"""Text that any database can store."""


def storable(text: str) -> str:
    """Return the text with surrogate pairs joined; NUL and lone surrogates become U+FFFD."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")
