# Tries all earlier huts for every hut: quadratic.
n = int(input())
position, best = [0], [0]
for _ in range(n):
    distance, price = map(int, input().split())
    x = position[-1] + distance
    best.append(price + min(cost + (x - begin) * (x - begin) for begin, cost in zip(position, best)))
    position.append(x)
print(best[n])
