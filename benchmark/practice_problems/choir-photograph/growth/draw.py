"""Prints a valid input of a size: `python growth/draw.py SINGERS SEED`."""

import random
import sys

size, seed = map(int, sys.argv[1:])
source = random.Random(seed)
print(size, "".join(source.choice("SATB") for _ in range(size)), sep="\n")
