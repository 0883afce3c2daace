# Adds the two differences up, so that a soprano and a bass cancel out.
from collections import Counter

STEP = {"S": 1, "A": -1, "T": 1, "B": -1}

input()
value = pictures = 0
seen = Counter([0])
for voice in input().strip():
    value += STEP[voice]
    pictures += seen[value]
    seen[value] += 1
print(pictures)
