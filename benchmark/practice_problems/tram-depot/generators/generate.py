"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "tightest_siding.py"


def as_input(waves):
    return f"{len(waves)}\n{' '.join(map(str, waves))}\n"


def drawn(name, trams, waves):
    source = random.Random(name)
    return as_input([source.randint(1, waves) for _ in range(trams)])


def rising(name, trams, spread):
    """Waves that rise from tram to tram but for a deviation of at most `spread`: many sidings."""
    source = random.Random(name)
    return as_input([tram + source.randint(1, spread) for tram in range(trams)])


def tests():
    yield "01-one-tram", as_input([100_000])
    yield "02-same-wave", as_input([7] * 20)
    yield "03-falling", as_input(list(range(50, 0, -1)))
    yield "04-tight-choice", as_input([2, 4, 2, 4])
    yield "05-pairs", as_input([1, 1, 2, 2, 3, 3, 2, 2, 1, 1])
    yield "06-falling-runs", as_input([run * 10 + step for run in range(12) for step in range(9, 0, -1)])
    yield "07-small", drawn("07", 40, 12)
    yield "08-few-waves", drawn("08", 2000, 9)
    yield "09-medium", drawn("09", 5000, 100_000)
    yield "10-rising", rising("10", 6000, 50)
    yield "11-random", drawn("11", 8_000, 9999)
    yield "12-large-rising", rising("12", 50_000, 9)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tests():
        answer = subprocess.run(
            [sys.executable, str(REFERENCE)], input=text.encode(), stdout=subprocess.PIPE, check=True
        ).stdout
        (folder / f"{name}.in").write_bytes(text.encode())
        (folder / f"{name}.ans").write_bytes(answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE / "data" / "secret")
