# Tries every picture, extending it singer by singer: quadratic.
STEP = {"S": (1, 0), "A": (-1, 0), "T": (0, 1), "B": (0, -1)}

n = int(input())
steps = [STEP[voice] for voice in input().strip()]
pictures = 0
for first in range(n):
    x = y = 0
    for last in range(first, n):
        x += steps[last][0]
        y += steps[last][1]
        if x == 0 and y == 0:
            pictures += 1
print(pictures)
