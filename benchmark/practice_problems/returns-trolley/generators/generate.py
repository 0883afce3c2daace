"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "loads.py"


def as_input(capacity, shelves):
    return f"{len(shelves)} {capacity}\n{' '.join(map(str, shelves))}\n"


def drawn(name, books, capacity, farthest):
    source = random.Random(name)
    return as_input(capacity, [source.randint(1, farthest) for _ in range(books)])


def tests():
    yield "01-one-book", as_input(1, [1])
    yield "02-one-far-book", as_input(50_000, [10_000])
    yield "03-one-at-a-time", as_input(1, [3, 1, 2])
    yield "04-full-loads", as_input(3, [8, 1, 4, 2, 6, 5])
    yield "05-one-left-over", as_input(3, [8, 1, 4, 2, 6, 5, 9])
    yield "06-far-ones-apart", as_input(2, [100, 1, 99, 2, 98, 3, 97, 4])
    yield "07-all-on-one-shelf", as_input(4, [250] * 30)
    yield "08-small", drawn("08", 25, 4, 40)
    yield "09-medium", drawn("09", 1000, 37, 500)
    yield "10-exact-multiple", drawn("10", 3000, 100, 9999)
    yield "11-one-by-one", drawn("11", 2000, 1, 10_000)
    yield "12-two-loads", drawn("12", 5999, 3000, 9999)
    yield "13-large-one-load", drawn("13", 50_000, 50_000, 999)


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
