# Boards the next ferry at the minute of arrival.
import sys
from heapq import heappop, heappush

data = list(map(int, sys.stdin.read().split()))
n, m = data[:2]
rows = data[2 + n :]
best = {1: 0}
answer = None
coming = []
for p, q, a, b, f in sorted(zip(rows[2::5], rows[3::5], rows[0::5], rows[1::5], rows[4::5])):
    while coming and coming[0][0] <= p:
        _, island, cost = heappop(coming)
        best[island] = min(best.get(island, cost), cost)
    if a in best:
        cost = best[a] + f
        if b == n and (answer is None or cost < answer):
            answer = cost
        heappush(coming, (q, b, cost))
print("impossible" if answer is None else answer)
