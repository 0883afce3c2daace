# Tries one capacity after the other.
plots, trips = map(int, input().split())
needs = list(map(int, input().split()))


def trips_needed(capacity):
    used, water = 1, 0
    for plot, need in enumerate(needs, 1):
        water += need
        if water + plot > capacity:
            used, water = used + 1, need
    return used


capacity = max(need + plot for plot, need in enumerate(needs, 1))
while trips_needed(capacity) > trips:
    capacity += 1
print(capacity)
