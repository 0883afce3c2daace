"""Preloading: the modules that an interpreter imports once for the fork servers of many Python programs."""

import re
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath

# fmt: off
_GROUPS = (
    {"array", "bisect", "cmath", "collections", "functools", "heapq", "itertools", "math", "operator", "struct",
     "types"},
    {"copy", "enum", "re", "string"},
    {"dataclasses"},
    {"datetime", "json"},
    {"decimal", "fractions", "random", "statistics"},
    {"queue", "threading"},
    {"typing"},
)
# fmt: on
"""Modules of the standard library that behave the same if they were imported before a fork, without those that every
interpreter imports at its start. The modules of a group are imported together, so that few interpreters serve most
programs: each holds 4 to 10 MB."""

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))", re.MULTILINE)

_INTROSPECTION = re.compile(
    r"\b(?:_getframe|f_back|currentframe|inspect|settrace|setprofile|getrecursionlimit|tracemalloc|freeze)\b"
)
"""Names by which a program could distinguish a fork from a normal start. Few contest programs use them."""


def modules_to_import(files: Mapping[str, bytes]) -> tuple[str, ...] | None:
    """Return the known modules that the program's import statements name, with those of their groups, sorted.

    Modules that are not found here are imported by the fork. Return None for programs that need a normal start:
    those that read frames, traces or limits of their interpreter, and those with a file that has the name of a
    standard module and would be imported instead of it.
    """
    own = {PurePosixPath(PurePosixPath(name).parts[0]).stem for name in files}
    if own & sys.stdlib_module_names:
        return None
    source = b"\n".join(files.values()).decode("utf-8", "replace")
    if _INTROSPECTION.search(source):
        return None
    named: set[str] = set()
    for one, several in _IMPORT.findall(source):
        named.update(part.strip().split(" ")[0].split(".")[0] for part in (one or several).split(","))
    return tuple(sorted(module for group in _GROUPS if named & group for module in group))
