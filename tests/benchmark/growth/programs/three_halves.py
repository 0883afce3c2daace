import sys

values = list(map(int, sys.stdin.read().split()))[1:]
steps, total = int(len(values) ** 0.5), 0
for value in values:
    for step in range(steps):
        total += value ^ step
print(total)
