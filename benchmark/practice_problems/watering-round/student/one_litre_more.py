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


W = max(d[i] + i + 1 for i in range(n))
while count_trips(W) > k:
    W += 1
print(W)
