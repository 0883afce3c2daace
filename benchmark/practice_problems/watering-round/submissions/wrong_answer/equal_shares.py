# Ends a trip as soon as it has used the k-th part of all the water.
plots, trips = map(int, input().split())
needs = list(map(int, input().split()))
share = -(-sum(needs) // trips)
largest = water = 0
for plot, need in enumerate(needs, 1):
    water += need
    largest = max(largest, water + plot)
    if water >= share:
        water = 0
print(largest)
