"""Text from programs, made safe to store."""


def printable(content: bytes, characters: int) -> str:
    """Return the first `characters` characters of a program's output, without NUL, which databases reject."""
    return content[: 4 * characters].decode("utf-8", "replace")[:characters].replace("\0", "\ufffd")
