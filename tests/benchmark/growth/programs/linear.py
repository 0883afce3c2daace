import sys

data = list(map(int, sys.stdin.read().split()))
total = 0
for value in data[1:]:
    for _ in range(20):
        total = (total * 31 + value) % 1_000_003
print(total)
