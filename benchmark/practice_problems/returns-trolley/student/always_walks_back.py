n, C = map(int, input().split())
shelves = list(map(int, input().split()))

total = 0
for start in range(0, n, C):
    load = shelves[start:start + C]
    # To the farthest shelf of this load and back to the desk.
    total += 2 * max(load)
print(total)
