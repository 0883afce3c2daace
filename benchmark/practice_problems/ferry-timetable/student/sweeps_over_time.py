import heapq
import sys

data = list(map(int, sys.stdin.read().split()))
n, m = data[0], data[1]
c = [0] + data[2:2 + n]
sailings = []
pos = 2 + n
for _ in range(m):
    a, b, p, q, f = data[pos:pos + 5]
    pos += 5
    sailings.append((p, q, a, b, f))
sailings.sort()

INF = 10 ** 9
# The cheapest way to be ready to board on each island, as of now.
best = [INF] * (n + 1)
best[1] = 0
# Arrivals that are not ready yet: (minute at which they are, island, cost).
waiting = []
answer = INF
for p, q, a, b, f in sailings:
    while waiting and waiting[0][0] <= p:
        _, island, cost = heapq.heappop(waiting)
        best[island] = min(best[island], cost)
    if best[a] < INF:
        cost = best[a] + f
        if b == n:
            answer = min(answer, cost)
        heapq.heappush(waiting, (q + c[b], b, cost))

print("impossible" if answer == INF else answer)
