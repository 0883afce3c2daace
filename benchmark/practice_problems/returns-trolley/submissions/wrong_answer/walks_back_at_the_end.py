# Counts the way back of the last trip too.
n, capacity = map(int, input().split())
shelves = list(map(int, input().split()))
print(sum(2 * max(shelves[start : start + capacity]) for start in range(0, n, capacity)))
