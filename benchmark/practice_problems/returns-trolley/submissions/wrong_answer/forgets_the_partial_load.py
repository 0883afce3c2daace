# Takes the last full load for the last one.
n, capacity = map(int, input().split())
shelves = list(map(int, input().split()))
farthest = [max(shelves[trip * capacity : (trip + 1) * capacity]) for trip in range(max(1, n // capacity))]
print(2 * sum(farthest) - farthest[-1])
