"""Extraction of the program from a model's reply (docs/spec.md 0.2), and of whether the reply is a generation.

Replies are untrusted: no function raises on any text, and the time is linear in its length.

* `reasoning` blanks everything outside the answer.
* `blocks` finds fenced blocks, `shapes` programs that are marked in other ways.
* `completeness` rates how complete each program is, `wording` reads the statements about it in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from benchmark.extraction.blocks import CodeBlock, fenced_blocks
from benchmark.extraction.completeness import PROGRAMS, Assessment, Completeness, assess
from benchmark.extraction.languages import family_of, is_language
from benchmark.extraction.reasoning import visible_text
from benchmark.extraction.shapes import running_blocks, unfenced_blocks
from benchmark.extraction.wording import Mark, mark_of, marks_by_number

MODES = ("default", "usaco", "icpc-eval")


class Ended(StrEnum):
    """The way a reply ended: by itself, at the token limit, by the tutor's stop, or by a failure of the call."""

    COMPLETE = "complete"
    LENGTH = "length"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class Extraction:
    """The program of a reply, its position, and the rule that chose it.

    `code` is None if there is none (verdict NO_CODE); `start` and `end` are then 0. Otherwise `reply[start:end]`
    is the program in the form of the reply, with block quote marks or the escapes of a JSON string.
    `candidates` counts the pieces of text that the rule chose among.

    Rules of the mode `default`: `tagged`, `untagged` and `unfenced` name the kind of block; `-final` means that the
    text calls the program final, `-incomplete` that it is only part of a program, `-unparsed` that it does not
    parse. Without a program: `no-block`, `no-program` (blocks, but none with a program of the language),
    `unclosed-reasoning`. Rules of the mode `usaco`: `usaco-fence`, `usaco-whole-reply`. Rows written by former
    versions also have `other-tag`.
    """

    code: str | None
    start: int
    end: int
    rule: str
    candidates: int


@dataclass(frozen=True)
class CandidateProgram:
    """A section of a reply that may be its program.

    `kind` is "tagged" (with the language), "untagged" (or with a word that names no language), "other-language" or
    "unfenced". The program is at `start` to `end` in the reply.
    """

    block: CodeBlock
    kind: str
    assessment: Assessment
    level: Completeness
    mark: Mark
    start: int
    end: int

    @property
    def eligible(self) -> bool:
        """Return whether the candidate can be chosen. Parts of programs count only in a block of the language."""
        match self.kind:
            case "tagged":
                return True
            case "untagged" if self.block.form != "fence" and self.block.code.count("\n") == 1:
                return (
                    self.level >= Completeness.FUNCTIONAL
                )  # a line between tags or in JSON may be a mere mention
            case "untagged":
                return self.level >= Completeness.DEFINITIONS
            case "unfenced":
                return self.level in PROGRAMS and (
                    self.block.form == "text" or self.level >= Completeness.FUNCTIONAL
                )
        return False

    @property
    def rule(self) -> str:
        """Return the name of the rule that chooses this candidate."""
        if self.level in (Completeness.NO_CODE, Completeness.BROKEN_PART, Completeness.BROKEN):
            return f"{self.kind}-unparsed"
        if self.level not in PROGRAMS:
            return f"{self.kind}-incomplete"
        return f"{self.kind}-final" if self.mark is Mark.FINAL else self.kind

    @property
    def rank(self) -> tuple[int, int, int, bool, int]:
        """Return the preference: complete programs, then those that the text calls final, tagged ones, the last one."""
        whole = self.level >= Completeness.FUNCTIONAL
        return (
            min(self.level, Completeness.FUNCTIONAL),
            self.mark if whole or self.level is Completeness.PRINTS else 0,
            self.level,
            self.kind == "tagged",
            self.block.start,
        )


