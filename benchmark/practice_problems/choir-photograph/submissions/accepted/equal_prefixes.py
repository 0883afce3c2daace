import sys

STEP = {"S": (1, 0), "A": (-1, 0), "T": (0, 1), "B": (0, -1)}


def main():
    line = sys.stdin.read().split()[1]
    x = y = pictures = 0
    seen = {(0, 0): 1}
    for voice in line:
        step_x, step_y = STEP[voice]
        x += step_x
        y += step_y
        before = seen.get((x, y), 0)
        pictures += before
        seen[x, y] = before + 1
    print(pictures)


main()
