n = int(input())
line = input().strip()

# The position before the first singer counts as well: both differences are 0 there.
count = {(0, 0): 1}
sa = 0  # S minus A
tb = 0  # T minus B
answer = 0
for c in line:
    if c == 'S':
        sa += 1
    elif c == 'A':
        sa -= 1
    elif c == 'T':
        tb += 1
    else:
        tb -= 1
    # Every earlier position with the same differences closes a balanced group here.
    answer += count.get((sa, tb), 0)
    count[(sa, tb)] = count.get((sa, tb), 0) + 1
print(answer)
