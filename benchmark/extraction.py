"""Takes the program out of a model's reply (METHODS 0.2), and says whether a reply holds one at all.

Replies are untrusted: nothing here raises on any text, and the time is linear in its length.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from judge import LANGUAGES

# A reply's odd string escapes are its own business; without this Python 3.12 prints them on standard error.
warnings.filterwarnings("ignore", module="<reply>")

_TAGS = {
    "python": frozenset({"python", "py", "pypy", "cpython"}),
    "cpp": frozenset({"cpp", "c++", "cc", "cxx"}),
    "c": frozenset({"c"}),
    "java": frozenset({"java"}),
    "kotlin": frozenset({"kotlin", "kt"}),
}
_FENCE_WORDS = frozenset().union(*_TAGS.values())
_TAG = re.compile(r"[{.\s]*([a-z+#]+)")
_REASONING_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)


@dataclass(frozen=True)
class Extraction:
    """The program of a reply, where it stood, and why this one.

    `code` is None when there is none (verdict NO_CODE); `start` and `end` are then 0. Otherwise
    `reply[start:end]` is the code as written, before line ends and the fence's indentation were normalised.
    `candidates` counts the blocks the rule chose among.

    Rules of the mode `default`: `tagged`, `untagged`, `other-tag` (the class of block chosen from), with
    `-unparsed` when no block of the class parses; `no-block`; `unclosed-reasoning`. Of the mode `usaco`:
    `usaco-fence`, `usaco-whole-reply`.
    """

    code: str | None
    start: int
    end: int
    rule: str
    candidates: int


@dataclass(frozen=True)
class _Block:
    """A fenced block: `tag` is the language word of its fence ("" for none), `indent` the width of its indentation.

    With its fences it stands at `opening` to `closing`, without them at `start` to `end`.
    """

    tag: str
    code: str
    opening: int
    start: int
    end: int
    closing: int
    closed: bool
    indent: int


def extract_program(reply: str, language: str, mode: str = "default") -> Extraction:
    """The program in `reply`.

    `default`: reasoning is left out (`<think>…</think>`; everything before a closing tag without an opening
    one; a reply that ends inside its reasoning has no program). Of the fenced blocks those tagged with the
    language are preferred, else the untagged, else any; of these the last that parses wins (Python: its
    grammar; others: a `main`), else the last. An indented block that only quotes a few lines of the program, as
    models do in lists after it, wins only when no other block of the class parses.

    `usaco`: what the published code of the USACO benchmark does: from the first "```python" to the next
    fence, and the whole reply when there is none. For replays only.

    Raises ValueError for another mode, and for nothing in the reply.
    """
    if mode == "usaco":
        return _extract_as_usaco(reply)
    if mode != "default":
        raise ValueError(f"There is no extraction mode {mode!r}: use 'default' or 'usaco'.")
    visible = _without_reasoning(reply)
    if visible is None:
        return Extraction(None, 0, 0, "unclosed-reasoning", 0)
    language = _family(language)
    rule, blocks = _preferred(_fenced_blocks(visible), language)
    if not blocks:
        return Extraction(None, 0, 0, rule, 0)
    parsing = [block for block in blocks if _parses(block.code, language)]
    preferred = [block for block in parsing if not block.indent or _is_program(block.code, language)]
    block = (preferred or parsing or blocks)[-1]
    if not parsing:
        rule += "-unparsed"
    return Extraction(block.code, block.start, block.end, rule, len(blocks))


def contains_program(reply: str, language: str) -> bool:
    """Whether the reply counts as a generation of code; one with several programs still counts once.

    It does when, outside its reasoning, it holds one of
    * a closed block tagged with the language, even one with a syntax error: the published trajectories
      count every turn with a python fence, and a slip of the model is not a free generation;
    * any other fenced block (untagged, otherwise tagged, or cut off before its closing fence) that is a
      complete program: Python that parses and prints or writes something; others with a `main` and balanced
      braces. So a sample's output in a plain block costs nothing, and a reply stopped in the middle of its
      program costs nothing, but stopping it just before the closing fence does not make it free.
    """
    visible = _without_reasoning(reply)
    if visible is None:
        return False
    language = _family(language)
    return any(
        (block.closed and _has_language(block, language)) or _is_program(block.code, language)
        for block in _fenced_blocks(visible)
    )


def without_blocks(reply: str) -> str:
    """The reply with a paragraph in the place of each fenced block: its words, and no program."""
    pieces, done = [], 0
    for block in _fenced_blocks(reply):
        pieces += [reply[done : block.opening], f"\n\n{' ' * block.indent}*(left out)*\n\n"]
        done = block.closing
    return "".join([*pieces, reply[done:]])


def _extract_as_usaco(reply: str) -> Extraction:
    opening = reply.find("```python")
    if opening < 0:
        return Extraction(reply, 0, len(reply), "usaco-whole-reply", 0)
    start = opening + len("```python")
    closing = reply.find("```", start)
    end = closing if closing >= 0 else len(reply)
    return Extraction(reply[start:end], start, end, "usaco-fence", reply.count("```python"))


def _without_reasoning(reply: str) -> str | None:
    """The reply with its reasoning blanked, every character at its place; None when reasoning never ends."""
    hidden: list[tuple[int, int]] = []
    opened: int | None = None
    for tag in _REASONING_TAG.finditer(reply):
        if not tag[1]:
            opened = tag.start() if opened is None else opened
        elif opened is None:
            hidden = [(0, tag.end())]
        else:
            hidden.append((opened, tag.end()))
            opened = None
    if opened is not None:
        return None
    pieces: list[str] = []
    position = 0
    for start, end in hidden:
        # It ends with a line end, so that a fence right behind the tag stands at the start of a line.
        pieces += [reply[position:start], re.sub(r"[^\n]", " ", reply[start : end - 1]), "\n"]
        position = end
    return "".join([*pieces, reply[position:]])


def _fenced_blocks(text: str) -> list[_Block]:
    """The fenced blocks that hold anything, in order. A block without a closing fence ends at the next
    fence with an info string, or with the text."""
    blocks: list[_Block] = []
    opening: tuple[str, int, str] | None = None  # the fence, the width of its indentation, its tag
    opened = start = position = 0

    def end_block(end: int, after: int, closed: bool) -> None:
        if opening and text[start:end].strip():
            _, indent, tag = opening
            code = _dedent(text[start:end], indent)
            blocks.append(_Block(tag, code, opened, start, end, after, closed, indent))

    for line in text.split("\n"):
        after = min(position + len(line) + 1, len(text))
        found = _read_fence(line, inside=opening is not None)
        if found and opening and not found[0].startswith(opening[0]):
            found = None  # a shorter fence, or one of the other character, is content
        if found:
            closes = opening is not None and not found[2]
            end_block(position, after if closes else position, closes)
            opening = None if closes else (found[0], found[1], _tag(found[2]))
            behind_words = not line.lstrip().startswith(found[0])
            opened = position + (line.rindex(found[0]) if behind_words else line.index(found[0]))
            start = after
        position = after
    end_block(len(text), len(text), closed=False)
    return blocks


def _read_fence(line: str, inside: bool) -> tuple[str, int, str] | None:
    """The fence, indentation and info string of a fence line. Outside a block a fence may also follow other
    words ("Code: ```python"), when it ends the line with a language."""
    body = line.lstrip(" \t")
    if body.startswith(("```", "~~~")):
        information = body.lstrip(body[0])
        if body[0] == "~" or "`" not in information:
            return body[: len(body) - len(information)], len(line) - len(body), information.strip()
    if not inside and "```" in line:
        information = line[line.rindex("`") + 1 :].strip()
        if line.rstrip().endswith("```" + information) and _tag(information) in _FENCE_WORDS:
            return "```", 0, information
    return None


def _tag(information: str) -> str:
    """The language word of an info string, no version: "python3 title=x" and "{.python}" are python."""
    match = _TAG.match(information.lower())
    return match[1] if match else information


def _dedent(content: str, indent: int) -> str:
    """The content with plain line ends, less the indentation of its fence where every line has it."""
    lines = content.replace("\r\n", "\n").split("\n")
    if indent and all(not line[:indent].strip() for line in lines):
        lines = [line[indent:] for line in lines]
    return "\n".join(lines)


def _family(language: str) -> str:
    """What fences call the language: those of PyPy's programs say python."""
    return LANGUAGES[language].family if language in LANGUAGES else language


