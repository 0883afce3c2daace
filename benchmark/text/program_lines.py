"""Detection of unmarked programs (C++, Java, Python, pseudo-code) in running text."""

import re
from collections.abc import Iterator, Sequence

_STRONG = re.compile(
    r"""\s*(?:
      \#\s*(?:include|define|ifdef|ifndef|endif|pragma|undef)\b
    | using\s+namespace\b | typedef\s | template\s*< | package\s+[\w.]+;
    | import\s+(?:static\s+)?[\w.*]+(?:\s+as\s+\w+|(?:\s*,\s*\w+)*)\s*;?\s*$ | from\s+[\w.]+\s+import\s
    | (?:public|private|protected|static|final)\s+[\w<>\[\],\ ]+.*[;{(),=]\s*(?://.*)?$
    | (?:class|struct|enum|interface)\s+\w+\s*(?:[^.;]*\{|(?:\([^)]*\))?\s*:)\s*$
    | def\s+\w+\s*\(.*\)[^.]*:\s*(?:\#.*)?$
    | //|/\*|\*/
    | [{}][\s})\];,]*(?:while\s*\(.*\);|else\b.*\{?)?\s*(?://.*)?$
    )""",
    re.VERBOSE,
)
"""Lines that hardly ever occur in prose."""

_LIKELY = re.compile(
    r"""\s*(?:
      (?:for|while|if|elif|else\s+if|switch)\b\s*\(.*\)\s*[{;:]?\s*(?:(?://|\#).*)?$
    | (?:for\s+[\w,\s()]+\s+in\s+.+|while\s+.+|if\s+.+|elif\s+.+|with\s+.+|else|try|except.*|finally)\s*:\s*(?:\#.*)?$
    | (?:\}\s*)?else\b\s*\{?\s*$
    | (?:return|break|continue|pass|yield|assert|print|raise|del|global)\b\s*[^.?!]*$
    | (?:[\w.:<>,*&]+\x20){0,2}[A-Za-z_][\w.:]*(?:[\[(][^=]*[\])])?(?:,\s*[A-Za-z_][\w.\[\]]*)*
      \s*(?:[-+*/|&^%]|<<|>>|//)?=(?!=)\s*\S.*
    | [A-Za-z_][\w.:<>\[\]]*\(.*\)\s*[;:{]?\s*(?:(?://|\#).*)?$
    | \#\s?[A-Za-z].*
    | .*[;{}]\s*(?://.*|/\*.*)?$
    )""",
    re.VERBOSE,
)
"""Lines that are code unless they read as English."""

_WORD = re.compile(r"(?<!\S)\(?([A-Za-z][a-z']+)[,.;:!?)]*(?!\S)")
_SHORT_WORDS = {"is", "of", "we", "it", "an", "at", "by", "on", "so", "as", "be", "up"}
_KEYWORDS = {
    "and", "or", "not", "in", "is", "for", "if", "else", "elif", "while", "return", "int", "long", "char", "bool",
    "double", "string", "void", "const", "auto", "static", "final", "new", "public", "private", "class", "struct",
    "import", "from", "def", "to", "do", "case", "break", "continue", "pass", "throws", "true", "false", "float",
    "unsigned", "using", "namespace", "std", "include", "print", "set", "vector", "with", "as", "range", "then",
    "procedure", "function", "begin", "end", "var", "each",
}  # fmt: skip
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//.*|/\*.*?\*/')
_QUOTES = re.compile(r'"""|\'\'\'')
_MAXIMUM_PROSE_INSIDE = 3
_MAXIMUM_LINE = 300


def find_programs(lines: Sequence[str], taken: Sequence[bool]) -> Iterator[range]:
    """Yield the line ranges of the programs in order, without blank lines at their ends.

    A line marked in `taken` is not part of a program and ends it.
    """
    number = 0
    while number < len(lines):
        if taken[number] or not _begins(lines, taken, number):
            number += 1
            continue
        end = _end(lines, taken, number)
        if _is_program(lines[number:end]):
            yield range(number, end)
            number = end
        else:
            number += 1


def _begins(lines: Sequence[str], taken: Sequence[bool], number: int) -> bool:
    line = lines[number]
    if not line.strip() or "$" in line or len(line) > _MAXIMUM_LINE:
        return False
    if _STRONG.match(line):
        return True
    if reads_as_english(line):
        return False
    before = lines[number - 1].rstrip() if number else ""
    if before and not taken[number - 1] and not before.endswith((":", "}")):
        return False  # the last, short line of a paragraph
    following = lines[number + 1].lstrip() if number + 1 < len(lines) else ""
    return bool(_LIKELY.match(line)) or following.startswith("{")


