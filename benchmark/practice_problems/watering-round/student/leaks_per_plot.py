n, k = map(int, input().split())
d = list(map(int, input().split()))

# A litre leaks for each plot of the trip.
load = [x + 1 for x in d]

W = max(load)
while True:
    trips = 1
    current = 0
    for x in load:
        if current + x > W:
            trips += 1
            current = 0
        current += x
    if trips <= k:
        break
    W += 1
print(W)
