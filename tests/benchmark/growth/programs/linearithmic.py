import sys

values = list(map(int, sys.stdin.read().split()))[1:]


def sort(part):
    if len(part) < 2:
        return part
    first, second = sort(part[: len(part) // 2]), sort(part[len(part) // 2 :])
    merged, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        if first[i] <= second[j]:
            merged.append(first[i])
            i += 1
        else:
            merged.append(second[j])
            j += 1
    return merged + first[i:] + second[j:]


print(sum(place * value for place, value in enumerate(sort(values))))
