"""The version of Hintbench. `pyproject.toml` is the only place of the number."""

import tomllib
from pathlib import Path
from typing import Final

VERSION: Final = str(
    tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())["project"][
        "version"
    ]
)
