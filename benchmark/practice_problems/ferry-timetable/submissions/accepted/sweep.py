import sys
from heapq import heappop, heappush


def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    islands, change = data[0], data[1 : 2 + data[0]]
    rows = data[2 + islands :]
    sailings = sorted(zip(rows[2::5], rows[3::5], rows[0::5], rows[1::5], rows[4::5]))
    unknown = float("inf")
    best = [unknown] * (islands + 1)
    best[1] = 0
    answer = unknown
    coming = []
    for leaves, arrives, start, goal, fare in sailings:
        while coming and coming[0][0] <= leaves:
            _, island, cost = heappop(coming)
            best[island] = min(best[island], cost)
        if best[start] < unknown:
            cost = best[start] + fare
            if goal == islands:
                answer = min(answer, cost)
            heappush(coming, (arrives + change[goal], goal, cost))
    print("impossible" if answer == unknown else answer)


main()
