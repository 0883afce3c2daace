n = int(input())
x = [0]
best = [0]
for i in range(n):
    d, p = map(int, input().split())
    here = x[-1] + d
    # Try every place where the last day can begin.
    cheapest = None
    for j in range(i + 1):
        cost = best[j] + (here - x[j]) ** 2
        if cheapest is None or cost < cheapest:
            cheapest = cost
    x.append(here)
    best.append(cheapest + p)
print(best[n])
