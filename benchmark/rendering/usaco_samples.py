"""Detection of samples in the text of a USACO statement, for problems without sample files.

A statement marks them with lines "SAMPLE INPUT:" and "SAMPLE OUTPUT:", sometimes with the first value on
the marker's own line. Explanations may follow an output directly, after a blank line, or under a heading.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

SECTION = re.compile(
    r"^(INPUT FORMAT|OUTPUT FORMAT|SAMPLE INPUT|SAMPLE OUTPUT|INPUT DETAILS|OUTPUT DETAILS|SCORING|PROBLEM NAME"
    r"|SUBTASKS?|NOTE)( \([^()]*\))?:[ \t]*(.*)$"
)
"""A line that begins a section of a statement: its name, a remark in parentheses, the rest of the line."""

_CREDITS = re.compile(r"^Problem credits?:")
_FORMULA = re.compile(r"\$[^$]+\$")
_SENTENCE_WORDS = 5


@dataclass(frozen=True)
class TextSample:
    """One sample as the statement prints it."""

    input: str
    output: str
    explanation: str
    input_lines: range
    output_lines: range
    doubtful: bool
    """Whether the output ends before a line that may be prose, so that a person should check it."""


def find_samples(statement: str) -> list[TextSample]:
    """Return the samples in the order of the text, ignoring markers without a counterpart. Never raises."""
    lines = statement.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    sections = [(number, match) for number, line in enumerate(lines) if (match := SECTION.match(line))]
    samples = []
    waiting: tuple[str, range] | None = None
    for index, (number, match) in enumerate(sections):
        end = sections[index + 1][0] if index + 1 < len(sections) else len(lines)
        if match[1] == "SAMPLE INPUT":
            region = _trim(lines, number, end, match[3])
            waiting = _text(lines, region, match[3]), region
        elif match[1] == "SAMPLE OUTPUT" and waiting is not None:
            region, rest, doubtful = _output_region(lines, number, end, match[3])
            explanation = _explanation(lines, range(rest, end))
            if (
                not explanation
                and index + 1 < len(sections)
                and sections[index + 1][1][1] == "OUTPUT DETAILS"
            ):
                after = sections[index + 2][0] if index + 2 < len(sections) else len(lines)
                explanation = _explanation(lines, range(end + 1, after))
            output = _text(lines, region, match[3])
            samples.append(TextSample(waiting[0], output, explanation, waiting[1], region, doubtful))
            waiting = None
    return samples


def _trim(lines: Sequence[str], marker: int, end: int, beside: str) -> range:
    """Return the lines after the marker without surrounding blank lines.

    Blank lines at the start remain if a value is on the marker's own line (`beside`).
    """
    start = marker + 1
    while not beside.strip() and start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return range(start, end)


def _output_region(lines: Sequence[str], marker: int, end: int, beside: str) -> tuple[range, int, bool]:
    """Return the output's lines, the start of the rest, and whether prose follows the output without a blank line."""
    region = _trim(lines, marker, end, beside)
    first = region.start if beside.strip() else region.start + 1
    for number in range(first, region.stop):
        if not lines[number].strip() or _CREDITS.match(lines[number]):
            return range(region.start, number), number, False
        if _is_sentence(lines[number]) and not (number > region.start and _is_wordy(lines[region.start])):
            return range(region.start, number), number, True
    return region, region.stop, False


def _is_sentence(line: str) -> bool:
    """Return whether a line looks like the start of an English explanation, not like program output."""
    return line[:1].isupper() and len(_words(line)) >= _SENTENCE_WORDS


def _is_wordy(line: str) -> bool:
    return len(_words(line)) > 1


def _words(line: str) -> list[str]:
    return re.findall(r"[A-Za-z$][\w$'^{}\\=+-]*", _FORMULA.sub("x", line))


def _text(lines: Sequence[str], region: range, beside: str) -> str:
    body = [lines[number].rstrip() for number in region]
    if beside.strip():
        body.insert(0, beside.strip())
    return "\n".join(body) + "\n"


def _explanation(lines: Sequence[str], region: range) -> str:
    kept = []
    for number in region:
        if _CREDITS.match(lines[number]):
            break
        kept.append(lines[number].rstrip())
    return "\n".join(kept).strip("\n")
