"""Languages as data, the registry of them, and the compilers and interpreters that this machine has."""

from judge.toolchains.language import Family, Language, ProgramShape, ToolMissingError
from judge.toolchains.registry import (
    FAMILIES,
    LANGUAGES,
    TAGS,
    UnknownLanguageError,
    compiler_version,
    get_language,
    is_header,
    language_of,
    limits_for,
    register,
)

__all__ = [
    "FAMILIES",
    "LANGUAGES",
    "TAGS",
    "Family",
    "Language",
    "ProgramShape",
    "ToolMissingError",
    "UnknownLanguageError",
    "compiler_version",
    "get_language",
    "is_header",
    "language_of",
    "limits_for",
    "register",
]
