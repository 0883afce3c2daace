import sys


def main():
    data = list(map(int, sys.stdin.read().split()))
    n, q = data[0], data[1]
    s = data[2:2 + n]
    pos = 2 + n
    out = []
    for _ in range(q):
        l, r = data[pos], data[pos + 1]
        pos += 2
        count = {}
        tested = 0
        for i in range(l - 1, r):
            count[s[i]] = count.get(s[i], 0) + 1
            # The second packet is the one that makes a test possible.
            if count[s[i]] == 2:
                tested += 1
        out.append(tested)
    print("\n".join(map(str, out)))


main()
