"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "marks.py"


def as_input(species, sections):
    lines = [f"{len(species)} {len(sections)}", " ".join(map(str, species))]
    return "\n".join(lines + [f"{left} {right}" for left, right in sections]) + "\n"


def all_sections(drawers):
    return [(left, right) for left in range(1, drawers + 1) for right in range(left, drawers + 1)]


def drawn(name, drawers, sections, kinds, shortest=1):
    """Random species, and random sections of at least `shortest` drawers."""
    source = random.Random(name)
    rows = []
    for _ in range(sections):
        left = source.randint(1, drawers - shortest + 1)
        rows.append((left, source.randint(left + shortest - 1, drawers)))
    return as_input([source.randint(1, kinds) for _ in range(drawers)], rows)


def tests():
    yield "01-one-drawer", as_input([20_000], [(1, 1)])
    yield "02-pair", as_input([4, 4], all_sections(2))
    yield "03-three-of-a-kind", as_input([1, 2, 1, 2, 1], all_sections(5))
    yield "04-all-different", as_input(list(range(1, 21)), all_sections(20))
    yield "05-all-the-same", as_input([9] * 15, all_sections(15))
    yield "06-palindrome", as_input([1, 2, 3, 4, 5, 5, 4, 3, 2, 1], all_sections(10))
    yield "07-small", drawn("07", 30, 60, 6)
    yield "08-few-species", drawn("08", 1000, 1000, 12)
    yield "09-many-species", drawn("09", 3000, 3000, 2500)
    yield "10-short-row-many-sections", drawn("10", 90, 4000, 30)
    yield "11-one-pair-far-apart", as_input(
        [7, *range(10, 3000), 7], [(1, 2992), (2, 2992), (1, 2991), (1, 1), (2992, 2992)]
    )
    yield "12-large", drawn("12", 20_000, 20_000, 9000, shortest=18_000)


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
