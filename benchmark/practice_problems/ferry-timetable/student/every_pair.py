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
cost = [INF] * m
answer = INF
for j in range(m):
    p, q, a, b, f = sailings[j]
    best = 0 if a == 1 else INF
    # The cheapest earlier sailing that arrives in time to change.
    for i in range(j):
        if sailings[i][3] == a and sailings[i][1] + c[a] <= p:
            best = min(best, cost[i])
    if best < INF:
        cost[j] = best + f
        if b == n:
            answer = min(answer, cost[j])

print("impossible" if answer == INF else answer)
