"""What became of a text, word by word, as safe HTML."""

import html
import re
from difflib import SequenceMatcher

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def text_diff(before: str, after: str) -> str:
    """The words of both texts in their order: <del> for those that went, <ins> for those that came.

    Browsers strike the ones through and underline the others, so that nothing depends on colour.
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
