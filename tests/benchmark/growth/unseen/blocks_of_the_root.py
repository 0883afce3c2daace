# n^1.5: for every number the sums of about sqrt(n) blocks are read.
import sys

data = list(map(int, sys.stdin.read().split()))
n, values = data[0], data[1:]
width = max(1, int(n**0.5))
blocks = [sum(values[start : start + width]) for start in range(0, n, width)]
total = 0
for value in values:
    for block in blocks:
        if block > value:
            total += 1
print(total)
