# Subtracts the tested species of the drawers before the section from those up to its end.
import sys

data = list(map(int, sys.stdin.read().split()))
n, q = data[:2]
packets = {}
tested = [0]
for kind in data[2 : 2 + n]:
    packets[kind] = packets.get(kind, 0) + 1
    tested.append(tested[-1] + (packets[kind] == 2))
sections = data[2 + n :]
for left, right in zip(sections[0::2], sections[1::2]):
    print(tested[right] - tested[left - 1])
