"""Input validators in the Checktestdata language (`.ctd`), as Python programs that the sandbox runs.

The package checktestdata interprets them. Its files are laid beside the grammar, because the sandbox shows no
installed packages; nothing of a grammar is evaluated outside.
"""

import functools
from importlib import metadata, resources
from pathlib import Path

CHECKTESTDATA = "checktestdata"
"""The language's name. It is none of `LANGUAGES`: no submission is written in it."""

SUFFIX = ".ctd"
_DRIVER = Path(__file__).parent / "drivers" / "run_checktestdata.py"
_MODULES = ("__init__", "__version__", "lib", "parser", "tokenizer")


def checktestdata_program(grammar: str) -> dict[str, str]:
    """Return the files of a Python program that ends with status 42 for inputs of the grammar, else with 43."""
    return {**_interpreter(), "validator.ctd": grammar}


def checktestdata_version() -> str:
    """Return the version of the interpreter."""
    return metadata.version(CHECKTESTDATA)


@functools.cache
def _interpreter() -> dict[str, str]:
    package = resources.files(CHECKTESTDATA)
    modules = {f"{CHECKTESTDATA}/{name}.py": (package / f"{name}.py").read_text("utf-8") for name in _MODULES}
    return {"main.py": _DRIVER.read_text("utf-8"), **modules}