def extract_program(reply: str, language: str, mode: str = "default") -> Extraction:
    """Return the program in `reply`.

    `default`: reasoning is ignored. A complete program is preferred to a part of one; among complete programs the
    one that the text calls final, then those tagged with the language, then the last. Blocks tagged with another
    language are never chosen, and other blocks only if they contain a program.

    `usaco`: the rule of the USACO benchmark's published code, from the first "```python" to the next
    fence, or the whole reply if either is missing. For replays only.

    `icpc-eval`: the rule of ICPC-Eval's published code, the last block after the reasoning that is opened by a fence
    without a tag or with the tag "cpp" (docs/spec.md 0.2).

    Raises ValueError for another mode. No reply raises an exception.
    """
    if mode == "usaco":
        return _extract_as_usaco(reply)
    if mode == "icpc-eval":
        return _extract_as_icpc_eval(reply)
    if mode != "default":
        raise ValueError(f"There is no extraction mode {mode!r}: use {' or '.join(map(repr, MODES))}.")
    candidates = find_candidates(reply, language)
    if candidates is None:
        return Extraction(None, 0, 0, "unclosed-reasoning", 0)
    chosen = choose(candidates)
    if chosen is None:
        return Extraction(None, 0, 0, "no-program" if candidates else "no-block", 0)
    eligible = sum(candidate.eligible for candidate in candidates)
    return Extraction(chosen.assessment.code, chosen.start, chosen.end, chosen.rule, eligible)


def counts_as_generation(reply: str, language: str, ended: Ended) -> bool:
    """Return whether the reply counts as a generation of code; one with several programs still counts once.

    A reply that ended by itself or at the token limit counts if it contains, outside its reasoning, a block tagged with
    the language, closed or not, or a complete program in any other form. A reply that the tutor stopped counts if
    its text contains a complete program. A reply that failed does not count.
    """
    if ended is Ended.FAILED:
        return False
    return any(
        candidate.eligible
        and (candidate.level in PROGRAMS or (candidate.kind == "tagged" and ended is not Ended.STOPPED))
        for candidate in find_candidates(reply, language) or ()
    )


def choose(candidates: Sequence[CandidateProgram]) -> CandidateProgram | None:
    """Return the candidate that is the program of the reply, or None."""
    return max(
        (candidate for candidate in candidates if candidate.eligible),
        key=lambda candidate: candidate.rank,
        default=None,
    )


@lru_cache(maxsize=4)  # callers ask for the program, then whether the reply is a generation
def find_candidates(reply: str, language: str) -> tuple[CandidateProgram, ...] | None:
    """Return the candidates of the reply in order, or None if the whole reply is reasoning.

    Running text is searched only if no block contains a complete program.
    """
    text = visible_text(reply)
    if text is None:
        return None
    family = family_of(language)
    fenced = fenced_blocks(text, family)
    blocks = sorted([*fenced, *unfenced_blocks(text, fenced, family)], key=lambda block: block.opening)
    if family == "python" and fenced and _begins_docstring(text, fenced[0]) and (whole := _whole_reply(text)):
        return tuple(whole)
    candidates = _assess_all(text, blocks, family)
    # Every program calls a function, so text without a parenthesis contains none.
    if "(" in text and not any(one.eligible and one.level >= Completeness.FUNCTIONAL for one in candidates):
        running = list(running_blocks(text, blocks))
        candidates += [one for one in _assess_all(text, running, family, unfenced=True) if one.eligible]
    return tuple(candidates)


def without_blocks(reply: str, language: str) -> str:
    """Return the reply without programs: an empty paragraph replaces each block and each program."""
    fenced = fenced_blocks(reply, family_of(language))
    blocks = [*fenced, *unfenced_blocks(reply, fenced, family_of(language))]
    running = running_blocks(reply, sorted(blocks, key=lambda block: block.opening))
    for one in _assess_all(reply, list(running), family_of(language), unfenced=True):
        if one.eligible:
            blocks.append(replace(one.block, opening=one.start, closing=one.end))
    pieces, done = [], 0
    for block in sorted(blocks, key=lambda block: block.opening):
        if block.opening >= done:
            pieces += [reply[done : block.opening], f"\n\n{' ' * block.indent}*(left out)*\n\n"]
        done = max(done, block.closing)
    return "".join([*pieces, reply[done:]])


def _extract_as_usaco(reply: str) -> Extraction:
    opening = reply.find("```python")
    start = opening + len("```python")
    closing = reply.find("```", start)
    if opening < 0 or closing < 0:
        return Extraction(reply, 0, len(reply), "usaco-whole-reply", 0)
    return Extraction(reply[start:closing], start, closing, "usaco-fence", reply.count("```python"))


