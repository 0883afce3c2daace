"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "envelope.py"


def as_input(huts):
    return "\n".join([str(len(huts))] + [f"{distance} {price}" for distance, price in huts]) + "\n"


def drawn(name, huts, farthest, cheapest, dearest):
    source = random.Random(name)
    return as_input([(source.randint(1, farthest), source.randint(cheapest, dearest)) for _ in range(huts)])


def rare_bargains(name, huts, farthest, dear, every):
    """Dear huts with a cheap one now and then, so that a day has to be chosen for what follows."""
    source = random.Random(name)
    return as_input(
        [
            (source.randint(1, farthest), source.randint(0, 99) if source.randrange(every) == 0 else dear)
            for _ in range(huts)
        ]
    )


def tests():
    yield "01-one-hut", as_input([(100, 1_000_000)])
    yield "02-free-nights", as_input([(7, 0)] * 30)
    yield "03-equal-prices", as_input([(1, 100)] * 100)
    yield "04-dear-last-hut", as_input([(5, 10), (5, 10), (1, 1000)])
    yield "05-look-ahead", as_input([(2, 0), (4, 17), (4, 1), (1, 5)])
    yield "06-small", drawn("06", 20, 9, 0, 150)
    yield "07-bargains", rare_bargains("07", 300, 9, 5000, 9)
    yield "08-one-long-day", as_input([(1, 1_000_000)] * 900)
    yield "09-medium", drawn("09", 2000, 100, 0, 99_999)
    yield "10-medium-bargains", rare_bargains("10", 4000, 5, 99_999, 60)
    yield "11-long-legs", drawn("11", 4000, 3, 900_000, 999_999)
    yield "12-long-trail", drawn("12", 6000, 100, 0, 999)
    yield "13-large", rare_bargains("13", 40_000, 9, 99_999, 90)


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
