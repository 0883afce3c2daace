"""Prints a valid input of a size: `python growth/draw.py TRAMS SEED`."""

import random
import sys

size, seed = map(int, sys.argv[1:])
source = random.Random(seed)
print(size)
print(*(tram + source.randint(1, 9) for tram in range(size)))
