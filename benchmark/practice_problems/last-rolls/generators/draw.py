"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


if KIND == "random":
    kinds, most_stock, most_wanted = (
        source.randint(1, 8),
        source.choice([5, 30, 300]),
        source.choice([3, 9, 100]),
    )
    stock = [source.randint(0, most_stock) for _ in range(kinds)]
    orders = [
        (source.randint(1, kinds), source.randint(1, most_wanted)) for _ in range(source.randint(1, 60))
    ]
elif KIND == "corner":
    stock, orders = source.choice(
        [
            ([1], [(1, 1)]),
            ([0, 0], [(1, 1), (2, 100), (1, 1)]),
            ([6, 3], [(1, 4), (2, 3), (1, 2), (2, 1)]),
            ([5], [(1, 9), (1, 6), (1, 5), (1, 1)]),
            ([99] * 5, [(1 + i % 5, 100) for i in range(40)]),
            ([2**j % 100 for j in range(1000)], [(j, 1 + j % 99) for j in range(1, 1001)]),
        ]
    )
else:
    stock = [10**6] * 9
    orders = [(source.randint(1, 9), source.randint(1, 9)) for _ in range(50_000)]
print(len(stock), len(orders))
print(*stock)
for order in orders:
    print(*order)
