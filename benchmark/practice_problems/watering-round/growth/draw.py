"""Prints a valid input: `python growth/draw.py plots PLOTS SEED` or `python growth/draw.py litres LITRES SEED`.

By plots, a plot needs few litres; by litres, there are 300 plots, and a plot needs nearly that many litres.
"""

import random
import sys

argument, size, seed = sys.argv[1], *map(int, sys.argv[2:])
source = random.Random(seed)
if argument == "plots":
    needs = [source.randint(1, 100) for _ in range(size)]
else:
    needs = [source.randint(max(1, size * 9 // 10), size) for _ in range(300)]
print(len(needs), min(10, len(needs)))
print(*needs)
