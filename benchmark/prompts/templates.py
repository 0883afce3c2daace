"""Templates of prompts: text files with `{{name}}` for what is filled in and `{{include name}}` for shared parts."""

import hashlib
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_INCLUDE = re.compile(r"\{\{include (\w+)\}\}\n?")


@cache
def template(name: str) -> str:
    """The text of benchmark/prompts/NAME.txt with its includes in place, without the last line end."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda match: template(match[1]) + "\n", text).removesuffix("\n")


def template_hash(*names: str) -> str:
    """sha256 over the templates with everything they include, in this order."""
    return hashlib.sha256("\0".join(template(name) for name in names).encode()).hexdigest()


def render(name: str, **parts: str) -> str:
    """The template with every placeholder replaced, in one pass: braces inside a part stay as they are.

    Raises KeyError for a placeholder without a part.
    """
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], template(name))
