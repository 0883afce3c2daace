import sys
from bisect import bisect_left


def main():
    waves = list(map(int, sys.stdin.buffer.read().split()))[1:]
    # The waves of the last trams of the sidings; always increasing.
    last = []
    for wave in waves:
        siding = bisect_left(last, wave)
        if siding == len(last):
            last.append(wave)
        else:
            last[siding] = wave
    print(len(last))


main()
