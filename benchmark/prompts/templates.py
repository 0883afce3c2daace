"""Templates of prompts: text files with `{{name}}` placeholders and `{{include name}}` for shared parts.

The default templates are in this folder. A user's folder overrides templates by files of the same names; it is checked
as a whole before any call is paid for.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_INCLUDE = re.compile(r"\{\{include (\w+)\}\}\n?")
_NEEDED = {
    "problem",
    "retrieved",
    "attempts",
    "reply",
    "result",
    "similar_problems",
    "text",
    "excerpt",
    "analysis",
    "fence",
}
"""Placeholders that a template must contain where the default template of the same name does."""


_VARIANTS = {"similar_problems_same": "similar_problems", "revision_reflected": "revision"}
"""Templates that replace another one in some prompts; a folder with only the other one overrides both."""


WHOLE: Mapping[str, frozenset[str]] = {
    "whole/solve": frozenset({"problem"}),
    "whole/episodic": frozenset({"retrieved", "problem"}),
    "whole/semantic": frozenset({"retrieved", "problem"}),
    "whole/episodic_semantic": frozenset({"retrieved", "problem"}),
    "whole/reflexion": frozenset({"problem", "attempts"}),
    "whole/reflexion_retrieval": frozenset({"retrieved", "problem", "attempts"}),
}
"""Templates of whole prompts and their placeholders. There are no defaults: they replace the composition of sections.
"""


class TemplateError(ValueError):
    """An invalid folder of templates; the message names the file and the fault."""


@dataclass(frozen=True)
class Templates:
    """The texts of all templates by name, with their includes."""

    texts: Mapping[str, str]

    def render(self, name: str, **parts: str) -> str:
        """Return the template with every placeholder replaced in one pass: braces in the parts remain.

        Raises KeyError for a placeholder without a part.
        """
        return _PLACEHOLDER.sub(lambda match: parts[match[1]], self.texts[name])

    @property
    def whole(self) -> tuple[str, ...]:
        """The names of the whole prompts."""
        return tuple(name for name in WHOLE if name in self.texts)

    def hash(self, *names: str) -> str:
        """Return the sha256 of the templates with their includes, in this order."""
        return hashlib.sha256("\0".join(self.texts[name] for name in names).encode()).hexdigest()


@cache
def our_templates() -> Templates:
    """Return the default templates."""
    return Templates(_assemble(_read(_FOLDER)))


def templates_with(folder: str) -> Templates:
    """Return the default templates, overridden by those of the folder. Raises TemplateError."""
    ours, own = _read(_FOLDER), _read(Path(folder))
    if not own:
        raise TemplateError(
            f"{folder} holds no template. A template is a text file NAME.txt; names: {_list(ours)}"
        )
    for name in own.keys() - ours.keys() - WHOLE.keys():
        near = get_close_matches(name, ours, n=1, cutoff=0.4)
        meant = f"Did you mean {near[0]}.txt? " if near else ""
        raise TemplateError(
            f"{folder}/{name}.txt is not a template of Hintbench. {meant}Names: {_list(ours)}"
        )
    own |= {name: own[usual] for name, usual in _VARIANTS.items() if usual in own and name not in own}
    texts = _assemble(ours | own, folder)
    for name in own:
        known = WHOLE.get(name) or frozenset(_PLACEHOLDER.findall(our_templates().texts[name]))
        _check(folder, name, texts[name], known)
    return Templates(texts)


def _check(folder: str, name: str, text: str, known: frozenset[str]) -> None:
    """Raise TemplateError when the template has an unknown placeholder or lacks a needed one."""
    shown = set(_PLACEHOLDER.findall(text))
    for unknown in sorted(shown - known):
        there = f"There is {_list(known)}" if known else "There is none in this template"
        raise TemplateError(f"{folder}/{name}.txt: nothing is filled in for {{{{{unknown}}}}}. {there}.")
    for missing in sorted((known & _NEEDED) - shown):
        raise TemplateError(f"{folder}/{name}.txt: {{{{{missing}}}}} is missing.")


def _read(folder: Path) -> dict[str, str]:
    """Return every NAME.txt below the folder, without its last line end. Raises TemplateError."""
    if not folder.is_dir():
        raise TemplateError(f"{folder} is not a folder of templates.")
    texts = {}
    for path in sorted(folder.rglob("*.txt")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        try:
            texts[name] = path.read_text(encoding="utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(f"{path} cannot be read: {error}") from None
    return texts


def _assemble(texts: Mapping[str, str], folder: str = "") -> dict[str, str]:
    """Return the texts with their includes. Raises TemplateError."""

    def whole(name: str, within: tuple[str, ...]) -> str:
        def included(match: re.Match[str]) -> str:
            if match[1] not in texts or match[1] in within:
                why = "includes itself" if match[1] in within else f"there is no {match[1]}.txt to include"
                raise TemplateError(f"{folder}/{within[-1]}.txt: {why}.")
            return whole(match[1], (*within, match[1])) + "\n"

        return _INCLUDE.sub(included, texts[name]).removesuffix("\n")

    return {name: whole(name, (name,)) for name in texts}


def _list(names: Mapping[str, str] | frozenset[str]) -> str:
    return ", ".join(sorted(names))
