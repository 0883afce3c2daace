# Compares every sailing with all the earlier ones: quadratic.
import sys

data = list(map(int, sys.stdin.read().split()))
n, m = data[:2]
change = data[1 : 2 + n]
rows = data[2 + n :]
sailings = sorted(zip(rows[2::5], rows[3::5], rows[0::5], rows[1::5], rows[4::5]))
unknown = float("inf")
costs = []
for p, _, a, _, f in sailings:
    best = 0 if a == 1 else unknown
    for (_, earlier_q, _, earlier_b, _), cost in zip(sailings, costs):
        if earlier_b == a and earlier_q + change[a] <= p and cost < best:
            best = cost
    costs.append(best + f)
answer = min((cost for sailing, cost in zip(sailings, costs) if sailing[3] == n), default=unknown)
print("impossible" if answer == unknown else answer)
