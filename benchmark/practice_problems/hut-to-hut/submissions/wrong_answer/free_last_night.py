# Leaves out the night in the last hut.
n = int(input())
position, best, price = [0], [0], 0
envelope = [0]


def value(j, x):
    return best[j] + (x - position[j]) ** 2


def useless(a, b, c):
    m = [-2 * position[j] for j in (a, b, c)]
    t = [best[j] + position[j] ** 2 for j in (a, b, c)]
    return (t[2] - t[0]) * (m[0] - m[1]) <= (t[1] - t[0]) * (m[0] - m[2])


front = 0
for hut in range(1, n + 1):
    distance, price = map(int, input().split())
    x = position[-1] + distance
    while front + 1 < len(envelope) and value(envelope[front + 1], x) <= value(envelope[front], x):
        front += 1
    best.append(price + value(envelope[front], x))
    position.append(x)
    while len(envelope) - front >= 2 and useless(envelope[-2], envelope[-1], hut):
        envelope.pop()
    envelope.append(hut)
print(best[n] - price)
