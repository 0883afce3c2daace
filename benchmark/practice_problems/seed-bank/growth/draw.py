"""Prints a valid input with as many sections as drawers: `python growth/draw.py DRAWERS SEED`."""

import random
import sys

size, seed = map(int, sys.argv[1:])
source = random.Random(seed)
print(size, size)
print(*(source.randint(1, max(1, size // 2)) for _ in range(size)))
for _ in range(size):
    left = source.randint(1, 1 + size // 10)
    print(left, source.randint(size - size // 10, size))
