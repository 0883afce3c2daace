# Dijkstra by fare that settles every island once and so forgets the dearer, earlier arrivals.
import sys
from heapq import heappop, heappush

data = list(map(int, sys.stdin.read().split()))
n, m = data[:2]
change = data[1 : 2 + n]
leaving = [[] for _ in range(n + 1)]
for row in range(m):
    a, b, p, q, f = data[2 + n + 5 * row : 7 + n + 5 * row]
    leaving[a].append((b, p, q, f))
settled = set()
queue = [(0, -1, 1)]
while queue:
    cost, ready, island = heappop(queue)
    if island in settled:
        continue
    settled.add(island)
    if island == n:
        print(cost)
        break
    for b, p, q, f in leaving[island]:
        if p >= ready and b not in settled:
            heappush(queue, (cost + f, q + change[b], b))
else:
    print("impossible")
