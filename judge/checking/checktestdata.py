"""Input validators in the Checktestdata language (`.ctd`), as Python programs for the sandbox.

The package checktestdata interprets them. Its files are stored next to the grammar, because the sandbox does not show
installed packages. No part of a grammar is evaluated outside the sandbox.
"""

import functools
from importlib import metadata, resources
from pathlib import Path

CHECKTESTDATA = "checktestdata"
"""The name of the language. `LANGUAGES` does not contain it: submissions cannot be written in it."""

CHECKTESTDATA_SUFFIX = ".ctd"
_DRIVER = Path(__file__).parent.parent / "drivers" / "run_checktestdata.py"
_MODULES = ("__init__", "__version__", "lib", "parser", "tokenizer")


def checktestdata_program(grammar: str) -> dict[str, str]:
    """Return the files of a Python program that exits with 42 for inputs of the grammar, else with 43."""
    return {**_interpreter(), "validator.ctd": grammar}


def checktestdata_version() -> str:
    """Return the version of the interpreter."""
    return metadata.version(CHECKTESTDATA)


@functools.cache
def _interpreter() -> dict[str, str]:
    package = resources.files(CHECKTESTDATA)
    modules = {f"{CHECKTESTDATA}/{name}.py": (package / f"{name}.py").read_text("utf-8") for name in _MODULES}
    return {"main.py": _DRIVER.read_text("utf-8"), **modules}
