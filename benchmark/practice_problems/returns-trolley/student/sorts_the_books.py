n, C = map(int, input().split())
shelves = list(map(int, input().split()))

# Carry books for far shelves together.
shelves.sort(reverse=True)

total = 0
for start in range(0, n, C):
    # The first book of a load has the farthest shelf.
    total += 2 * shelves[start]
print(total)
