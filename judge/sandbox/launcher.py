"""The launcher for this machine: launcher.c compiled once, or python_launcher.py where there is no C compiler."""

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from judge.cache import default_cache, is_ours
from judge.languages import python_interpreter

_C_SOURCE = Path(__file__).with_name("launcher.c")
_PYTHON_SOURCE = Path(__file__).with_name("python_launcher.py")
INSIDE = "/launcher"
USAGE_STATUS = 64
"""The exit status of a launcher that is started without arguments."""


class NoLauncher(Exception):
    """Neither a C compiler nor a Python interpreter can provide the launcher."""


@dataclass(frozen=True)
class Launcher:
    """The launcher's file on this machine, the command that starts it inside the sandbox, and its interpreter."""

    file: Path
    command: tuple[str, ...]
    interpreter: Path | None

    @property
    def title(self) -> str:
        return "Python launcher" if self.interpreter else "C launcher"


def find_launcher(cache: Path | None = None) -> Launcher:
    """The launcher, compiled into the folder `cache` (default: `default_cache()`) when it is not there yet.

    Raises NoLauncher.
    """
    compiler = next((found for name in ("cc", "gcc", "g++", "clang") if (found := shutil.which(name))), None)
    if compiler and (file := _compiled(compiler, cache or default_cache())):
        return Launcher(file, (INSIDE,), None)
    if python := python_interpreter():
        # -I and no site: this interpreter is process 1 and must read nothing the program could have written.
        return Launcher(_PYTHON_SOURCE, (str(python), "-I", "-S", "-B", INSIDE), python)
    raise NoLauncher("neither a C compiler nor Python 3.8 or newer was found outside the virtual environment")


def _compiled(compiler: str, cache: Path) -> Path | None:
    key = hashlib.sha256(_C_SOURCE.read_bytes()).hexdigest()[:16]
    target = cache / f"launcher-{key}"
    if target.is_file() and is_ours(target):  # as root it is the launcher that gives up root's rights
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        made = Path(folder) / "launcher"
        for linking in (
            ["-static"],
            [],
        ):  # static starts in half the time, but not every system has the library
            language = ["-x", "c", str(_C_SOURCE), "-o", str(made)]
            if subprocess.run(
                [compiler, "-O2", *linking, *language], check=False, capture_output=True
            ).returncode:
                continue
            made.chmod(0o755)
            made.replace(target)
            return target
    return None
