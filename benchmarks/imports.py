"""Memory and time of an import of a large JSON file: the peak of a process that imports 300 MB of problems.

    python -m benchmarks.imports [MEGABYTES]

Target: 200 MB for the whole process. The row "1 MB" shows what the process needs for any file. The exit status is 1 if
the target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

TARGET = 200e6
REPOSITORY = Path(__file__).resolve().parent.parent


class Import(NamedTuple):
    """The resources of an import: bytes at the peak, and seconds."""

    peak: float
    seconds: float


def write_problems(path: Path, megabytes: int) -> None:
    """Write a USACO dictionary of about this size, with 100 kB in each problem."""
    problem = {
        "name": "Made", "description": "Add.\n\nSAMPLE INPUT:\n1 2\n\nSAMPLE OUTPUT:\n3\n", "problem_level": "gold",
        "runtime_limit": 2, "memory_limit": 256, "samples": [{"input": "1 2", "output": "3"}],
        "solution_python3": "# a line of a program, ümläut\n" * 3_400,
    }  # fmt: skip
    with path.open("w", encoding="utf-8") as file:
        file.write("{")
        for number in range(megabytes * 10):
            entry = json.dumps(problem | {"name": f"Made {number}"}, ensure_ascii=False)
            file.write(f'{", " if number else ""}"{number}_gold_made": {entry}\n')
        file.write("}")


def measure(var: Path, megabytes: int) -> Import:
    """Import a generated file into the database of a HINTBENCH_VAR, in a process of its own."""
    file = var / "problems.json"
    write_problems(file, megabytes)
    begun = time.monotonic()
    child = _start(var, "import_problems", "usaco", str(file), "--dataset=made")
    peak = 0
    while child.poll() is None:
        peak = max(peak, _peak(child.pid))
        time.sleep(0.02)
    if child.returncode:
        raise RuntimeError("the import failed")
    return Import(peak, time.monotonic() - begun)


def _start(var: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a management command."""
    environment = {"HINTBENCH_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": ""}
    return subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _peak(process: int) -> int:
    """Return the peak memory of a process in bytes since its last exec; 0 if it has ended.

    The peak of getrusage would include the memory of the process that started it.
    """
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("megabytes", type=int, nargs="?", default=300, help="size of the file (300)")
    sizes = (1, parser.parse_args().megabytes)
    results = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="hintbench-imports-") as folder:
            if _start(Path(folder), "migrate").wait():
                raise RuntimeError("the migration failed")
            results[size] = measure(Path(folder), size)
    for size, one in results.items():
        print(f"{size:>6} MB: peak {one.peak / 1e6:6.1f} MB, {one.seconds:6.1f} s")
    return int(results[sizes[1]].peak > TARGET)


if __name__ == "__main__":
    sys.exit(main())
