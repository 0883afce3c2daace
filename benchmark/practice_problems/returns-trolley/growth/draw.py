"""Prints a valid input of a size, with a trolley for all books: `python growth/draw.py BOOKS SEED`."""

import random
import sys

size, seed = map(int, sys.argv[1:])
source = random.Random(seed)
print(size, size)
print(*(source.randint(1, 999) for _ in range(size)))
