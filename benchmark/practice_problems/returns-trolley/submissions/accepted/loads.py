import sys


def main():
    n, capacity, *shelves = map(int, sys.stdin.buffer.read().split())
    farthest = [max(shelves[start : start + capacity]) for start in range(0, n, capacity)]
    print(2 * sum(farthest) - farthest[-1])


main()
