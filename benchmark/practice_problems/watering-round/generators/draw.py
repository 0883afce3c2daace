"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


if KIND == "random":
    needs = [source.randint(1, source.choice([3, 9, 1000])) for _ in range(source.randint(1, 40))]
    trips = source.randint(1, len(needs))
elif KIND == "corner":
    trips, needs = source.choice(
        [
            (1, [1]),
            (1, [7, 7, 7]),
            (3, [1, 1, 50, 1, 1]),
            (2, [1] * 12),
            (20, [source.randint(1, 9) for _ in range(20)]),
            (5, [1 + plot * plot // 40 for plot in range(40)]),
        ]
    )
else:
    trips = source.randint(10, 30)
    needs = [source.randint(900_000, 999_999) for _ in range(30_000)]
print(len(needs), trips)
print(*needs)
