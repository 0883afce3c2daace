# Looks at all sidings for every tram: quadratic when there are many.
input()
last = []
for wave in map(int, input().split()):
    possible = [siding for siding, final_wave in enumerate(last) if final_wave >= wave]
    if possible:
        best = min(possible, key=last.__getitem__)
        last[best] = wave
    else:
        last.append(wave)
print(len(last))
