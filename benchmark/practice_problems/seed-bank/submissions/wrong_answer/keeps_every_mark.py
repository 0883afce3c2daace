# Counts every repetition, so that three packets of a species count twice.
import sys

data = list(map(int, sys.stdin.read().split()))
n, q = data[:2]
ending_at = [[] for _ in range(n + 1)]
for number in range(q):
    left, right = data[2 + n + 2 * number : 4 + n + 2 * number]
    ending_at[right].append((left, number))
tree = [0] * (n + 1)
last = {}
answers = [0] * q
repetitions = 0
for right in range(1, n + 1):
    position = last.get(data[1 + right])
    last[data[1 + right]] = right
    if position:
        repetitions += 1
        while position <= n:
            tree[position] += 1
            position += position & -position
    for left, number in ending_at[right]:
        left -= 1
        answers[number] = repetitions
        while left:
            answers[number] -= tree[left]
            left &= left - 1
print(*answers, sep="\n")
