n = int(input())
d = []
p = []
for _ in range(n):
    a, b = map(int, input().split())
    d.append(a)
    p.append(b)

total = 0
here = 0  # huts 0 .. here - 1 lie behind
while here < n:
    best_rate = None
    x = 0
    for i in range(here, n):
        x += d[i]
        rate = (x * x + p[i]) / x
        if best_rate is None or rate < best_rate:
            best_rate = rate
            best_cost = x * x + p[i]
            best_hut = i
        if x > best_rate:
            # Walking alone is dearer than that from here on.
            break
    total += best_cost
    here = best_hut + 1
print(total)
