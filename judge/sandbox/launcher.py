"""The launcher for this machine: launcher.c, compiled once."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from judge.cache import default_cache, is_ours

_SOURCE = Path(__file__).with_name("launcher.c")
USAGE_STATUS = 64
"""The exit status of a launcher that is started without arguments."""


class NoLauncher(Exception):
    """There is no C compiler to make the launcher with."""


def find_launcher(cache: Path | None = None) -> Path:
    """The launcher, compiled into the folder `cache` (default: `default_cache()`) when it is not there yet.

    Raises NoLauncher, and OSError where it cannot be stored.
    """
    compiler = next((found for name in ("cc", "gcc", "g++", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise NoLauncher("there is no C compiler to make the launcher with")
    return _compiled(compiler, cache or default_cache())


def _compiled(compiler: str, cache: Path) -> Path:
    key = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    target = cache / f"launcher-{key}"
    if target.is_file() and is_ours(target):  # as root it is the launcher that gives up root's rights
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        made = Path(folder) / "launcher"
        for linking in (["-static"], []):  # static starts in half the time, but needs a library some lack
            command = [compiler, "-O2", *linking, "-x", "c", str(_SOURCE), "-o", str(made)]
            finished = subprocess.run(command, check=False, capture_output=True, text=True)
            if finished.returncode == 0:
                made.chmod(0o755)
                made.replace(target)
                return target
    raise NoLauncher(f"{compiler} could not compile the launcher: {finished.stderr.strip()[-500:]}")
