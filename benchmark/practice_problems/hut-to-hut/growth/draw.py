"""Prints a valid input of a size: `python growth/draw.py HUTS SEED`."""

import random
import sys

size, seed = map(int, sys.argv[1:])
source = random.Random(seed)
print(size)
for _ in range(size):
    print(source.randint(1, 9), source.randint(0, 99) if source.randrange(90) == 0 else 99_999)
