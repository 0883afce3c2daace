# Counts the packets of every section anew.
import sys

data = list(map(int, sys.stdin.read().split()))
n, q = data[:2]
species = data[2 : 2 + n]
sections = data[2 + n :]
for left, right in zip(sections[0::2], sections[1::2]):
    packets = {}
    tested = 0
    for kind in species[left - 1 : right]:
        packets[kind] = packets.get(kind, 0) + 1
        if packets[kind] == 2:
            tested += 1
    print(tested)
