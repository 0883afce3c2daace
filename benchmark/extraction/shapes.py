"""Programs without a fence: between tags, in JSON, in running text."""

from __future__ import annotations

import bisect
import functools
import html
import json
import re
from collections.abc import Iterator, Sequence

from benchmark.extraction.blocks import CodeBlock, fenced_blocks, without_indentation
from benchmark.extraction.languages import is_judged, tag_of
from benchmark.text.program_lines import find_programs
from benchmark.text.storable import storable
from judge import FAMILIES

_TAGS = (
    r"code|pre|source|syntaxhighlight|program|solution|answer|result|final|final_answer|final_code"
    r"|python3|py|c\+\+"
)


@functools.cache
def _mark(families: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the tags around programs. A family's name of one letter is not a tag."""
    names = "|".join(re.escape(name) for name in families if len(name) > 1)
    return re.compile(
        rf"<(?P<close1>/?)(?P<name1>{_TAGS}|{names})(?P<options1>(?:\s[^<>\n]*)?)>"
        rf"|\[(?P<close2>/?)(?P<name2>CODE|C\+\+|{names})(?P<options2>=\w+)?\]"
        r"|\\(?:begin|(?P<close3>end))\{(?P<name3>lstlisting|verbatim|minted)\}"
        r"(?P<options3>(?:\[[^\]\n]*\])?(?:\{[^}\n]*\})?)"
        r"|@{3,}(?P<name4>CODE)@(?:BEGINS|(?P<close4>ENDS))@{3,}"
        r"|<!\[(?P<name5>CDATA)\[|(?P<close6>\]\]>)",
        re.IGNORECASE,
    )


_LANGUAGE_OPTION = re.compile(
    r"(?:lang(?:uage)?[-=]|class=|^=)\s*['\"]?\s*(?:language-|lang-)?([a-z+]+)", re.IGNORECASE
)
_VALUE = re.compile(
    r"""(?P<quote>["'])(?P<key>[\w -]{1,60})(?P=quote)\s{0,20}:\s{0,20}(?:
        \"{3}(?P<raw>.*?)\"{3}
      | "(?P<double>(?!"")(?:[^"\\]|\\.)*+)(?:"|$)
      | '(?P<single>(?!'')(?:[^'\\]|\\.)*+)(?:'|$)
    )""",
    re.DOTALL | re.VERBOSE,
)
_LONGEST_LINE = 500
_WRAPPER = re.compile(r"\s*(?:</?[a-zA-Z][\w-]*(?:\s[^<>]*)?>|[\w-]+:\s*[|>][-+]?|`{1,2}\w*|-{3,}|={3,})\s*$")
"""A line around a program: a tag, the key of a block in YAML, a broken fence, a rule."""

_HTML = re.compile(r"&(?:lt|gt|amp|quot|#39);")


def unfenced_blocks(text: str, fenced: Sequence[CodeBlock], language: str) -> list[CodeBlock]:
    """Return the programs between tags and in JSON values, with their positions in `text`."""
    return [*_between_tags(text, fenced), *_in_json(text, fenced, language)]


def running_blocks(text: str, blocks: Sequence[CodeBlock]) -> Iterator[CodeBlock]:
    """Yield the possible programs outside `blocks`: the text between two blocks, and the lines of code in it."""
    start = 0
    for end, following in [*((block.opening, block.closing) for block in blocks), (len(text), len(text))]:
        if start < end:
            yield from _in_stretch(text, start, end)
        start = max(start, following)


def _in_stretch(text: str, start: int, end: int) -> Iterator[CodeBlock]:
    stretch = text[start:end]
    if not stretch.strip():
        return
    lines = re.split(r"(?<=\n)", stretch)
    yield _block(text, start, end, form="text")
    starts = [start]
    for line in lines:
        starts.append(starts[-1] + len(line))
    bare = [line.rstrip("\r\n") for line in lines]
    for found in find_programs(
        bare, [len(line) > _LONGEST_LINE or bool(_WRAPPER.match(line)) for line in bare]
    ):
        if "".join(bare[: found.start] + bare[found.stop :]).strip():
            yield _block(text, starts[found.start], starts[found.stop], form="lines")


def _block(
    text: str, start: int, end: int, *, tag: str = "", form: str = "tag", closing: int = 0
) -> CodeBlock:
    """Return the block without the blank lines around it. HTML escapes of a block between tags are undone."""
    content = text[start:end]
    first = re.match(r"(?:[ \t]*(?:\r\n|\r|\n))*", content)
    inside = content[first.end() if first else 0 :].rstrip()
    code = html.unescape(inside) if form == "tag" and _HTML.search(inside) else inside
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = end - len(content) + (first.end() if first else 0)
    return CodeBlock(
        tag=tag,
        code="\n".join(without_indentation(lines)) + "\n",
        opening=start,
        start=at,
        end=at + len(inside),
        closing=closing or end,
        closed=bool(closing),
        form=form,
    )


def _between_tags(text: str, fenced: Sequence[CodeBlock]) -> Iterator[CodeBlock]:
    """Yield the text between an opening tag and its closing tag or the end of the text, if it has no fence."""
    if not any(sign in text for sign in ("<", "[", "\\", "@@@")):
        return
    fences = _Spans(fenced)
    opened: tuple[str, str, int] | None = None
    for mark in _mark(tuple(FAMILIES)).finditer(text):
        if fences.hold(mark.start()) or text[mark.start() - 1 : mark.start()] == "`":
            continue
        name, options, closes = _read_mark(mark)
        if not closes:
            # The innermost of nested tags (<pre><code>) counts.
            opened = name, _tag(name, options), mark.end()
        elif opened and opened[0] == name:
            if _is_worth_it(text[opened[2] : mark.start()]) and not fences.between(opened[2], mark.start()):
                yield _block(text, opened[2], mark.start(), tag=opened[1], closing=mark.end())
            opened = None
    if (
        opened
        and re.match(r"[ \t]*\r?\n\s*\S", text[opened[2] :][:200])
        and not fences.between(opened[2], len(text))
    ):
        yield _block(text, opened[2], len(text), tag=opened[1])


def _is_worth_it(content: str) -> bool:
    """Return whether the text between tags is more than words of a sentence."""
    return bool(content.strip()) and ("\n" in content or "(" in content)


def _read_mark(mark: re.Match[str]) -> tuple[str, str, bool]:
    """Return the name of a tag in lower case, its attributes, and whether it is a closing tag."""
    found = {key[:-1]: value for key, value in mark.groupdict().items() if value}
    return found.get("name", "cdata").lower(), found.get("options", ""), "close" in found


def _tag(name: str, attributes: str) -> str:
    named = _LANGUAGE_OPTION.search(attributes) or re.search(
        r"[{\[]([a-z+]+)[}\]]", attributes, re.IGNORECASE
    )
    tag = tag_of(named[1] if named else name)
    return tag if is_judged(tag) or named else ""


def _in_json(text: str, fenced: Sequence[CodeBlock], language: str) -> Iterator[CodeBlock]:
    """Yield the strings in JSON objects or Python dictionaries that contain a program or fenced blocks."""
    programs = _Spans([block for block in fenced if is_judged(block.tag)])
    for found in _VALUE.finditer(text):
        value = _string_in(found)
        if programs.hold(found.start()) or ("\n" not in value.strip() and "(" not in value):
            continue
        key = tag_of(found["key"])
        place = next(name for name in ("raw", "double", "single") if found[name] is not None)
        inner = fenced_blocks(value, language) or [
            CodeBlock(key if is_judged(key) else "", value.strip("\n") + "\n", 0, 0, 0, 0, True)
        ]
        for block in inner:
            yield CodeBlock(
                tag=block.tag,
                code=block.code,
                opening=found.start(place),
                start=found.start(place),
                end=found.end(place),
                closing=found.end(),
                closed=block.closed and found.end(place) < found.end(),
                form="json",
            )


def _string_in(found: re.Match[str]) -> str:
    """Return the unescaped value, or "" if an escape is invalid."""
    if found["raw"] is not None:
        return found["raw"]
    quoted = found["double"] if found["double"] is not None else found["single"]
    if found["double"] is None:
        quoted = quoted.replace("\\'", "'").replace('"', '\\"')
    try:
        return storable(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        return ""


class _Spans:
    """Lookup of positions in ordered blocks."""

    def __init__(self, blocks: Sequence[CodeBlock]) -> None:
        self._starts = [block.opening for block in blocks]
        self._ends = [block.closing for block in blocks]

    def hold(self, position: int) -> bool:
        at = bisect.bisect_right(self._starts, position) - 1
        return at >= 0 and position < self._ends[at]

    def between(self, start: int, end: int) -> bool:
        return bisect.bisect_left(self._starts, start) < bisect.bisect_left(self._starts, end)
