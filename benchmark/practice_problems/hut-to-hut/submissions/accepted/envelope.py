import sys


def main():
    data = list(map(int, sys.stdin.buffer.read().split()))
    # The lines of the lower envelope, from the trailhead's on; `front` is the best one so far.
    slopes, intercepts, front = [0], [0], 0
    position = cost = 0
    for distance, price in zip(data[1::2], data[2::2]):
        position += distance
        while (
            front + 1 < len(slopes)
            and slopes[front + 1] * position + intercepts[front + 1]
            <= slopes[front] * position + intercepts[front]
        ):
            front += 1
        cost = price + position * position + slopes[front] * position + intercepts[front]
        slope, intercept = -2 * position, cost + position * position
        while len(slopes) - front >= 2 and (intercept - intercepts[-2]) * (slopes[-2] - slopes[-1]) <= (
            intercepts[-1] - intercepts[-2]
        ) * (slopes[-2] - slope):
            slopes.pop()
            intercepts.pop()
        slopes.append(slope)
        intercepts.append(intercept)
    print(cost)


main()
