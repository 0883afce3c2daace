"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


def sections(drawers, number, shortest=1):
    rows = []
    for _ in range(number):
        left = source.randint(1, drawers - shortest + 1)
        rows.append((left, source.randint(left + shortest - 1, drawers)))
    return rows


if KIND == "random":
    drawers = source.randint(1, 30)
    kinds = source.choice([2, 6, 30])
    species, asked = (
        [source.randint(1, kinds) for _ in range(drawers)],
        sections(drawers, source.randint(1, 40)),
    )
elif KIND == "corner":
    species = source.choice(
        [
            [20_000],
            [4, 4],
            [1, 2, 1, 2, 1],
            list(range(1, 21)),
            [9] * 15,
            [1, 2, 3, 3, 2, 1],
            [7, *range(8, 40), 7],
        ]
    )
    asked = [(left, right) for left in range(1, len(species) + 1) for right in range(left, len(species) + 1)]
else:
    species = [source.randint(1, 9000) for _ in range(20_000)]
    asked = sections(20_000, 20_000, shortest=18_000)
print(len(species), len(asked))
print(*species)
for section in asked:
    print(*section)
