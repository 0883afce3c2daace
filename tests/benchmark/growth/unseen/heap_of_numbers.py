# n log n: every number enters a heap and leaves it.
import heapq
import sys

data = list(map(int, sys.stdin.read().split()))
heap: list[int] = []
for value in data[1:]:
    heapq.heappush(heap, value)
total = 0
for place in range(data[0]):
    total += place * heapq.heappop(heap)
print(total)
