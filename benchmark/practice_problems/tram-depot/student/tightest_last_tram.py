from bisect import bisect_left

n = int(input())
w = list(map(int, input().split()))

# Waves of the last trams, in increasing order.
last = []
for x in w:
    # The first siding whose last tram leaves in wave x or later.
    i = bisect_left(last, x)
    if i == len(last):
        last.append(x)
    else:
        last[i] = x
print(len(last))
