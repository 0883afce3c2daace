"""LaTeX formulas: conversion to MathML and detection in running text."""

import html
import re
from functools import lru_cache
from xml.etree.ElementTree import Element, SubElement, tostring

from latex2mathml.converter import convert_to_element

from benchmark.rendering.operator_names import space_operator_names

MAXIMUM_FORMULA = 3000
"""Characters; a longer "formula" is text with a stray dollar sign."""

_MAXIMUM_DEPTH = 60

# Browsers ignore mathvariant="script" and similar values (MathML Core), so the letters are replaced.
_ALPHABETS = {
    "script": (0x1D49C, 0x1D4B6, None),
    "bold-script": (0x1D4D0, 0x1D4EA, None),
    "fraktur": (0x1D504, 0x1D51E, None),
    "double-struck": (0x1D538, 0x1D552, 0x1D7D8),
    "bold": (0x1D400, 0x1D41A, 0x1D7CE),
    "bold-italic": (0x1D468, 0x1D482, None),
    "italic": (0x1D434, 0x1D44E, None),
    "sans-serif": (0x1D5A0, 0x1D5BA, 0x1D7E2),
    "monospace": (0x1D670, 0x1D68A, 0x1D7F6),
}
# Letters that Unicode encodes outside the mathematical alphabets.
_EARLIER = {
    0x1D455: "ℎ", 0x1D49D: "ℬ", 0x1D4A0: "ℰ", 0x1D4A1: "ℱ", 0x1D4A3: "ℋ", 0x1D4A4: "ℐ", 0x1D4A7: "ℒ",
    0x1D4A8: "ℳ", 0x1D4AD: "ℛ", 0x1D4BA: "ℯ", 0x1D4BC: "ℊ", 0x1D4C4: "ℴ", 0x1D506: "ℭ", 0x1D50B: "ℌ",
    0x1D50C: "ℑ", 0x1D515: "ℜ", 0x1D51D: "ℨ", 0x1D53A: "ℂ", 0x1D53F: "ℍ", 0x1D545: "ℕ", 0x1D547: "ℙ",
    0x1D548: "ℚ", 0x1D549: "ℝ", 0x1D551: "ℤ",
}  # fmt: skip
_CODE_POINT = re.compile(r"&#x([0-9A-Fa-f]{1,5});")  # how the converter writes a sign
_UNESCAPED_SPECIAL = re.compile(r"(?<!\\)((?:\\\\)*)([%#])")


@lru_cache(maxsize=4096)
def formula(latex: str, display: bool) -> str:
    """Return the formula as MathML with its source as annotation, or as code if it cannot be parsed."""
    mathml = _convert(latex, display)
    if mathml is None:
        return f'<code class="math-source">{html.escape(latex.strip())}</code>'
    return f'<span class="math-display">{mathml}</span>' if display else mathml


def _convert(latex: str, display: bool) -> str | None:
    if len(latex) > MAXIMUM_FORMULA or _depth(latex) > _MAXIMUM_DEPTH:
        return None
    try:
        return _mathml(_UNESCAPED_SPECIAL.sub(r"\1\\\2", latex), display, latex.strip())
    except Exception:  # noqa: BLE001  (the converter raises many exception types for invalid formulas)
        return None


def _mathml(latex: str, display: bool, source: str) -> str:
    tree: Element = convert_to_element(latex, display="block" if display else "inline")
    for element in tree.iter():
        element.text = _CODE_POINT.sub(lambda match: chr(int(match[1], 16)), element.text or "")
        _write_alphabet_out(element)
    space_operator_names(tree)
    content = list(tree)
    tree[:] = []
    semantics = SubElement(tree, "semantics")
    semantics.extend(content)
    SubElement(semantics, "annotation", encoding="application/x-tex").text = source
    return tostring(tree, encoding="unicode", short_empty_elements=False)


def _depth(latex: str) -> int:
    depth = deepest = 0
    for character in latex:
        if character == "{":
            depth += 1
            deepest = max(deepest, depth)
        elif character == "}":
            depth -= 1
    return deepest


def _write_alphabet_out(element: Element) -> None:
    alphabet = _ALPHABETS.get(element.get("mathvariant", ""))
    if alphabet is None:
        return
    del element.attrib["mathvariant"]
    upper, lower, digit = alphabet
    letters = []
    for character in element.text or "":
        if "A" <= character <= "Z":
            code = upper + ord(character) - ord("A")
        elif "a" <= character <= "z":
            code = lower + ord(character) - ord("a")
        elif digit is not None and "0" <= character <= "9":
            code = digit + ord(character) - ord("0")
        else:
            letters.append(character)
            continue
        letters.append(_EARLIER.get(code, chr(code)))
    element.text = "".join(letters)


def formula_at(text: str, position: int) -> tuple[str, bool, int] | None:
    r"""Return the formula that opens at `position` with $, $$, \( or \[ as (LaTeX, display, position after it).

    A single dollar sign opens a formula only if neither it nor the closing one can be a price: no space
    inside at either end, no digit before the opening or after the closing one.
    """
    for opening, closing, display in (("$$", "$$", True), ("\\(", "\\)", False), ("\\[", "\\]", True)):
        if text.startswith(opening, position):
            start = position + 2
            end = text.find(closing, start, start + MAXIMUM_FORMULA)
            content = text[start:end]
            if end < 0 or not content.strip() or "\n\n" in content:
                return None
            return content, display, end + 2
    if not text.startswith("$", position) or (position and text[position - 1].isdigit()):
        return None
    start = position + 1
    end = text.find("$", start, start + MAXIMUM_FORMULA)
    while end > 0 and text[end - 1] == "\\":
        end = text.find("$", end + 1, start + MAXIMUM_FORMULA)
    content = text[start:end]
    if end < 0 or not content or content[0].isspace() or content[-1].isspace() or "\n\n" in content:
        return None
    if text[end + 1 : end + 2].isdigit():
        return None
    return content, False, end + 1