def _end(lines: Sequence[str], taken: Sequence[bool], start: int) -> int:
    """Return the line after the last line of the program that begins at `start`."""
    end = start
    depth = 0
    comment = quoted = False
    prose = 0
    number = start
    while number < len(lines) and not taken[number]:
        line = lines[number]
        if not line.strip():
            number += 1
            continue
        inside = comment or quoted or depth > 0
        code = is_code(line)
        if inside or code or _continues(lines, taken, number):
            prose = 0 if code or comment or quoted else prose + 1
            if prose > _MAXIMUM_PROSE_INSIDE and not (comment or quoted):
                break
            if prose == 0 or not reads_as_english(line):
                end = number + 1
        else:
            break
        comment, quoted, depth = _state_after(line, comment, quoted, depth)
        number += 1
    return end


def _state_after(line: str, comment: bool, quoted: bool, depth: int) -> tuple[bool, bool, int]:
    """Return whether a block comment and a triple-quoted string are open after the line, and the depth of braces."""
    if comment:
        return "*/" not in line, quoted, depth
    if len(_QUOTES.findall(line)) % 2:
        quoted = not quoted
    code = _STRING_OR_COMMENT.sub("", line)
    opened = "/*" in code
    code = code.split("/*")[0]
    return opened, quoted, max(0, depth + code.count("{") - code.count("}"))


def is_code(line: str) -> bool:
    """Return whether the line looks like code in one of the supported languages."""
    if len(line) > _MAXIMUM_LINE or ("$" in line and not line.rstrip().endswith((";", "{", "}"))):
        return False
    if _STRONG.match(line):
        return True
    indented = line.startswith(("  ", "\t"))
    return (indented or bool(_LIKELY.match(line))) and not reads_as_english(line)


def _continues(lines: Sequence[str], taken: Sequence[bool], number: int) -> bool:
    """Return whether an ambiguous line (a wrapped statement, a label, a name) directly precedes code."""
    if reads_as_english(lines[number]) or "$" in lines[number]:
        return False
    for following in range(number + 1, min(number + 3, len(lines))):
        if taken[following] or not lines[following].strip():
            return False
        if is_code(lines[following]):
            return True
    return False


def reads_as_english(line: str) -> bool:
    """Return whether most of the line is English outside strings and comments. Only its first characters are read."""
    line = line[:_MAXIMUM_LINE]
    bare = _STRING_OR_COMMENT.sub(" ", line) if not line.lstrip().startswith(("//", "/*", "#")) else ""
    bare = re.sub(r"#\s.*$", "", bare)
    if bare.rstrip().endswith(("{", "}")):
        return False
    found = [word.lower() for word in _WORD.findall(bare)]
    words = [word for word in found if (len(word) > 2 or word in _SHORT_WORDS) and word not in _KEYWORDS]
    tokens = bare.split()
    if bare.rstrip().endswith(";"):
        return len(words) >= 5 and len(words) * 2 >= len(tokens)
    return len(words) >= 3 and len(words) * 3 >= len(tokens)


def _is_program(lines: Sequence[str]) -> bool:
    """Return whether the lines are a program: two or more lines of code, or one that cannot be prose."""
    code = [line for line in lines if line.strip()]
    return len(code) >= 2 or bool(code and _STRONG.match(code[0]) and not code[0].lstrip().startswith("//"))


_SIGNS = {
    "cpp": re.compile(
        r"#\s*include|\bstd::|\bcin\b|\bcout\b|\bvector<|using namespace|->|\bscanf\(|\bprintf\(|&&|\bconst \w+ ?&"
        r"|\bll\b|\bint \w+[;=\[]|\bpair<|\bauto\b"
    ),
    "java": re.compile(
        r"\bimport java|\bpublic (?:static |class )|System\.(?:out|in)|\bArrayList<|\bnew \w+[<\[(]|\bString\b"
        r"|\bstatic \w+\b|\bfinal\b|\bInteger\b|\bboolean\b"
    ),
    "python": re.compile(
        r"(?m)^[ \t]*(?:def \w+\(.*\):|from \w+ import"
        r"|import (?:sys|math|heapq|bisect|collections|itertools)\b|elif .*:"
        r"|for .+ in .+:|while .+:\s*$|if .+:\s*$|else:\s*$|print\()|\blen\(|\bNone\b|\.append\(|\binput\(\)"
    ),
}


def guess_language(program: str) -> str:
    """Return "cpp", "java" or "python" by typical tokens, or "" if there are too few (pseudo-code, snippets)."""
    counts = {name: len(pattern.findall(program)) for name, pattern in _SIGNS.items()}
    if re.search(r"#\s*include", program):
        return "cpp"
    if re.search(r"\bimport java|public static void main", program):
        return "java"
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else ""
