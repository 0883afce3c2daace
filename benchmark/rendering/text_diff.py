"""Word differences between two texts, as safe HTML."""

import html
import re
from difflib import SequenceMatcher

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def text_diff(before: str, after: str) -> str:
    """Return the words of both texts in order, removed words in <del> and added words in <ins>.

    Browsers strike through and underline them, so no information depends on colour.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    pieces = []
    for kind, b, b_end, a, a_end in SequenceMatcher(None, old, new).get_opcodes():
        gone, come = (html.escape("".join(words)) for words in (old[b:b_end], new[a:a_end]))
        if kind == "equal":
            pieces.append(gone)
            continue
        pieces += [f"<del>{gone}</del>" if gone else "", f"<ins>{come}</ins>" if come else ""]
    return "".join(pieces)
