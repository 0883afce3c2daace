import sys


def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    n, q = data[:2]
    species = [0] + data[2 : 2 + n]
    sections = data[2 + n :]
    ending_at = [[] for _ in range(n + 1)]
    for number in range(q):
        ending_at[sections[2 * number + 1]].append((number, sections[2 * number]))
    # A Fenwick tree over the drawers; `marks` is their total.
    tree = [0] * (n + 1)
    marks = 0
    last, second_to_last = {}, {}
    answers = [0] * q
    for right in range(1, n + 1):
        kind = species[right]
        if kind in last:
            position = last[kind]
            if kind in second_to_last:
                old = second_to_last[kind]
                marks -= 1
                while old <= n:
                    tree[old] -= 1
                    old += old & -old
            second_to_last[kind] = position
            marks += 1
            while position <= n:
                tree[position] += 1
                position += position & -position
        last[kind] = right
        for number, left in ending_at[right]:
            before = 0
            position = left - 1
            while position:
                before += tree[position]
                position &= position - 1
            answers[number] = marks - before
    print("\n".join(map(str, answers)))


main()
