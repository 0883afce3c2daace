import sys


def main():
    plots, trips, *needs = map(int, sys.stdin.buffer.read().split())

    def enough(capacity):
        """Whether the greedy plan needs no more than the allowed trips."""
        used, water = 1, 0
        for plot, need in enumerate(needs, 1):
            water += need
            if water + plot > capacity:
                used += 1
                water = need
                if used > trips:
                    return False
        return True

    low = max(need + plot for plot, need in enumerate(needs, 1))
    high = sum(needs) + plots
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    print(low)


main()
