"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


if KIND == "random":
    most = source.choice([3, 12, 100_000])
    waves = [source.randint(1, most) for _ in range(source.randint(1, 50))]
elif KIND == "corner":
    waves = source.choice(
        [
            [100_000],
            [7] * 20,
            list(range(50, 0, -1)),
            list(range(1, 51)),
            [2, 4, 2, 4],
            [1, 1, 2, 2, 3, 3, 2, 2, 1, 1],
        ]
    )
else:
    waves = [tram + source.randint(1, 9) for tram in range(50_000)]
print(len(waves))
print(*waves)
