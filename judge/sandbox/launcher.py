"""The launcher for this machine: launcher.c, compiled once."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from judge.cache import default_cache, is_trusted

_SOURCE = Path(__file__).with_name("launcher.c")
USAGE_STATUS = 64
"""The exit status of a launcher that is started without arguments."""


class NoLauncherError(Exception):
    """No C compiler can compile the launcher."""


def find_launcher(cache: Path | None = None) -> Path:
    """Return the launcher; compile it into the folder `cache` (default: `default_cache()`) if it is missing.

    Raises NoLauncherError, and OSError where it cannot be stored.
    """
    # Static starts in half the time, but some systems lack the library.
    return _compiled("", (("-static",), ()), cache or default_cache())


def find_launcher_library(cache: Path | None = None) -> Path | None:
    """Return the launcher as a library for interpreters; compile it like `find_launcher`.

    Return None where it cannot be linked: interpreters then start for each run. Raises OSError.
    """
    try:
        return _compiled(".so", (("-shared", "-fPIC"),), cache or default_cache())
    except NoLauncherError:
        return None


def _compiled(suffix: str, ways: tuple[tuple[str, ...], ...], cache: Path) -> Path:
    """Return the result of the first of these ways of linking that works. Raises NoLauncherError and OSError."""
    compiler = next((found for name in ("cc", "gcc", "g++", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise NoLauncherError("no C compiler is installed, which the sandbox needs for its launcher")
    key = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    target = cache / f"launcher-{key}{suffix}"
    if target.is_file() and is_trusted(target):  # started as root, it drops root's rights itself
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        result = Path(folder) / "launcher"
        for way in ways:
            command = [compiler, "-O2", *way, "-x", "c", str(_SOURCE), "-o", str(result)]
            finished = subprocess.run(command, check=False, capture_output=True, text=True)
            if finished.returncode == 0:
                result.chmod(0o755)
                result.replace(target)
                return target
    raise NoLauncherError(f"{compiler} could not compile the launcher: {finished.stderr.strip()[-500:]}")
