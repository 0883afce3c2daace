import sys

values = list(map(int, sys.stdin.read().split()))[1:]
pairs = 0
for first in values:
    for second in values:
        if first < second:
            pairs += 1
print(pairs)
