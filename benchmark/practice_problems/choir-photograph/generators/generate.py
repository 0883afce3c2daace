"""Writes the secret tests: `python generators/generate.py [FOLDER]` (default: data/secret).

The inputs are drawn with fixed seeds, the answers are those of the reference solution, so every run
writes the same bytes.
"""

import random
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
REFERENCE = PACKAGE / "submissions" / "accepted" / "equal_prefixes.py"


def as_input(line):
    return f"{len(line)}\n{line}\n"


def drawn(name, singers, voices):
    """Each singer's voice drawn from `voices`; a letter that stands there twice is twice as likely."""
    source = random.Random(name)
    return as_input("".join(source.choice(voices) for _ in range(singers)))


def shuffled_blocks(name, blocks):
    """Balanced groups of four in shuffled order each, so that many pictures are balanced."""
    source = random.Random(name)
    return as_input("".join("".join(source.sample("SATB", 4)) for _ in range(blocks)))


def tests():
    yield "01-one-singer", as_input("T")
    yield "02-one-voice", as_input("S" * 40)
    yield "03-starts-at-the-left", as_input("SSAATTBB")
    yield "04-separate-conditions", as_input("SBTASTBA" + "TABS")
    yield "05-nested", as_input("SSSSTTTTBBBBAAAA")
    yield "06-no-men", drawn("06", 60, "SA")
    yield "07-small", drawn("07", 100, "SATB")
    yield "08-medium", drawn("08", 3000, "SATB")
    yield "09-uneven", drawn("09", 5000, "SSSATB")
    yield "10-groups-of-four", shuffled_blocks("10", 2000)
    yield "11-no-women", drawn("11", 20_000, "TB")
    yield "12-large", drawn("12", 100_000, "SATB")
    yield "13-large-many-pictures", as_input("SA" * 50_000)


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
