import sys


def main():
    numbers = iter(map(int, sys.stdin.buffer.read().split()))
    kinds, customers = next(numbers), next(numbers)
    stock = [next(numbers) for _ in range(kinds)]
    left_with_nothing = 0
    for _ in range(customers):
        kind, wanted = next(numbers) - 1, next(numbers)
        if stock[kind] >= wanted:
            stock[kind] -= wanted
        else:
            left_with_nothing += 1
    print(left_with_nothing, sum(stock))


main()
