# Prefers the siding whose last tram leaves latest.
from heapq import heappush, heapreplace

input()
latest = []
for wave in map(int, input().split()):
    if latest and -latest[0] >= wave:
        heapreplace(latest, -wave)
    else:
        heappush(latest, -wave)
print(len(latest))
