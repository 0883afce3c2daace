"""README, docs and the words of the program.

The shown commands, variables, links, sections, paths and requirements exist, and no shipped text contains a phrase
that has a plain alternative.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.stack import REPOSITORY, Stack

DOCUMENTS = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
]
OTHER_PROGRAMS = {"cd", "git", "sudo"}
"""System programs in the documents; the tests parse only our own commands."""

SHIPPED = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "manage.py", "run", "test", "accounts", "benchmark", "benchmarks",
    "config", "deploy", "docs",
    "judge", "scripts", "static", "templates", "tutoring",
)  # fmt: skip
"""The files and folders with text that users or developers read. The tests themselves are not included."""

SHIPPED_SUFFIXES = {"", ".c", ".css", ".html", ".java", ".js", ".md", ".py", ".sh", ".toml", ".yaml"}
"""Text for people. The prompt templates are .txt files: paid replies are stored under their hashes."""

EXEMPT = {
    "benchmark/practice_problems": "the statements are sent to models, and stored runs depend on their hash",
    "benchmark/similarity/tagged_problems.yaml": "the problems are sent to models, and stored replies depend on them",
    "benchmark/textbook": "the chapters are sent to models, and stored runs depend on their hash",
    "benchmark/migrations": "a migration contains the help texts of its time",
    "tutoring/migrations": "a migration contains the help texts of its time",
}
"""Paths whose wording must not change, with the reason."""

PLAIN = {
    "anew": "again",
    "are away": "are unavailable",
    "are told": "receive, see",
    "as far as": "if, up to",
    "at hand": "available",
    "belong into": "belong in",
    "belongs into": "belongs in",
    "by lot": "at random",
    "carried on": "continued",
    "carries on": "continues",
    "carry on": "continue",
    "checking program": "output validator",
    "for good": "permanently",
    "go before": "override, precede",
    "goes before": "overrides, precedes",
    "had again": "reproduced",
    "hand out": "dispatch, distribute",
    "handed in": "submitted",
    "handed out": "dispatched, distributed",
    "hands in": "submits",
    "hands out": "dispatches, distributes",
    "hang on": "depend on",
    "hangs on": "depends on",
    "in the place of": "instead of",
    "is away": "is unavailable",
    "is told": "receives, sees",
    "it takes two": "two … are needed",
    "its turn": "its time slice, its position in the queue",
    "know no": "do not use, have no",
    "knows no": "does not use, has no",
    "knows nothing": "does not use, has no",
    "look after": "manage, track",
    "looks after": "manages, tracks",
    "nobody asked for": "unsolicited",
    "so many": "N, that number of",
    "so that nobody": "to prevent …",
    "so that none": "to prevent …",
    "stand beside": "be shown beside",
    "stands beside": "is shown beside",
    "the same again": "a repetition, Reproduce this run",
    "warm start": "fork server",
    "was told": "received, saw",
    "were told": "received, saw",
    "what it was told": "the feedback",
    "where that is known": "if known",
    "who asks": "the name of the caller",
    "whoever": "the name of the person or process",
    "without a word": "silently",
}
"""Phrases that a newcomer has to translate, with plain alternatives."""

_BETWEEN_WORDS = r"""(?:[\s#*/"']|[rf](?=["']))+"""
"""White space, a line break within a comment, or the border of two joined string literals."""

_PHRASES = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(_BETWEEN_WORDS.join(phrase.split()) for phrase in sorted(PLAIN, key=len, reverse=True))
    + r")(?![\w-])",
    re.IGNORECASE,
)


def shipped_texts(*roots: str) -> Iterator[tuple[str, str]]:
    """Yield the path, relative to the repository, and the text of every shipped file in `roots`, except `EXEMPT`."""
    for root in roots:
        path = REPOSITORY / root
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            name = file.relative_to(REPOSITORY).as_posix()
            is_exempt = any(f"{name}/".startswith(f"{exempt}/") for exempt in EXEMPT)
            if file.is_file() and file.suffix in SHIPPED_SUFFIXES and not is_exempt:
                yield name, file.read_text(encoding="utf-8")


def shown_commands(document: Path) -> Iterator[list[str]]:
    """Yield the words of each simple command in the document's console blocks."""
    for block in re.findall(r"^```console\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            assert line.startswith("$ "), f"{document.name}: a console block contains {line!r}"
            for simple in line[2:].split(" && "):
                words = shlex.split(simple.partition(" > ")[0])
                yield words


def without_variables(words: list[str]) -> tuple[dict[str, str], list[str]]:
    variables = {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words[0].partition("=")
        variables[name] = value
        words = words[1:]
    return variables, words


COMMANDS = [(document.name, words) for document in DOCUMENTS for words in shown_commands(document)]


def manage_words(words: list[str]) -> list[str] | None:
    _, words = without_variables(words)
    return words[2:] if words[:2] == [".venv/bin/python", "manage.py"] else None


@pytest.mark.parametrize(("document", "words"), COMMANDS, ids=lambda value: " ".join(value)[:60])
def test_a_shown_command_exists_and_takes_its_options(document: str, words: list[str]):
    variables, command = without_variables(words)
    assert variables.keys() <= documented_variables(), f"{document} sets an unknown variable"
    management = manage_words(words)
    if management is not None:
        name, *arguments = management
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(arguments)  # fails with the parser's message for an unknown option
    elif command[0] in ("./run", "./test", "scripts/lock"):
        assert os.access(REPOSITORY / command[0], os.X_OK)
    else:
        assert command[0] in OTHER_PROGRAMS or command[:3] == [".venv/bin/python", "-m", "uvicorn"], command


def documented_variables() -> set[str]:
    text = (REPOSITORY / "docs" / "operator.md").read_text()
    return set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))


def test_the_operators_table_lists_exactly_the_variables_that_are_read():
    read = set()
    for source in ("settings.py", "secret_key.py"):
        read |= set(re.findall(r"env_\w+\(\s*\"([A-Z_]+)\"", (REPOSITORY / "config" / source).read_text()))
    named = {"MODEL_ENDPOINT_NAME_URL", "MODEL_ENDPOINT_NAME_KEY"}
    assert documented_variables() == read - {"MODEL_ENDPOINT_"} | named


def anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a document."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE):
        found.append(re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-"))
    return {
        f"{anchor}-{found[:index].count(anchor)}" if anchor in found[:index] else anchor
        for index, anchor in enumerate(found)
    }


def test_every_local_link_leads_to_a_file_and_a_heading():
    with_heading = 0
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^):\s]+)\)", document.read_text()):
            name, _, anchor = target.partition("#")
            file = document.parent / name if name else document
            assert file.exists(), f"{document.name} links to {target}"
            if anchor:
                with_heading += 1
                assert anchor in anchors(file), f"{document.name} links to {target}"
    assert with_heading > 5


