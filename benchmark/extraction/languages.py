"""The names that replies use for languages. Those of judged languages come from `judge.languages`."""

from __future__ import annotations

import re

from judge import FAMILIES, LANGUAGES, TAGS

_OTHER_NAMES = """
ada apl asm assembly awk bash bat c# cmake cmd cobol clojure console crystal cs csharp css csv cuda
d dart delphi diff docker dockerfile dosbatch elixir elm erlang f# fish fortran fsharp graphql
groovy haskell hs html http ini jinja jl json json5 jsonc jsonl jsx julia
latex lisp lua make makefile markdown mathematica matlab md mermaid nasm nim objc objectivec ocaml
octave pascal patch perl php pl powershell prolog ps1 pycon r racket rb regex rst ruby sass
scala scheme scss sed sh shell sql svg swift tcl tex toml ts tsv tsx typescript vb verilog vhdl xml
yaml yml zig zsh
"""
_OTHERS = frozenset(_OTHER_NAMES.split())
_OTHER_TAGS = """
ans answer code error example expected final in input log none out output plain plaintext program
pseudo pseudocode raw sample solution stderr stdin stdout terminal test text trace txt
"""
_KINDS_OF_BLOCK = frozenset(_OTHER_TAGS.split())
_FILE_NAME = re.compile(r"[\w./-]*\w\.([a-z+]{1,4})")
_WORD = re.compile(r"[{.\s]*(?:(?:language|lang|class)[-=:]\s*['\"]?)?([a-z][a-z+#-]*)")
_BEGINS_PROGRAM = re.compile(
    r"import\s+\w|from\s+[\w.]+\s+import\b|def\s+\w+\s*\(|fun\s+\w+\s*\(|(?:public\s+)?class\s+\w|package\s+\w"
    r"|#\s*include\b|using\s+namespace\b|int\s+main\b|[^\"']*\w\([^\"']*\)"
)


def family_of(language: str) -> str:
    """Return the name under which blocks are tagged: "python" for PyPy, "cpp" for every standard of C++."""
    return LANGUAGES[language].family.name if language in LANGUAGES else language


def tag_of(information: str) -> str:
    """Return the name of the family of languages that an info string names, or its first word.

    "Python3 title=x", "{.py}", "lang-python" and "main.py" give "python", "text" gives "text".
    """
    lowered = information.strip().lower()[:200]
    file_name = _FILE_NAME.match(lowered)
    if file_name and file_name[1] in TAGS:
        return TAGS[file_name[1]]
    word = _WORD.match(lowered)
    if not word:
        return lowered
    name = word[1].rstrip("-")
    return TAGS.get(name) or TAGS.get(name.split("-")[0]) or name


def is_tag(tag: str) -> bool:
    """Return whether `tag` names a language or a usual kind of block, so that a fence with it opens a block."""
    return tag in FAMILIES or tag in _OTHERS or tag in _KINDS_OF_BLOCK


def is_language(tag: str) -> bool:
    """Return whether `tag` names a programming, markup or data language."""
    return tag in FAMILIES or tag in _OTHERS


def is_judged(tag: str) -> bool:
    """Return whether `tag` names a language that programs are judged in."""
    return tag in FAMILIES


def names_language(word: str) -> bool:
    """Return whether a word alone, without a fence, names a judged language: "python" does, "go" and "rust" do not."""
    family = FAMILIES.get(tag_of(word))
    return family is not None and word.strip().lower() not in family.ambiguous_tags


def split_information(information: str) -> tuple[str, int]:
    """Return the tag of an info string and where program text begins in it: its length if there is none.

    Some replies put the first line of the program after the language: "python import sys".
    """
    tag = tag_of(information)
    first = re.match(r"[ \t]*\S+(?:[ ]\d+(?:\.\d+)*(?=\s))?\s*", information)
    if first and is_judged(tag) and _BEGINS_PROGRAM.match(information, first.end()):
        return tag, first.end()
    return tag, len(information)
