"""Differences between two versions of a program, as safe HTML."""

import html
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

CONTEXT = 3
"""Unchanged lines shown around a change. One row with their number replaces longer sequences."""

_KINDS = {"+": "added", "-": "removed", " ": ""}
_MARKS = {"+": "+", "-": "−", " ": ""}


class _Line(NamedTuple):
    mark: str
    before: int | None
    after: int | None
    text: str


def program_diff(before: str, after: str) -> str:
    """Return a <figure class="code diff"> with both line numbers, a mark (+ or −) and the text of each line.

    The marks are text, so no information depends on colour. Line ends and trailing spaces are ignored.
    """
    lines = list(_compared(_lines(before), _lines(after)))
    added = sum(line.mark == "+" for line in lines)
    removed = sum(line.mark == "-" for line in lines)
    if not added and not removed:
        return '<p class="note">The program did not change.</p>'
    summary = f"{_counted(added)} added, {_counted(removed)} removed"
    rows = "".join(_rows(lines))
    return (
        f'<figure class="code diff"><figcaption>{summary}</figcaption>'
        f'<div class="diff-lines" tabindex="0" role="group" aria-label="{summary}"><table>'
        f'<thead class="visually-hidden"><tr><th scope="col">Line before</th><th scope="col">Line after</th>'
        f'<th scope="col">Change</th><th scope="col">Text</th></tr></thead><tbody>{rows}</tbody></table></div></figure>'
    )


def _lines(program: str) -> list[str]:
    return [line.rstrip() for line in program.rstrip().splitlines()]


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _compared(before: list[str], after: list[str]) -> Iterator[_Line]:
    # autojunk stays on, because repetitive programs take quadratic time without it.
    for kind, b, b_end, a, a_end in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            for offset in range(b_end - b):
                yield _Line(" ", b + offset + 1, a + offset + 1, before[b + offset])
            continue
        for number in range(b, b_end):
            yield _Line("-", number + 1, None, before[number])
        for number in range(a, a_end):
            yield _Line("+", None, number + 1, after[number])


def _rows(lines: list[_Line]) -> Iterator[str]:
    changed = [number for number, line in enumerate(lines) if line.mark != " "]
    near = {
        number
        for change in changed
        for number in range(max(0, change - CONTEXT), min(len(lines), change + CONTEXT + 1))
    }
    folded = 0
    for number, line in enumerate(lines):
        if number not in near:
            folded += 1
            if number + 1 == len(lines) or number + 1 in near:
                yield f'<tr class="folded"><td colspan="4">{_counted(folded)} unchanged</td></tr>'
                folded = 0
            continue
        kind = f' class="{_KINDS[line.mark]}"' if line.mark != " " else ""
        yield (
            f'<tr{kind}><td class="line">{line.before or ""}</td><td class="line">{line.after or ""}</td>'
            f'<td class="mark">{_MARKS[line.mark]}</td><td class="text">{html.escape(line.text)}</td></tr>'
        )
