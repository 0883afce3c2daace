import sys


def main():
    data = list(map(int, sys.stdin.read().split()))
    n = data[0]
    # Lines (slope, intercept) of the lower envelope, slopes falling.
    lines = [(0, 0)]
    pointer = 0
    x = 0
    best = 0
    for i in range(n):
        x += data[1 + 2 * i]
        p = data[2 + 2 * i]
        # The points grow, so the best line only moves to the right.
        while (pointer + 1 < len(lines)
               and lines[pointer + 1][0] * x + lines[pointer + 1][1]
               <= lines[pointer][0] * x + lines[pointer][1]):
            pointer += 1
        best = p + x * x + lines[pointer][0] * x + lines[pointer][1]
        m, b = -2 * x, best + x * x
        # Drop lines that are nowhere the lowest any more.
        while len(lines) - pointer >= 2:
            m1, b1 = lines[-2]
            m2, b2 = lines[-1]
            if (b - b1) * (m1 - m2) <= (b2 - b1) * (m1 - m):
                lines.pop()
            else:
                break
        lines.append((m, b))
    print(best)


main()
