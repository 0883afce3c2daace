"""Masking of the parts of programs that a model could recognize: names, numbers, strings and comments.

The structure remains: keywords, operators and library calls. A model that benefits from masked programs uses their
idea; a model that only memorized the published program does not recognize it (docs/spec.md 1.3, ablation axes).
"""

import builtins
import keyword
import re

_PARTS = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/|\#(?!\s*(?:include|define|if|endif|pragma)\b)[^\n]*)
      | (?P<line>^[ \t]*(?:\#|import\b|from\b|using\b|package\b)[^\n]*)
      | (?P<text>\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<number>\b\d[\w.]*)
      | (?P<member>(?:\.|::|->)\s*[A-Za-z_]\w*)
      | (?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_LIBRARIES = """
alignas auto bool break case catch char class const constexpr continue default delete do double else enum explicit
extends extern final finally float for goto if implements import inline instanceof int interface long main namespace
new nullptr null operator package private protected public register return short signed sizeof static struct super
switch synchronized template this throw throws true false try typedef typename union unsigned using virtual void
volatile while String Integer Long Math System Arrays Collections ArrayList HashMap HashSet TreeMap TreeSet Scanner
BufferedReader PrintWriter StringTokenizer std string vector map set pair queue stack deque multiset priority_queue
unordered_map unordered_set bitset array tuple cin cout endl scanf printf sort min max swap abs make_pair push_back
size begin end first second lower_bound upper_bound memset sys math collections heapq bisect itertools defaultdict
Counter
"""
_KNOWN = frozenset({*keyword.kwlist, *dir(builtins), *re.findall(r"\w+", _LIBRARIES)})


def mask(program: str) -> str:
    """Return the program with numbered names, numbers replaced by 0, empty strings and no comments.

    Handles Python, C++ and Java by heuristics. The result is for reading and may not run.
    """
    numbers: dict[str, str] = {}

    def masked(match: re.Match[str]) -> str:
        text = match[0]
        match match.lastgroup:
            case "comment":
                return ""
            case "text":
                return '""'
            case "number":
                return "0"
            case "name" if text not in _KNOWN:
                return numbers.setdefault(text, f"name{len(numbers) + 1}")
        return text

    lines = _PARTS.sub(masked, program).split("\n")
    return "\n".join(line.rstrip() for line in lines if line.strip())
