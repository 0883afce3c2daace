"""Prints one valid input: `python generators/draw.py random|corner|stress SEED`."""

import random
import sys

KIND, SEED = sys.argv[1:]
source = random.Random(f"{KIND} {SEED}")


if KIND == "random":
    voices = source.choice(["SATB", "SATB", "SA", "SSSATB"])
    line = "".join(source.choice(voices) for _ in range(source.randint(1, 60)))
elif KIND == "corner":
    line = source.choice(
        ["S", "SA", "SSAATTBB", "ST", "SB", "TABS" * 5, "S" * 30 + "A" * 30, "SBTA", "AS" * 9 + "TB"]
    )
else:
    line = "".join(source.choice(source.choice(["SATB", "SA"])) for _ in range(100_000))
print(len(line), line, sep="\n")
