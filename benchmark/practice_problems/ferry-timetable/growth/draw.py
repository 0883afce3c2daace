"""Prints a valid input of a size: `python growth/draw.py SAILINGS SEED`."""

import random
import sys

size, seed = map(int, sys.argv[1:])
source = random.Random(seed)
islands = 2 + min(size // 40, 28)
print(islands, size)
print(*(source.randint(0, 60) for _ in range(islands)))
for _ in range(size):
    start, goal = source.sample(range(1, islands + 1), 2)
    leaves = source.randint(0, 99_000)
    print(start, goal, leaves, leaves + source.randint(20, 90), source.randint(0, 999))
