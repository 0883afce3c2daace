"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "stock.py"


def as_input(stock, orders):
    lines = [f"{len(stock)} {len(orders)}", " ".join(map(str, stock))]
    return "\n".join(lines + [f"{kind} {wanted}" for kind, wanted in orders]) + "\n"


def drawn(name, kinds, customers, most_stock, most_wanted):
    """Stock and orders drawn evenly from the given ranges."""
    source = random.Random(name)
    stock = [source.randint(0, most_stock) for _ in range(kinds)]
    orders = [(source.randint(1, kinds), source.randint(1, most_wanted)) for _ in range(customers)]
    return as_input(stock, orders)


def tests():
    yield "01-one-customer", as_input([1], [(1, 1)])
    yield "02-empty-shelf", as_input([0, 0], [(1, 1), (2, 100), (1, 1)])
    yield "03-exactly-enough", as_input([6, 3], [(1, 4), (2, 3), (1, 2), (2, 1)])
    yield "04-later-one-fits", as_input([5], [(1, 9), (1, 6), (1, 5), (1, 1)])
    yield "05-small", drawn("05", 3, 20, 30, 9)
    yield "06-scarce", drawn("06", 10, 200, 40, 12)
    yield "07-plenty", drawn("07", 1000, 500, 10**6, 100)
    yield "08-single-kind", drawn("08", 1, 1000, 10**5, 100)
    yield "09-many-kinds", drawn("09", 1000, 5000, 300, 100)
    yield "10-nobody-served", as_input([99] * 5, [(1 + i % 5, 100) for i in range(400)])
    yield "11-large", as_input([10**6] * 9, [(1 + i * i % 9, 1 + i * 7 % 9) for i in range(50_000)])
    yield "12-large-scarce", drawn("12", 9, 9_000, 2500, 9)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tests():
        answer = subprocess.run(
            [sys.executable, str(REFERENCE)], input=text.encode(), stdout=subprocess.PIPE, check=True
        ).stdout
        (folder / f"{name}.in").write_bytes(text.encode())
        (folder / f"{name}.ans").write_bytes(answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE / "data" / "secret")
