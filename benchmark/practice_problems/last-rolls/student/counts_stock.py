import sys


def main():
    data = sys.stdin.read().split()
    K, n = int(data[0]), int(data[1])
    # Rolls left of each kind.
    stock = [int(x) for x in data[2:2 + K]]
    unhappy = 0
    pos = 2 + K
    for _ in range(n):
        kind = int(data[pos]) - 1
        wanted = int(data[pos + 1])
        pos += 2
        # All or nothing: buy only if the whole order is on the shelf.
        if stock[kind] >= wanted:
            stock[kind] -= wanted
        else:
            unhappy += 1
    print(unhappy, sum(stock))


main()
