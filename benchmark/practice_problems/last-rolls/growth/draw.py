"""Prints a valid input of a size: `python growth/draw.py CUSTOMERS SEED`."""

import random
import sys

size, seed = map(int, sys.argv[1:])
source = random.Random(seed)
print(9, size)
print(*[10**6] * 9)
for _ in range(size):
    print(source.randint(1, 9), source.randint(1, 9))
