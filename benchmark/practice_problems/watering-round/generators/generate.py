"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "search.py"


def as_input(trips, needs):
    return f"{len(needs)} {trips}\n{' '.join(map(str, needs))}\n"


def drawn(name, plots, trips, least, most):
    source = random.Random(name)
    return as_input(trips, [source.randint(least, most) for _ in range(plots)])


def thirsty_end(name, plots, trips):
    """Little at the gate, much at the far end, so that equal shares are far off."""
    source = random.Random(name)
    return as_input(trips, [source.randint(1, 1 + plot * plot // plots) for plot in range(plots)])


def tests():
    yield "01-one-plot", as_input(1, [1])
    yield "02-one-trip", as_input(1, [7, 7, 7])
    yield "03-one-thirsty-plot", as_input(3, [1, 1, 50, 1, 1])
    yield "04-small-needs", as_input(2, [1] * 12)
    yield "05-small", drawn("05", 8, 3, 1, 9)
    yield "06-leak-decides", drawn("06", 300, 7, 1, 3)
    yield "07-trip-for-each", drawn("07", 200, 200, 1, 1000)
    yield "08-thirsty-end", thirsty_end("08", 900, 11)
    yield "09-medium", drawn("09", 2000, 41, 1, 10_000)
    yield "10-medium-one-trip", drawn("10", 3000, 1, 1, 99_999)
    yield "11-many-trips", drawn("11", 8000, 3999, 1, 9_999)
    yield "12-large", drawn("12", 30_000, 17, 900_000, 999_999)
    yield "13-large-leak-decides", as_input(170, [1 + plot % 2 for plot in range(30_000)])


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
