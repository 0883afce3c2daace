# Dynamic programming over plots and trips: O(n * n * k).
plots, trips = map(int, input().split())
needs = list(map(int, input().split()))
best = [0] + [float("inf")] * plots
for _ in range(trips):
    following = [0] + [float("inf")] * plots
    for last in range(1, plots + 1):
        water = last
        for first in range(last, 0, -1):
            water += needs[first - 1]
            if water >= following[last]:
                break
            following[last] = min(following[last], max(water, best[first - 1]))
    best = following
print(best[plots])
