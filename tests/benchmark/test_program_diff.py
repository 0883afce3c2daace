"""The diff of two programs: what is marked, what is folded, and that nothing escapes as HTML."""

import re

from hypothesis import given
from hypothesis import strategies as st

from benchmark.rendering import program_diff

_ROW = re.compile(
    r'<td class="line">(\d*)</td><td class="line">(\d*)</td><td class="mark">(.?)</td><td class="text">(.*?)</td>'
)


def test_changes_carry_marks_and_both_line_numbers() -> None:
    page = program_diff("a = 1\nb = 2\nprint(a)\n", "a = 1\nb = 3\nprint(a)\nprint(b)\n")
    assert _ROW.findall(page) == [
        ("1", "1", "", "a = 1"),
        ("2", "", "−", "b = 2"),
        ("", "2", "+", "b = 3"),
        ("3", "3", "", "print(a)"),
        ("", "4", "+", "print(b)"),
    ]
    assert "<figcaption>2 lines added, 1 line removed</figcaption>" in page


def test_long_unchanged_stretches_are_folded_and_counted() -> None:
    lines = [f"line {number}" for number in range(20)]
    page = program_diff("\n".join(lines), "\n".join([*lines[:10], "new", *lines[10:]]))
    assert len(_ROW.findall(page)) == 7
    assert page.count("7 lines unchanged") == 2


def test_blanks_at_line_ends_are_no_change() -> None:
    assert "did not change" in program_diff("a\r\nb  \r\n\r\n", "a\nb")


def test_programs_are_text_not_markup() -> None:
    page = program_diff("", "<script>alert(1)</script> & x")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; x" in page


@given(
    st.lists(st.sampled_from(["a", "b", " c"]), max_size=12),
    st.lists(st.sampled_from(["a", "b"]), max_size=12),
)
def test_each_version_can_be_read_back_from_what_is_shown(before: list[str], after: list[str]) -> None:
    page = program_diff("\n".join(before), "\n".join(after))
    if before != after:
        rows = _ROW.findall(page)
        folded = sum(map(int, re.findall(r"(\d+) lines? unchanged", page)))
        assert sum(mark != "+" for *_, mark, _ in rows) + folded == len(before)
        assert sum(mark != "−" for *_, mark, _ in rows) + folded == len(after)
        for number_before, number_after, _, text in rows:
            assert not number_before or before[int(number_before) - 1] == text
            assert not number_after or after[int(number_after) - 1] == text
