"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "sweep.py"


def as_input(change, sailings):
    lines = [f"{len(change)} {len(sailings)}", " ".join(map(str, change))]
    return "\n".join(lines + [" ".join(map(str, sailing)) for sailing in sailings]) + "\n"


def drawn(name, islands, sailings, day, longest, slowest_change, highest_fare):
    """Sailings between random islands, spread evenly over the day."""
    source = random.Random(name)
    rows = []
    for _ in range(sailings):
        start, goal = source.sample(range(1, islands + 1), 2)
        leaves = source.randint(0, day)
        rows.append((start, goal, leaves, leaves + source.randint(1, longest), source.randint(0, highest_fare)))
    return as_input([source.randint(0, slowest_change) for _ in range(islands)], rows)


def chain(name, islands, rounds, spacing, change):
    """From each island to the next and back: few ways, many stops, and fares that fall during the day, so
    that the cheap arrivals are the late ones. Sailings of a round leave `spacing` minutes later on each island."""
    source = random.Random(name)
    rows = []
    for island in range(1, islands):
        for number in range(rounds):
            leaves = spacing * island + 150 * number + source.randint(0, 60)
            fare = max(0, 999 - 10 * number - source.randint(0, 9))
            rows.append((island, island + 1, leaves, leaves + source.randint(20, 90), fare))
            rows.append((island + 1, island, leaves, leaves + source.randint(20, 90), fare // 2))
    source.shuffle(rows)
    return as_input([source.randint(0, change) for _ in range(islands)], rows)


def tests():
    yield "01-direct", as_input([0, 0], [(1, 2, 0, 1, 0)])
    yield "02-wrong-direction", as_input([0, 0, 0], [(2, 1, 0, 5, 1), (3, 2, 7, 9, 1)])
    yield "03-change-just-in-time", as_input([9, 5, 9], [(1, 2, 0, 10, 4), (2, 3, 15, 20, 6), (2, 3, 14, 16, 1)])
    yield "04-no-change-at-home", as_input([1000, 0], [(1, 2, 0, 10, 7), (1, 2, 999, 1000, 3)])
    yield "05-waiting-pays", as_input([0, 1, 1], [(1, 2, 0, 5, 2), (2, 3, 6, 9, 50), (2, 3, 99_000, 100_000, 1)])
    yield "06-cheap-but-late", as_input(
        [0, 2, 2, 0], [(1, 2, 0, 50, 1), (1, 2, 0, 10, 9), (2, 3, 12, 20, 1), (3, 4, 22, 30, 1), (2, 4, 40, 60, 99)]
    )
    yield "07-small", drawn("07", 6, 30, 200, 40, 20, 30)
    yield "08-few-connections", drawn("08", 200, 400, 1000, 300, 60, 1000)
    yield "09-chain", chain("09", 12, 30, 100, 40)
    yield "10-medium", drawn("10", 60, 2000, 900, 200, 90, 500)
    yield "11-long-chain", chain("11", 60, 25, 140, 60)
    yield "12-large", drawn("12", 500, 20_000, 9_000, 900, 99, 99)


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
