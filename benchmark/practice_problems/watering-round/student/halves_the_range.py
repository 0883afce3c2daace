n, k = map(int, input().split())
d = list(map(int, input().split()))


def count_trips(W):
    trips = 1
    water = 0
    for i in range(n):
        # A trip that ends at plot i + 1 loses i + 1 litres.
        if water + d[i] + i + 1 > W:
            trips += 1
            water = 0
        water += d[i]
    return trips


# lo may be too small, hi is always enough.
lo = max(d[i] + i + 1 for i in range(n))
hi = sum(d) + n
while lo < hi:
    mid = (lo + hi) // 2
    if count_trips(mid) <= k:
        hi = mid
    else:
        lo = mid + 1
print(lo)
