# Looks through the whole load again for each of its books: O(n * C).
n, capacity = map(int, input().split())
shelves = list(map(int, input().split()))
metres = 0
for book in range(n):
    first = book - book % capacity
    load = range(first, min(first + capacity, n))
    farthest = max(shelves[other] for other in load)
    # The first book of a load stands for the trip.
    if book == first:
        metres += farthest if load[-1] == n - 1 else 2 * farthest
print(metres)
