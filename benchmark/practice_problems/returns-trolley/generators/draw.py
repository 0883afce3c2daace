"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


if KIND == "random":
    capacity = source.randint(1, 8)
    shelves = [source.randint(1, source.choice([9, 10_000])) for _ in range(source.randint(1, 60))]
elif KIND == "corner":
    capacity, shelves = source.choice(
        [
            (1, [1]),
            (50_000, [10_000]),
            (1, [3, 1, 2]),
            (3, [8, 1, 4, 2, 6, 5]),
            (3, [8, 1, 4, 2, 6, 5, 9]),
            (4, [250] * 30),
            (7, list(range(1, 51))),
        ]
    )
else:
    capacity = 50_000
    shelves = [source.randint(1, 999) for _ in range(50_000)]
print(len(shelves), capacity)
print(*shelves)
