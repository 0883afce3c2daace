"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


def drawn(islands, sailings, day, longest, slowest_change):
    rows = []
    for _ in range(sailings):
        start, goal = source.sample(range(1, islands + 1), 2)
        leaves = source.randint(0, day)
        rows.append((start, goal, leaves, leaves + source.randint(1, longest), source.randint(0, 40)))
    return [source.randint(0, slowest_change) for _ in range(islands)], rows


def chain(islands, rounds):
    """From each island to the next and back, with fares that fall during the day: the cheap arrivals are late."""
    rows = []
    for island in range(1, islands):
        for number in range(rounds):
            leaves = 140 * island + 150 * number + source.randint(0, 60)
            fare = max(0, 999 - 3 * number - source.randint(0, 9))
            rows.append((island, island + 1, leaves, leaves + source.randint(20, 90), fare))
            rows.append((island + 1, island, leaves, leaves + source.randint(20, 90), fare // 2))
    source.shuffle(rows)
    return [source.randint(0, 60) for _ in range(islands)], rows


if KIND == "random":
    change, sailings = drawn(source.randint(2, 6), source.randint(1, 40), 100, 30, source.randint(0, 20))
elif KIND == "corner":
    change, sailings = source.choice(
        [
            ([0, 0], [(1, 2, 0, 1, 0)]),
            ([0, 0, 0], [(2, 1, 0, 5, 1), (3, 2, 7, 9, 1)]),
            ([9, 5, 9], [(1, 2, 0, 10, 4), (2, 3, 15, 20, 6), (2, 3, 14, 16, 1)]),
            ([0, 2, 2, 0], [(1, 2, 0, 50, 1), (1, 2, 0, 10, 9), (2, 3, 12, 20, 1), (3, 4, 22, 30, 1)]),
            ([0, 1, 1], [(1, 2, 0, 5, 2), (2, 3, 6, 9, 50), (2, 3, 99_000, 100_000, 1)]),
            chain(4, 6),
        ]
    )
else:
    change, sailings = chain(source.randint(20, 30), 330)
print(len(change), len(sailings))
print(*change)
for sailing in sailings:
    print(*sailing)
