"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


def drawn(huts, farthest, cheapest, dearest):
    return [(source.randint(1, farthest), source.randint(cheapest, dearest)) for _ in range(huts)]


def rare_bargains(huts, farthest, dear, every):
    """Dear huts with a cheap one now and then, so that a day has to be chosen for what follows."""
    return [
        (source.randint(1, farthest), source.randint(0, 99) if source.randrange(every) == 0 else dear)
        for _ in range(huts)
    ]


if KIND == "random":
    huts = drawn(source.randint(1, 40), source.choice([3, 9, 100]), 0, source.choice([20, 150, 9999]))
elif KIND == "corner":
    huts = source.choice(
        [
            [(100, 10**6)],
            [(7, 0)] * 30,
            [(1, 100)] * 50,
            [(5, 10), (5, 10), (1, 1000)],
            [(2, 0), (4, 17), (4, 1), (1, 5)],
            rare_bargains(60, 9, 5000, 9),
        ]
    )
else:
    huts = rare_bargains(40_000, 9, 99_999, source.randint(60, 120))
print(len(huts))
for hut in huts:
    print(*hut)
