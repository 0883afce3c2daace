"""The registry of languages. `judge.languages` fills it when the package `judge` is imported."""

import functools
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from judge.records import Limits, Policy
from judge.toolchains.language import Family, Language, ToolMissingError

LANGUAGES: dict[str, Language] = {}
"""All languages by name, in the order of their registration."""

FAMILIES: dict[str, Family] = {}
"""The families of all languages by name."""

TAGS: dict[str, str] = {}
"""The name of the family for each tag that replies use."""


class UnknownLanguageError(LookupError):
    """No language has this name or suffix; the message lists the known ones."""


def register(language: Language) -> Language:
    """Add the language to the registry and return it."""
    LANGUAGES[language.name] = language
    FAMILIES[language.family.name] = language.family
    TAGS.update(dict.fromkeys(language.family.tags, language.family.name))
    return language


def get_language(name: str) -> Language:
    """Return the language of that name. Raises UnknownLanguageError."""
    try:
        return LANGUAGES[name]
    except KeyError:
        known = ", ".join(sorted(LANGUAGES))
        raise UnknownLanguageError(f"no language is called {name!r}; there are: {known}") from None


def language_of(path: Path | str) -> str:
    """Return the name of the language of a file, by its suffix (or a bare suffix such as ".py").

    Raises UnknownLanguageError.
    """
    text = str(path)
    suffix = text if text.startswith(".") and "/" not in text else Path(text).suffix
    for language in LANGUAGES.values():
        if suffix.lower() in language.extensions:
            return language.name
    known = dict.fromkeys(suffix for language in LANGUAGES.values() for suffix in language.extensions)
    raise UnknownLanguageError(
        f"no language has files named like {text!r}; known suffixes: {', '.join(known)}"
    )


def is_header(path: Path) -> bool:
    """Return whether the file is a header: it belongs to programs but is not compiled by itself."""
    return any(path.suffix in family.headers for family in FAMILIES.values())


def limits_for(
    limits: Limits,
    language: str,
    policy: Policy,
    time_multipliers: Mapping[str, float] | None = None,
    time_factor: float = 1.0,
) -> Limits:
    """Return the problem's limits as the policy applies them to the language. Raises UnknownLanguageError.

    `time_multipliers` override the factors of the languages they name. `time_factor` multiplies scaled limits and is
    ignored under COMPAT. Under both policies the allowance for the language's run-time system is added to the memory
    limit.
    """
    entry = get_language(language)
    multiplier = 1.0
    if policy is Policy.FAIR:
        multiplier = time_factor * (time_multipliers or {}).get(language, entry.time_multiplier)
    return replace(limits, time=limits.time * multiplier, memory=limits.memory + entry.allowance)


@functools.cache
def compiler_version(language: str) -> str:
    """Return the first line that the compiler or interpreter prints about its version.

    Raises UnknownLanguageError, and ToolMissingError where the tool is not installed or does not work.
    """
    entry = get_language(language)
    places = {"tool": entry.tool(), "libraries": entry.tool().parent / "*", "machine": entry.machine()}
    command = [word.format_map(places) for word in entry.version]
    try:
        finished = subprocess.run(command, check=True, capture_output=True, text=True)
        return (finished.stdout or finished.stderr).splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise ToolMissingError(
            f"{entry.title} programs cannot be judged here: {command[0]} does not work ({error}). {entry.install}"
        ) from error
