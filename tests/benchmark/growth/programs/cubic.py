import sys

values = list(map(int, sys.stdin.read().split()))[1:]
triples = 0
for first in values:
    for second in values:
        for third in values:
            if first < second < third:
                triples += 1
print(triples)
