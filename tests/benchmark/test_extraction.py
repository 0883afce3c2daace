"""What is taken out of a model's reply, and which replies count as a generation of code."""

import io
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import example, given, settings
from hypothesis import strategies as st

import judge
from benchmark.extraction import Ended, Extraction, counts_as_generation, extract_program, without_blocks
from tests.benchmark.extraction_corpus import Entry, entries, normalised

PROGRAM = "n = int(input())\nprint(n + 1)\n"
FRAGMENT = "n = int(input())\n"
CPP = "#include <iostream>\nint main() {\n  int n; std::cin >> n; std::cout << n;\n}\n"


def fenced(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}{fence}\n"


def extract(reply: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> dict[str, Any]:
    """Return what `manage.py extract - --json` prints of the reply."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(reply.encode())))
    printed = io.StringIO()
    call_command("extract", "-", *options, "--json", stdout=printed)
    answer = json.loads(printed.getvalue())
    assert list(answer) == ["program", "rule", "generation", "candidates"]
    return dict(answer)


@pytest.mark.parametrize("entry", list(entries()), ids=lambda entry: entry.name)
def test_every_reply_of_the_corpus(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    found = extract(entry.reply, monkeypatch, "--language", entry.language, "--ended", entry.ended)
    if entry.program is None or entry.program.strip() != "*":
        assert normalised(found["program"]) == normalised(entry.program), found["rule"]
    assert found["generation"] is entry.generation


def test_the_corpus_has_150_replies_in_all_families_of_languages() -> None:
    corpus = list(entries())
    assert len(corpus) >= 150
    assert len({entry.name for entry in corpus}) == len(corpus)
    assert set(judge.FAMILIES) <= {entry.language for entry in corpus}


def test_the_other_candidates_are_listed_with_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    reply = f"Final solution:\n{fenced(PROGRAM)}Naive, for testing:\n{fenced(PROGRAM)}\n{fenced('3', 'text')}"
    found = extract(reply, monkeypatch, "--language", "python")
    assert found["rule"] == "tagged-final"
    assert found["candidates"] == [
        {
            "kind": "tagged",
            "form": "fence",
            "tag": "python",
            "lines": [8, 9],
            "holds": "complete",
            "said": "other",
        },
        {
            "kind": "untagged",
            "form": "fence",
            "tag": "text",
            "lines": [13, 13],
            "holds": "no code",
            "said": "",
        },
    ]


def test_the_program_goes_to_standard_output_and_the_rest_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reply.md"
    file.write_text(fenced(PROGRAM) + "Key line:\n" + fenced(FRAGMENT), encoding="utf-8")
    call_command("extract", str(file), "--language", "pypy")
    printed = capsys.readouterr()
    assert printed.out == PROGRAM
    assert printed.err.splitlines() == [
        "Rule: tagged; a generation.",
        "Not chosen: lines 7-7, fence, tagged, tag python, part, marked as other.",
    ]
    file.write_text("No code.", encoding="utf-8")
    call_command("extract", str(file), "--language", "python")
    assert capsys.readouterr() == ("", "Rule: no-block; no generation.\n")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", ["--language", "fortran"], "--language 'fortran' is unknown. Use one of: python, pypy, "),
        (
            b"",
            ["--language", "c", "--mode", "all"],
            "--mode 'all' is unknown. Use one of: default, usaco, icpc-eval.",
        ),
        (
            b"",
            ["--language", "c", "--ended", "early"],
            "--ended 'early' is unknown. Use one of: complete, length, ",
        ),
        (b"a\xff", ["--language", "c"], "is not UTF-8: byte 1 is 0xff."),
        (None, ["--language", "c"], "cannot be read: No such file or directory."),
    ],
)
def test_wrong_arguments_are_named(
    tmp_path: Path, content: bytes | None, options: list[str], message: str
) -> None:
    file = tmp_path / "reply.md"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError) as raised:
        call_command("extract", str(file), *options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def published_rule(reply: str) -> str:
    """The rule of the published USACO code, from its description in docs/spec.md 0.2."""
    behind = reply.split("```python", 1)
    return behind[1].split("```", 1)[0] if len(behind) == 2 and "```" in behind[1] else reply


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["```", "```python", "`", "python", "\n", "\r\n", "x"]) | st.text(max_size=3))
)
@example(["```python", "x = 1"])
@example(["```", "```python", "```"])
def test_mode_usaco_is_the_published_rule_to_the_byte(pieces: list[str]) -> None:
    reply = "".join(pieces)
    found = extract_program(reply, "python", "usaco")
    assert found.code == published_rule(reply) == reply[found.start : found.end]


@pytest.mark.parametrize("entry", list(entries()), ids=lambda entry: entry.name)
def test_mode_usaco_on_every_reply_of_the_corpus(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    found = extract(entry.reply, monkeypatch, "--language", entry.language, "--mode", "usaco")
    assert found["program"] == published_rule(entry.reply)


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("```cpp\na\n```\nor\n```\nb\n```", "b\n"),
        ("```\nthought\n```</think>```cpp\na\n```", "a\n"),
        ("```cpp\na\n```</think>None.", None),
        ("```c++\na\n```", None),
        ("```cpp \na\n```", None),
        ("```cpp\na", None),
        ("", None),
    ],
)
def test_mode_icpc_eval_takes_the_last_block_as_the_published_code_does(
    reply: str, program: str | None
) -> None:
    found = extract_program(reply, "cpp23", "icpc-eval")
    assert found.code == program
    assert reply[found.start : found.end] == (program or "")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'default' or 'usaco' or 'icpc-eval'"):
        extract_program("", "python", "guess")


SLIP = "n = int(input()\nprint(n)\n"
COUNTS = {
    # block: ended by itself, by the token limit, stopped by the tutor, failed
    "tagged, closed, complete": (fenced(PROGRAM), "yes yes yes no"),
    "tagged, closed, a part": (fenced(FRAGMENT), "yes yes no no"),
    "tagged, closed, a slip": (fenced(SLIP), "yes yes no no"),
    "tagged, not closed, complete": (f"```python\n{PROGRAM}", "yes yes yes no"),
    "tagged, not closed, a part": (f"```python\n{FRAGMENT}", "yes yes no no"),
    "tagged, not closed, garbage behind": (f"```python\n{FRAGMENT}print(print(print(", "yes yes no no"),
    "untagged, closed, complete": (fenced(PROGRAM, ""), "yes yes yes no"),
    "untagged, closed, a part": (fenced(FRAGMENT, ""), "no no no no"),
    "untagged, closed, values": (fenced("15\n", ""), "no no no no"),
    "untagged, not closed, complete": (f"```\n{PROGRAM}", "yes yes yes no"),
    "untagged, not closed, a part": (f"```\n{FRAGMENT}", "no no no no"),
    "tagged text, closed, complete": (fenced(PROGRAM, "text"), "yes yes yes no"),
    "tagged text, closed, a part": (fenced(FRAGMENT, "text"), "no no no no"),
    "another language, closed": (fenced(CPP, "cpp"), "no no no no"),
    "another language, not closed": (f"```cpp\n{CPP}", "no no no no"),
    "no block, complete": (PROGRAM, "yes yes yes no"),
    "no block, words": ("What would `print(1)` do?", "no no no no"),
    "reasoning that never ends": (f"<think>\n{fenced(PROGRAM)}", "no no no no"),
}


@pytest.mark.parametrize(("reply", "counts"), COUNTS.values(), ids=COUNTS)
def test_what_counts_as_a_generation(reply: str, counts: str) -> None:
    assert [counts_as_generation(reply, "python", ended) for ended in Ended] == [
        word == "yes" for word in counts.split()
    ]


def test_the_table_of_generations_is_in_the_documentation() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "tutor.md"
    rows = {
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    }
    for block, (_, counts) in COUNTS.items():
        assert (block, *counts.split()) in rows


@pytest.mark.parametrize(
    ("name", "generations"),
    [
        ("bronze_postcutoff_palindromes_FAIL", 5),
        ("bronze_precutoff_air_cownditioning_correct1", 2),
        ("bronze_precutoff_lemonade_correct1", 2),
        ("silver_precutoff_loan_repayment_SUCCESS", 4),
        ("silver_precutoff_rest_stops_FAIL", 6),
        ("silver_precutoff_rest_stops_SUCCESS2", 3),
    ],
)
def test_published_trajectories_count_their_python_fenced_turns(
    shared_data: Path, name: str, generations: int
) -> None:
    turns = json.loads((shared_data / "trajectories" / f"{name}.json").read_text(encoding="utf-8"))
    replies = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    assert sum("```python" in reply for reply in replies) == generations
    assert sum(counts_as_generation(reply, "python", Ended.COMPLETE) for reply in replies) == generations
    # Their programs all define functions; an excerpt of a few lines would not.
    codes = [extract_program(reply, "python").code for reply in replies]
    assert sum("def " in code for code in codes if code) == generations


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (f"Here:\n{fenced(PROGRAM)}Done.", "Here:\n\n\n*(left out)*\n\nDone."),
        (f"Use `x`: {fenced(PROGRAM)}", "Use `x`: \n\n*(left out)*\n\n"),
        (f"{fenced(PROGRAM, fence='~~~~')}\n```\n{PROGRAM}", "\n\n*(left out)*\n\n\n\n\n*(left out)*\n\n"),
        ("- So:\n  ```\n  a\n  ```\n", "- So:\n  \n\n  *(left out)*\n\n"),
        (f"<python>\n{PROGRAM}</python>", "<python>\n\n*(left out)*\n\n"),
        (PROGRAM, "\n\n*(left out)*\n\n\n"),
        ("Only `words`.", "Only `words`."),
    ],
)
def test_a_reply_without_its_blocks_has_its_words_and_no_program(reply: str, words: str) -> None:
    assert without_blocks(reply, "python") == words


def test_windows_line_ends_are_normalised_and_the_span_keeps_them() -> None:
    reply = fenced(PROGRAM).replace("\n", "\r\n")
    found = extract_program(reply, "python")
    assert found.code == PROGRAM
    assert reply[found.start : found.end] == PROGRAM.replace("\n", "\r\n")


def test_the_span_is_the_program_as_the_reply_writes_it() -> None:
    quoted = "> ```python\n> n = int(input())\n> print(n)\n> ```\n"
    found = extract_program(quoted, "python")
    assert quoted[found.start : found.end] == "> n = int(input())\n> print(n)\n"
    escaped = json.dumps({"code": PROGRAM})
    found = extract_program(escaped, "python")
    assert (found.code, escaped[found.start : found.end]) == (PROGRAM, "n = int(input())\\nprint(n + 1)\\n")
    followed = f"```python\n{PROGRAM}\nThis prints the number after the one read.\n"
    found = extract_program(followed, "python")
    assert followed[found.start : found.end] == found.code == PROGRAM


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("", Extraction(None, 0, 0, "no-block", 0)),
        ("Talk.", Extraction(None, 0, 0, "no-block", 0)),
        (fenced("3\n", ""), Extraction(None, 0, 0, "no-program", 0)),
        (f"<think>\n{fenced(PROGRAM)}", Extraction(None, 0, 0, "unclosed-reasoning", 0)),
        (fenced(PROGRAM), Extraction(PROGRAM, 10, 40, "tagged", 1)),
        (fenced(PROGRAM, ""), Extraction(PROGRAM, 4, 34, "untagged", 1)),
        (PROGRAM, Extraction(PROGRAM, 0, 29, "unfenced", 1)),
        (fenced(FRAGMENT), Extraction(FRAGMENT, 10, 27, "tagged-incomplete", 1)),
        (fenced("x = (\n"), Extraction("x = (\n", 10, 16, "tagged-unparsed", 1)),
        ("The final program:\n" + fenced(PROGRAM), Extraction(PROGRAM, 29, 59, "tagged-final", 1)),
    ],
)
def test_extraction_names_the_applied_rule(reply: str, found: Extraction) -> None:
    assert extract_program(reply, "python") == found


pieces = (
    st.sampled_from(
        [
            "```",
            "~~~",
            "`",
            "'''",
            '"""',
            "python",
            "cpp",
            "\n",
            "\r\n",
            "\r",
            " ",
            "\t",
            "> ",
            "- ",
            "```python\n",
        ]
    )
    | st.sampled_from(
        ["<think>", "</think>", "<|channel|>", "final", "<|message|>", "<code>", "</code>", "[PYTHON]"]
    )
    | st.sampled_from(
        ['{"code": "', '\\n"}', "\\ud800", "\\u0000", "/*", "*/", "&lt;", "\0", "\ud800", "\u2028", "é"]
    )
    | st.sampled_from(
        ["print(1)", "int main() {}", "x = (", "n = int(input())\n", "print(n)", "}", "{", "final"]
    )
    | st.text(max_size=8)
)
hostile = st.lists(pieces, max_size=40).map("".join)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@given(hostile, st.sampled_from(sorted(judge.FAMILIES)))
@example("```python\n" + "-" * 20_000 + "1\n```", "python")
@example("```python\nx = '\\d'\n```", "python")
def test_any_text_is_survived_and_the_span_lies_in_it(reply: str, language: str) -> None:
    found = extract_program(reply, language)
    counts = [counts_as_generation(reply, language, ended) for ended in Ended]
    without_blocks(reply, language)
    if found.code is None:
        assert (found.start, found.end, found.candidates) == (0, 0, 0)
        assert not any(counts)
    else:
        assert 0 <= found.start <= found.end <= len(reply)
        assert found.candidates >= 1
        assert found.code.strip()


