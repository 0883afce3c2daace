# Chooses every day by itself: the hut with the lowest price for each furlong walked.
n = int(input())
huts = [tuple(map(int, input().split())) for _ in range(n)]
cost = here = 0
while here < n:
    best = None
    walked = 0
    for hut in range(here, n):
        walked += huts[hut][0]
        money = walked * walked + huts[hut][1]
        if best is None or money * best[1] < best[0] * walked:
            best = (money, walked, hut + 1)
        if best[0] < walked * best[1]:
            break  # from here on the walking alone is dearer
    cost += best[0]
    here = best[2]
print(cost)
