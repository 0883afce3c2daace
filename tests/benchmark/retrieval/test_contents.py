"""The contents of documents, and programs in which everything is masked that a model could have memorized."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.retrieval import CONTENTS, Document, ProblemText, SearchCorpus, split_analysis
from benchmark.retrieval.masking import mask

PYTHON = """import sys

def milk_per_cow(cows, litres):
    total = 0
    for cow in range(cows):  # every cow
        total += litres[cow] * 37
    return total

print(milk_per_cow(int(input()), "Bessie"))
"""
ANALYSIS = f"""Each cow gives milk, and all of it is added up. Nothing else has to be thought of here.

```python
{PYTHON}```

The sum fits."""
TEXT = ProblemText("Sum up the milk.", ANALYSIS, "print(sum(map(int, input().split())))\n")


def test_an_analysis_is_split_into_its_words_and_its_programs() -> None:
    prose, [program] = split_analysis(ANALYSIS)
    assert prose.startswith("Each cow gives milk")
    assert prose.endswith("The sum fits.")
    assert "milk_per_cow" not in prose
    assert program == PYTHON.rstrip("\n")
    running, programs = split_analysis(f"Each cow gives some milk, so we add it all up.\n\n{PYTHON}\n")
    assert "milk_per_cow" not in running
    assert "milk_per_cow" in "".join(programs)


@given(st.text(alphabet="`~a \n", max_size=60))
def test_any_text_can_be_split(text: str) -> None:
    split_analysis(text)
    mask(text)


@pytest.mark.parametrize(
    ("content", "analysis", "program", "names"),
    [
        ("all", True, True, True),
        ("statement", False, False, False),
        ("statement+analysis", True, False, False),
        ("statement+code", False, True, False),
        ("masked", True, False, False),
    ],
)
def test_a_document_contains_the_selected_content(
    content: str, analysis: bool, program: bool, names: bool
) -> None:
    problem = Document("1", "Milk", TEXT.holding("all"), TEXT)
    corpus = SearchCorpus((problem,))
    assert content in CONTENTS
    [document] = corpus.holding(content).documents  # type: ignore[arg-type]
    assert document.text.startswith("Sum up the milk.")
    assert ("Each cow gives" in document.text) == analysis
    assert ("print(sum(map(int, input().split())))" in document.text) == program or content == "masked"
    assert ("milk_per_cow" in document.text) == names
    assert corpus.holding(content) is corpus.holding(content)  # type: ignore[arg-type]
    assert (corpus.holding(content).content_hash == corpus.content_hash) == (content == "all")  # type: ignore[arg-type]


def test_masking_keeps_only_the_structure_of_a_program() -> None:
    masked = mask(PYTHON)
    assert masked.splitlines() == [
        "import sys",
        "def name1(name2, name3):",
        "    name4 = 0",
        "    for name5 in range(name2):",
        "        name4 += name3[name5] * 0",
        "    return name4",
        'print(name1(int(input()), ""))',
    ]
    assert mask('#include <cstdio>\nint herd[500]; // cows\nint main() { puts("moo"); }') == (
        '#include <cstdio>\nint name1[0];\nint main() { name2(""); }'
    )
