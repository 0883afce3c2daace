import heapq

n = int(input())
w = list(map(int, input().split()))

# Waves of the last trams, negated so that the latest is on top.
heap = []
for x in w:
    if heap and -heap[0] >= x:
        heapq.heapreplace(heap, -x)
    else:
        # Even the latest siding leaves too early: open a new one.
        heapq.heappush(heap, -x)
print(len(heap))
