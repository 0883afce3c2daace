n, C = map(int, input().split())
shelves = list(map(int, input().split()))

total = 0
farthest = 0
for start in range(0, n, C):
    farthest = max(shelves[start:start + C])
    # There and back again.
    total += 2 * farthest

# The trolley stays at the farthest shelf of the last load.
total -= farthest
print(total)
