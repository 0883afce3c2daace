"""Which modules a Python program will import, so that an interpreter can import them once for all of its tests."""

import re
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath

# fmt: off
_MODULES = frozenset({
    "abc", "array", "bisect", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "heapq", "io", "itertools", "json", "math", "operator", "os", "queue", "random", "re",
    "statistics", "string", "struct", "sys", "threading", "time", "types", "typing",
})
# fmt: on
"""Modules of the standard library that behave the same when they were imported before a fork."""

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))", re.MULTILINE)


_LOOKS_AT_ITSELF = re.compile(
    r"\b(?:_getframe|f_back|currentframe|inspect|settrace|setprofile|getrecursionlimit|tracemalloc|freeze)\b"
)
"""What can tell a fork from a fresh start, and is hardly ever in a program that only solves a problem."""


def modules_to_import(files: Mapping[str, bytes]) -> tuple[str, ...] | None:
    """The known modules that import statements of the program's files name, sorted. What is not seen is imported later.

    None for a program that looks at frames, traces or limits of its interpreter, and for one with a file that is called
    as a module of the standard library and would be imported instead of it: they shall have one of their own.
    """
    own = {PurePosixPath(PurePosixPath(name).parts[0]).stem for name in files}
    if own & sys.stdlib_module_names:
        return None
    source = b"\n".join(files.values()).decode("utf-8", "replace")
    if _LOOKS_AT_ITSELF.search(source):
        return None
    named: set[str] = set()
    for one, several in _IMPORT.findall(source):
        named.update(part.strip().split(" ")[0].split(".")[0] for part in (one or several).split(","))
    return tuple(sorted(named & _MODULES))
