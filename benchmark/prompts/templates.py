"""Templates of prompts: text files with `{{name}}` for what is filled in and `{{include name}}` for shared parts.

Ours lie in this folder. A researcher's folder has files of the same names, as many of them as are to differ; it is
checked as a whole before anything is paid for.
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
"""What a template must show where ours of the same name does: without it, it would ask about nothing."""


_VARIANTS = {"similar_problems_same": "similar_problems", "revision_reflected": "revision"}
"""Templates that take the place of another one in some prompts; a folder with the other one alone means both."""


WHOLE: Mapping[str, frozenset[str]] = {
    "whole/solve": frozenset({"problem"}),
    "whole/episodic": frozenset({"retrieved", "problem"}),
    "whole/semantic": frozenset({"retrieved", "problem"}),
    "whole/episodic_semantic": frozenset({"retrieved", "problem"}),
    "whole/reflexion": frozenset({"problem", "attempts"}),
    "whole/reflexion_retrieval": frozenset({"retrieved", "problem", "attempts"}),
}
"""Templates of whole prompts and what they show. None is ours: where a folder has one, nothing else is composed."""


class TemplateError(ValueError):
    """A folder of templates that cannot be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Templates:
    """The texts of all templates by name, their includes in place."""

    texts: Mapping[str, str]

    def render(self, name: str, **parts: str) -> str:
        """The template with every placeholder replaced, in one pass: braces inside a part stay as they are.

        Raises KeyError for a placeholder without a part.
        """
        return _PLACEHOLDER.sub(lambda match: parts[match[1]], self.texts[name])

    @property
    def whole(self) -> tuple[str, ...]:
        """Return the names of the whole prompts that there are."""
        return tuple(name for name in WHOLE if name in self.texts)

    def hash(self, *names: str) -> str:
        """sha256 over the templates with everything they include, in this order."""
        return hashlib.sha256("\0".join(self.texts[name] for name in names).encode()).hexdigest()


@cache
def our_templates() -> Templates:
    """The templates of this folder."""
    return Templates(_assemble(_read(_FOLDER)))


def templates_with(folder: str) -> Templates:
    """Our templates, but those of the same names from the folder. Raises TemplateError."""
    ours, own = _read(_FOLDER), _read(Path(folder))
    if not own:
        raise TemplateError(
            f"{folder} holds no template. A template is a text file NAME.txt; names: {_list(ours)}"
        )
    for name in own.keys() - ours.keys() - WHOLE.keys():
        near = get_close_matches(name, ours, n=1, cutoff=0.4)
        meant = f"Did you mean {near[0]}.txt? " if near else ""
        raise TemplateError(f"{folder}/{name}.txt is no template of ours. {meant}Names: {_list(ours)}")
    own |= {name: own[usual] for name, usual in _VARIANTS.items() if usual in own and name not in own}
    texts = _assemble(ours | own, folder)
    for name in own:
        known = WHOLE.get(name) or frozenset(_PLACEHOLDER.findall(our_templates().texts[name]))
        _check(folder, name, texts[name], known)
    return Templates(texts)


def _check(folder: str, name: str, text: str, known: frozenset[str]) -> None:
    """Raises TemplateError when the template shows what is not `known`, or leaves out what it is for."""
    shown = set(_PLACEHOLDER.findall(text))
    for unknown in sorted(shown - known):
        there = f"There is {_list(known)}" if known else "There is none in this template"
        raise TemplateError(f"{folder}/{name}.txt: nothing is filled in for {{{{{unknown}}}}}. {there}.")
    for missing in sorted((known & _NEEDED) - shown):
        raise TemplateError(f"{folder}/{name}.txt: {{{{{missing}}}}} is missing.")


def _read(folder: Path) -> dict[str, str]:
    """Every NAME.txt below the folder, without its last line end. Raises TemplateError."""
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
    """The texts with their includes in place. Raises TemplateError."""

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
