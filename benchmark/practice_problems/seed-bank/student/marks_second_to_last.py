import sys


def main():
    data = list(map(int, sys.stdin.read().split()))
    n, q = data[0], data[1]
    s = [0] + data[2:2 + n]
    by_right = [[] for _ in range(n + 1)]
    pos = 2 + n
    for i in range(q):
        by_right[data[pos + 1]].append((data[pos], i))
        pos += 2

    tree = [0] * (n + 1)

    def add(i, value):
        while i <= n:
            tree[i] += value
            i += i & -i

    def prefix(i):
        total = 0
        while i > 0:
            total += tree[i]
            i -= i & -i
        return total

    last = {}
    marked = {}
    answer = [0] * q
    for r in range(1, n + 1):
        if s[r] in last:
            # Only the second to last packet of a species keeps a mark.
            if s[r] in marked:
                add(marked[s[r]], -1)
            add(last[s[r]], 1)
            marked[s[r]] = last[s[r]]
        last[s[r]] = r
        for l, i in by_right[r]:
            answer[i] = prefix(r) - prefix(l - 1)
    print("\n".join(map(str, answer)))


main()
