# Loses a litre only for each plot of the trip, as if every trip began next to its first plot.
plots, trips = map(int, input().split())
needs = [int(word) + 1 for word in input().split()]
low, high = max(needs), sum(needs)
while low < high:
    middle = (low + high) // 2
    used, water = 1, 0
    for need in needs:
        water += need
        if water > middle:
            used, water = used + 1, need
    if used <= trips:
        high = middle
    else:
        low = middle + 1
print(low)