def test_every_section_of_the_specification_that_is_cited_exists():
    headings = re.findall(
        r"^#+ (\d+(?:\.\d+)?) ", (REPOSITORY / "docs" / "spec.md").read_text(), re.MULTILINE
    )
    files = [
        path
        for folder in ("benchmark", "config", "docs", "judge", "templates", "tests", "tutoring")
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in (".py", ".md", ".html")
    ]
    cited = {
        (section, path.name)
        for path in files
        for list_of in re.findall(
            r"docs/spec\.md ((?:\d+(?:\.\d+)?(?:, | and )?)+)", re.sub(r"\n\s*(?=\d)", "", path.read_text())
        )
        for section in re.findall(r"\d+(?:\.\d+)?", list_of)
    }
    assert len(cited) > 90
    assert not [one for one in cited if one[0] not in headings]


def test_every_path_in_the_documents_exists():
    """Check paths below a folder of the repository, every `….py`, and every `python -m benchmarks.…`."""
    folders = {path.name for path in REPOSITORY.iterdir() if path.is_dir()} - {"var"}
    missing = []
    for document in DOCUMENTS:
        text = document.read_text()
        named = set(re.findall(r"(?<![\w/.<>-])[\w-]+(?:/[\w-]+(?:\.\w+)?)+(?![\w<*{])", text))
        paths = {path for path in named if path.split("/")[0] in folders or path.endswith(".py")}
        paths |= {f"benchmarks/{name}.py" for name in re.findall(r"python -m benchmarks\.(\w+)", text)}
        missing += [f"{document.name}: {path}" for path in sorted(paths) if not (REPOSITORY / path).exists()]
    assert missing == []


def test_every_button_in_the_guides_is_on_a_page():
    """Check the bold labels of the guides that name buttons."""
    pages = "".join(path.read_text() for path in (REPOSITORY / "templates").rglob("*.html"))
    guides = [path for path in DOCUMENTS if path.name in ("README.md", "reviewer.md", "tutor.md")]
    labels = {
        " ".join(label.split())
        for path in guides
        for label in re.findall(r"\*\*([^*]+)\*\*", path.read_text())
    }
    assert len(labels) > 8
    assert sorted(label for label in labels if f">{label}" not in pages) == []


@pytest.mark.parametrize("root", SHIPPED)
def test_shipped_texts_use_plain_words(root: str):
    found = []
    for name, text in shipped_texts(root):
        for match in _PHRASES.finditer(text):
            phrase = " ".join(re.split(_BETWEEN_WORDS, match[0].lower()))
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: {phrase!r}; plain: {PLAIN[phrase]}")
    assert not found, "\n".join([f"{len(found)} phrases", *found])


def test_every_exempt_path_exists():
    assert [path for path in EXEMPT if not (REPOSITORY / path).exists()] == []


def test_no_shipped_text_cites_a_document_outside_of_the_repository():
    outside = re.compile(r"\.\./shared\b|\b(?:DESIGN|FRONTIER|METHODS|NAMES|STYLE)\.md\b")
    assert [name for name, text in shipped_texts(*SHIPPED) if outside.search(text)] == []


@pytest.mark.parametrize("requirements", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_has_its_reason(requirements: str):
    reasons = (REPOSITORY / "docs" / "decisions.md").read_text()
    for line in (REPOSITORY / requirements).read_text().splitlines():
        name = re.match(r"\w[\w-]*", line)
        if name:
            assert re.search(rf"^\|[^|]*\b{name[0]}\b", reasons, re.MULTILINE), f"no reason for {name[0]}"


def test_the_commands_of_the_readme_do_what_it_says(stack: Stack):
    """Run the first baseline as a newcomer types it, with the run's id instead of RUN."""
    shown = [words for name, words in COMMANDS if name == "README.md"]
    (baseline,) = [words[2:] for words in shown if "run_baseline" in words]
    (report,) = [words[2:] for words in shown if "report" in words]
    finished = stack.manage(*baseline)
    run = re.search(r"Run ([0-9a-f-]{36})", finished.stderr)
    assert run, finished.stderr
    printed = stack.manage(*(run[1] if word == "RUN" else word for word in report))
    assert "pass@1" in printed.stdout
