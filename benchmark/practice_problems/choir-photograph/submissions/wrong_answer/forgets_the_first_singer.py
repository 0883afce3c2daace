# Misses all pictures that begin with the leftmost singer.
from collections import Counter

STEP = {"S": (1, 0), "A": (-1, 0), "T": (0, 1), "B": (0, -1)}

input()
x = y = pictures = 0
seen = Counter()
for voice in input().strip():
    x, y = x + STEP[voice][0], y + STEP[voice][1]
    pictures += seen[x, y]
    seen[x, y] += 1
print(pictures)