def _has_language(block: _Block, language: str) -> bool:
    return block.tag in _TAGS.get(language, {language})


def _preferred(blocks: list[_Block], language: str) -> tuple[str, list[_Block]]:
    classes = (
        ("tagged", [block for block in blocks if _has_language(block, language)]),
        ("untagged", [block for block in blocks if not block.tag]),
        ("other-tag", blocks),
    )
    return next(((rule, chosen) for rule, chosen in classes if chosen), ("no-block", []))


def _parse_python(code: str) -> ast.Module | None:
    try:
        return ast.parse(code, filename="<reply>")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: absurdly deep nesting
        return None


def _parses(code: str, language: str) -> bool:
    if language == "python":
        return _parse_python(code) is not None
    return language not in _TAGS or re.search(r"\bmain\b", code) is not None


def _is_program(code: str, language: str) -> bool:
    """Whether the code can be a whole program: it parses and, as every program must, can show a result."""
    if language == "python":
        tree = _parse_python(code)
        return tree is not None and any(_writes(node) for node in ast.walk(tree))
    return language in _TAGS and _parses(code, language) and code.count("{") == code.count("}") > 0


def _writes(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (isinstance(called, ast.Name) and called.id == "print") or (
        isinstance(called, ast.Attribute) and called.attr in ("write", "writelines")
    )
