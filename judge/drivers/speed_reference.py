"""The Python program whose CPU time measures the machine: integers, a dictionary, a sort, lists."""

import sys

counts: dict[int, int] = {}
state = 88172645463325252
for _ in range(60_000):
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    key = state >> 50
    counts[key] = counts.get(key, 0) + 1
total = 0
for key, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
    total += key * count
rows = [[i ^ j for j in range(150)] for i in range(150)]
for row in rows:
    for j in range(1, 150):
        row[j] += row[j - 1]
sys.stdout.write(f"{total} {rows[-1][-1]}\n")