_ICPC_EVAL_BLOCK = re.compile(r"```(?:cpp)?\n(.*?)```", re.DOTALL)


def _extract_as_icpc_eval(reply: str) -> Extraction:
    blocks = list(_ICPC_EVAL_BLOCK.finditer(reply, reply.rfind("</think>") + 1))
    if not blocks:
        return Extraction(None, 0, 0, "no-block", 0)
    return Extraction(blocks[-1][1], *blocks[-1].span(1), "icpc-eval-fence", len(blocks))


def _begins_docstring(text: str, fence: CodeBlock) -> bool:
    """Return whether a multi-line string begins before the fence."""
    return any(text.find(quotes, 0, fence.opening) >= 0 for quotes in ('"""', "'''"))


def _whole_reply(text: str) -> list[CandidateProgram]:
    """Return the text as the only candidate if all of it is a program, whose fences are then inside docstrings."""
    everything = [block for block in running_blocks(text, []) if block.form == "text"]
    return [
        one
        for one in _assess_all(text, everything, "python", unfenced=True)
        if one.level is Completeness.COMPLETE and one.assessment.code == one.block.code
    ]


def _assess_all(
    text: str, blocks: list[CodeBlock], language: str, unfenced: bool = False
) -> list[CandidateProgram]:
    kinds = ["unfenced" if unfenced else _kind(block, language) for block in blocks]
    assessments = [
        Assessment(block.code, Completeness.NO_CODE)
        if kind == "other-language"
        else assess(block.code, language)
        for block, kind in zip(blocks, kinds, strict=True)
    ]
    defined = frozenset().union(*(assessment.defines for assessment in assessments))
    levels = [_level_among(assessment, defined) for assessment in assessments]
    longest = max(
        (
            _lines_of(one.code)
            for one, level in zip(assessments, levels, strict=True)
            if level is Completeness.COMPLETE
        ),
        key=len,
        default=set(),
    )
    edges = [0, *(block.closing for block in blocks)], [*(block.opening for block in blocks), len(text)]
    between = [text[start:end] for start, end in zip(*edges, strict=True)]
    candidates = []
    for at, (block, assessment) in enumerate(zip(blocks, assessments, strict=True)):
        before = between[at].replace("_", " ") if block.form == "json" else between[at]
        code = assessment.code
        lines = assessment.skipped + code.count("\n")
        candidates.append(
            CandidateProgram(
                block=block,
                kind=kinds[at],
                assessment=assessment,
                level=min(levels[at], Completeness.PART) if _is_excerpt(code, longest) else levels[at],
                mark=mark_of(before, code, between[at + 1]),
                start=_line_start(text, block, assessment.skipped),
                end=block.end if code == block.code else _line_start(text, block, lines),
            )
        )
    wholes = [
        at for at, one in enumerate(candidates) if one.eligible and one.level >= Completeness.FUNCTIONAL
    ]
    if len(wholes) > 1:
        for number, mark in marks_by_number("\n".join(between)).items():
            if number < len(wholes):
                candidates[wholes[number]] = replace(candidates[wholes[number]], mark=mark)
    return candidates


def _kind(block: CodeBlock, language: str) -> str:
    if block.tag == language:
        return "tagged"
    return "other-language" if is_language(block.tag) else "untagged"


def _level_among(assessment: Assessment, defined: frozenset[str]) -> Completeness:
    """Return the level of code that may use names which only another block of the reply defines."""
    if assessment.uses.isdisjoint(defined):
        return assessment.level
    if assessment.level is Completeness.COMPLETE:
        return Completeness.UNSTARTED
    return Completeness.PART if assessment.level is Completeness.PRINTS else assessment.level


def _line_start(text: str, block: CodeBlock, number: int) -> int:
    """Return the position in the text where line `number` of the block begins (from 0), or where the block ends."""
    position = block.start
    for _ in range(number):
        position = text.find("\n", position, block.end) + 1 or block.end
    return position


def _is_excerpt(code: str, whole: set[str]) -> bool:
    """Return whether the program consists of lines of a program that has more than twice as many."""
    lines = _lines_of(code)
    return 2 * len(lines) < len(whole) and lines <= whole


def _lines_of(code: str) -> set[str]:
    return {line.strip() for line in code.split("\n") if line.strip()}
