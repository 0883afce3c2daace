# Never lets two trams of the same wave share a siding.
from bisect import bisect_right

input()
last = []
for wave in map(int, input().split()):
    siding = bisect_right(last, wave)
    last[siding : siding + 1] = [wave]
print(len(last))
