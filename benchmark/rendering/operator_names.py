r"""Spacing beside function names in formulas: \log n, 2\max x.

Browsers set a name that is an identifier without any space, and one that is an operator with the space of an unknown
operator, even before a parenthesis. TeX puts a thin space between a name and a letter, number, fraction or other name
beside it, and none towards a parenthesis (The TeXbook, chapter 18).
"""

import re
from xml.etree.ElementTree import Element

THIN_SPACE = "0.167em"

_NAMES = {
    "arccos", "arcsin", "arctan", "arg", "argmax", "argmin", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim",
    "exp", "gcd", "hom", "inf", "ker", "lcm", "lg", "lim", "ln", "log", "max", "min", "Pr", "sec", "sin", "sinh",
    "sup", "tan", "tanh",
}  # fmt: skip
_WORDS = re.compile(r"(?!mod$)[A-Za-z]+[\u2006\u2009]?[A-Za-z]+")  # mod is a binary operator
_APPLICATION = "\u2061"  # the invisible operator that pandoc writes after a name
_ROWS = {"math", "mrow", "mstyle", "mtd", "msqrt", "menclose", "mphantom", "mpadded"}
_SCRIPTED = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
_CLOSING = set(")]}⌋⌉⟩!")


def space_operator_names(formula: Element) -> None:
    """Insert thin spaces into the rows of a formula, and remove the space that browsers add to names."""
    for row in [found for found in formula.iter() if found.tag in _ROWS and not _is_name(found)]:
        spaced: list[Element] = []
        for child in row:
            if spaced and _apart(spaced[-1], child):
                spaced.append(Element("mspace", width=THIN_SPACE))
            spaced.append(child)
        row[:] = spaced
    for name in [found for found in formula.iter("mo") if _is_name(found)]:
        name.attrib |= {"lspace": "0", "rspace": "0"}


def _apart(before: Element, after: Element) -> bool:
    if _is_name(before):
        return _is_name(after) or not _is_sign_or_space(after)
    return _is_name(after) and (before.text in _CLOSING or not _is_sign_or_space(before))


def _is_sign_or_space(element: Element) -> bool:
    return element.tag in ("mo", "mspace") or (element.tag == "mtext" and not (element.text or "").strip())


def _is_name(element: Element) -> bool:
    """Return whether the element is a function name, alone or with an index or exponent."""
    if element.tag in _SCRIPTED and len(element):
        return _is_name(element[0])
    if element.tag == "mrow" and len(element) == 2 and element[1].text == _APPLICATION:
        element = element[0]
        return element.tag == "mi" and _WORDS.fullmatch(element.text or "") is not None
    return (element.tag == "mi" and element.text in _NAMES) or (
        element.tag == "mo" and _WORDS.fullmatch(element.text or "") is not None
    )
