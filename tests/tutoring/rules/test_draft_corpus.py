"""Format, sizes and uniqueness of the labelled corpus of drafts."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tutoring.checks.labelled_drafts import LabelledDraft, StudentProgram, read_drafts, read_programs

FOLDER = Path(__file__).parent / "drafts"
CLAUSES = ["F1", "F2", "F3", "F4", "F5"]
LANGUAGES = {"en", "de", "fr", "es", "zh"}
USACO_ID = re.compile(r"\d+_(bronze|silver|gold|platinum)_[a-z0-9_()'-]+[?!]?")
README = (FOLDER / "README.md").read_text(encoding="utf-8")


class Split(StrEnum):
    """A part of the corpus: detectors may be developed on all but the last three, which only measure them."""

    DEVELOPMENT = "development"
    DEVELOPMENT_2 = "development_2"
    WRITER_A = "writer_a"
    WRITER_B = "writer_b"
    WRITER_C = "writer_c"
    WRITER_E = "writer_e"
    WRITER_F = "writer_f"
    WRITER_G = "writer_g"
    WRITER_H = "writer_h"
    WRITER_I = "writer_i"
    WRITER_J = "writer_j"
    WRITER_K = "writer_k"
    WRITER_L = "writer_l"
    WRITER_M = "writer_m"
    WRITER_N = "writer_n"
    WRITER_O = "writer_o"
    WRITER_P = "writer_p"
    WRITER_Q = "writer_q"
    WRITER_U = "writer_u"
    WRITER_V = "writer_v"
    WRITER_X = "writer_x"
    WRITER_Y = "writer_y"
    WRITER_Z = "writer_z"
    WRITER_AA = "writer_aa"
    WRITER_AB = "writer_ab"
    WRITER_AC = "writer_ac"
    WRITER_AD = "writer_ad"
    WRITER_AF = "writer_af"
    WRITER_AG = "writer_ag"
    VALIDATION = "validation"
    VALIDATION_2 = "validation_2"
    MEASURE = "measure"


def programs() -> dict[str, StudentProgram]:
    return read_programs(FOLDER / "programs.jsonl")


@cache
def drafts(split: Split) -> list[LabelledDraft]:
    return read_drafts(FOLDER / f"{split}.jsonl")


def everything() -> list[LabelledDraft]:
    return [draft for split in Split for draft in drafts(split)]


def clauses(rows: list[LabelledDraft]) -> Counter[str]:
    return Counter(clause for row in rows for clause in row.labels)


def test_the_corpus_is_large_enough() -> None:
    rows = everything()
    assert len(rows) >= 600
    assert len({row.problem for row in rows}) >= 20
    assert sum(bool(row.labels) for row in rows) >= 300
    assert sum(not row.labels for row in rows) >= 250
    assert sum(row.language != "en" for row in rows) >= 80


def test_the_measure_is_large_enough_for_each_clause() -> None:
    rows = drafts(Split.MEASURE)
    counts = clauses(rows)
    assert all(counts[clause] >= 30 for clause in CLAUSES), counts
    assert sum(not row.labels for row in rows) >= 100
    assert sum(row.language != "en" for row in rows) >= 25


def test_fields_are_valid() -> None:
    rule_set = tomllib.loads(Path("tutoring/rules/rule_sets/1.toml").read_text(encoding="utf-8"))
    forbidden = {clause["code"] for clause in rule_set["clauses"] if clause["kind"] == "forbidden"}
    assert forbidden == set(CLAUSES)
    for row in everything():
        assert row.labels <= forbidden, row.id
        assert row.language in LANGUAGES, row.id
        assert row.kind.startswith("allowed-") == (not row.labels), row.id
        assert row.text == row.text.strip() != "", row.id
        assert (row.language == "zh") == bool(re.search(r"[\u4e00-\u9fff]", row.text)), row.id


def test_labels_are_listed_in_order() -> None:
    for split in Split:
        for line in (FOLDER / f"{split}.jsonl").read_text(encoding="utf-8").splitlines():
            labels = json.loads(line)["labels"]
            assert labels == sorted(set(labels))


def test_ids_are_unique_and_splits_share_no_problem() -> None:
    rows = everything()
    assert len({row.id for row in rows}) == len(rows)
    for one, other in combinations(Split, 2):
        assert not {row.problem for row in drafts(one)} & {row.problem for row in drafts(other)}


def test_every_program_is_answered_and_belongs_to_the_problem() -> None:
    rows = everything()
    assert {row.program.key for row in rows} == set(programs())
    assert all(row.problem == row.program.problem for row in rows)


def test_python_programs_can_be_parsed() -> None:
    for program in programs().values():
        assert program.language in {"python", "cpp"}
        if program.language == "python":
            ast.parse(program.code)


def test_problems_have_known_ids(repository: Path) -> None:
    practice = {path.parent.name for path in repository.glob("benchmark/practice_problems/*/problem.yaml")}
    for problem in {program.problem for program in programs().values()}:
        assert problem in practice or USACO_ID.fullmatch(problem), problem


def test_usaco_problems_exist(shared_data: Path) -> None:
    usaco = json.loads((shared_data / "usaco" / "usaco_dict.json").read_text(encoding="utf-8"))
    used = {program.problem for program in programs().values() if USACO_ID.fullmatch(program.problem)}
    assert used <= set(usaco)


@pytest.mark.slow
def test_no_two_texts_are_nearly_the_same() -> None:
    texts = sorted((re.sub(r"\s+", " ", row.text.casefold()) for row in everything()), key=len)
    assert len(set(texts)) == len(texts)
    # Texts share no more characters than these counts do, which leaves few pairs for the comparison of sequences.
    signs = (np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32) % 256 for text in texts)
    letters = np.array([np.bincount(found, minlength=256) for found in signs], dtype=np.int16)
    lengths = letters.sum(axis=1)
    for row, text in enumerate(texts):
        end = int(np.searchsorted(lengths, lengths[row] * 1.1 / 0.9, side="right"))
        shared = np.minimum(letters[row], letters[row + 1 : end]).sum(axis=1)
        near = np.flatnonzero(2 * shared > 0.9 * (lengths[row] + lengths[row + 1 : end]))
        for other in (texts[row + 1 + int(place)] for place in near):
            if 2 * longest_common_subsequence(text, other) <= 0.9 * (len(text) + len(other)):
                continue  # the blocks that a SequenceMatcher finds, which takes far longer, are a common subsequence
            assert SequenceMatcher(None, text, other, autojunk=False).ratio() <= 0.9, (text, other)


def longest_common_subsequence(one: str, other: str) -> int:
    """Return the length of the longest common subsequence of two texts.

    Each bit of an integer stands for a place of the first text: H. Hyyrö, "Bit-parallel LCS-length computation
    revisited" (AWOCA 2004).
    """
    places: dict[str, int] = {}
    for place, sign in enumerate(one):
        places[sign] = places.get(sign, 0) | 1 << place
    whole = unmatched = (1 << len(one)) - 1
    for sign in other:
        found = unmatched & places.get(sign, 0)
        unmatched = (unmatched + found | unmatched - found) & whole
    return len(one) - unmatched.bit_count()


def test_readme_describes_every_kind() -> None:
    described = set(re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE))
    assert described == {row.kind for row in everything()}


@pytest.mark.parametrize("split", Split)
def test_readme_states_the_counts(split: Split) -> None:
    rows = drafts(split)
    counts = clauses(rows)
    numbers = [
        len(rows),
        len({row.problem for row in rows}),
        len({row.program.key for row in rows}),
        sum(not row.labels for row in rows),
        sum(bool(row.labels) for row in rows),
        *(counts[clause] for clause in CLAUSES),
        sum(row.language != "en" for row in rows),
    ]
    assert f"| {split} | {' | '.join(map(str, numbers))} |" in README