texts = st.text(
    st.characters(exclude_characters="`~<>\r\ufeff\u200b", exclude_categories=["Cs"]), max_size=40
)


@pytest.mark.slow
@given(st.lists(texts, max_size=4), st.sampled_from(["```", "~~~", "`````"]), st.booleans())
def test_whatever_is_fenced_and_tagged_comes_back(strings: list[str], fence: str, windows: bool) -> None:
    lines = [f"line = {text!r}" for text in strings]
    code = "\n".join([*lines, "print(input())"])
    reply = f"Words.\n{fence}python\n{code}\n{fence}\nWords."
    found = extract_program(reply.replace("\n", "\r\n") if windows else reply, "python")
    assert normalised(found.code) == normalised(code)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid escape sequence", "ignore:.*is not callable")
@settings(max_examples=40)
@given(hostile, st.lists(pieces, min_size=1, max_size=4).map("".join), st.sampled_from(["python", "cpp"]))
@example("class Solution:\n'", "\\' ", "python")
@example("word ~~~", "`````<|im_end|><think>- ", "python")
@example("", "class A\n\n", "python")
def test_a_long_repetition_costs_linear_time(before: str, unit: str, language: str) -> None:
    reply = before + unit * (20_000 // max(1, len(unit)))
    started = time.process_time()
    extract_program(reply, language)
    assert time.process_time() - started < 10


HOSTILE = [
    "`" * 100_000,
    "```\n" * 25_000,
    "```python\n" * 10_000,
    "x```python " * 9_000,
    "</think>" * 12_500,
    "<think></think>" * 7_000,
    "<think>" * 14_000,
    "<|channel|>final" * 6_000,
    "<|im_end|>" * 10_000,
    "```python\nx=\n```\n" * 6_000,
    '```python\n"""\n```\n' * 6_000,
    "```python\n" + "(" * 100_000,
    "```python\n" + "it's so\n" * 12_000,
    "```cpp\nint main() {" + "{" * 100_000,
    "```cpp\nint main() {}\n" + "int x" * 20_000,
    "```cpp\n" + "/*" * 50_000,
    "> " * 50_000,
    "> ```python\n" * 9_000,
    "1. " * 33_000,
    "<code>" * 16_000,
    "<code>\n" + "&lt;" * 25_000,
    '"a": "' * 16_000,
    '{"a": "' + "\\n" * 50_000,
    "````markdown\n" * 8_000,
    "x = 1\n\n" * 14_000,
    "def f():\n  f()\n" * 6_000,
    "the final code, naive; " * 4_000,
    "word\n" * 20_000,
    "a(" * 50_000,
    "#" * 100_000,
    "__" * 50_000,
    "\\begin{lstlisting}" * 5_000,
    " " * 100_000,
    "\n" * 100_000,
    '"```\\' * 20_000,
]


@pytest.mark.slow
@pytest.mark.parametrize("reply", HOSTILE, ids=lambda reply: repr(reply[:20]))
@pytest.mark.parametrize("language", ["python", "cpp"])
def test_hostile_replies_cost_linear_time(reply: str, language: str) -> None:
    """Compare with a generous bound of CPU time, which a quadratic step over these texts exceeds many times."""
    started = time.process_time()
    extract_program(reply[:60_000], language)
    without_blocks(reply[:30_000], language)
    assert time.process_time() - started < 4
