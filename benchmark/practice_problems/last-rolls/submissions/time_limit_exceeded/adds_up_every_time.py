# Adds up all earlier sales of the kind for every customer: quadratic.
kinds, customers = map(int, input().split())
baked = list(map(int, input().split()))
sales = []
left_with_nothing = 0
for _ in range(customers):
    kind, wanted = map(int, input().split())
    sold = sum(quantity for other_kind, quantity in sales if other_kind == kind)
    if baked[kind - 1] - sold >= wanted:
        sales.append((kind, wanted))
    else:
        left_with_nothing += 1
print(left_with_nothing, sum(baked) - sum(quantity for _, quantity in sales))
