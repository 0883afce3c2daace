import heapq
import sys

data = list(map(int, sys.stdin.read().split()))
n, m = data[0], data[1]
c = [0] + data[2:2 + n]
sailings = [[] for _ in range(n + 1)]
pos = 2 + n
for _ in range(m):
    a, b, p, q, f = data[pos:pos + 5]
    pos += 5
    sailings[a].append((p, q, b, f))

done = [False] * (n + 1)
answer = None
# (sum of fares, minute at which Greta can board, island)
heap = [(0, 0, 1)]
while heap:
    cost, ready, island = heapq.heappop(heap)
    if done[island]:
        continue
    done[island] = True
    if island == n:
        answer = cost
        break
    for p, q, b, f in sailings[island]:
        if p >= ready and not done[b]:
            heapq.heappush(heap, (cost + f, q + c[b], b))

print("impossible" if answer is None else answer)
