"""README and docs: the commands they show exist with their options, and the variables they list are all there are."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.stack import REPOSITORY, Stack

DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
OTHER_PROGRAMS = {"git", "sudo", "sqlite3", "tar"}
"""Programs of the system that the documents show; ours are tried out."""


def shown_commands(document: Path) -> Iterator[list[str]]:
    """The words of every command in the document's console blocks, one list a simple command."""
    for block in re.findall(r"^```console\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            assert line.startswith("$ "), f"{document.name}: a console block holds {line!r}"
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
    assert variables.keys() <= documented_variables(), f"{document} sets a variable that nobody reads"
    management = manage_words(words)
    if management is not None:
        name, *arguments = management
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        parser.parse_args(arguments)  # ends the test with the parser's message when an option is unknown
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
    assert documented_variables() == read


def test_every_local_link_leads_to_a_file():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


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


def test_every_requirement_has_its_reason():
    reasons = (REPOSITORY / "docs" / "decisions.md").read_text()
    for line in (REPOSITORY / "requirements.txt").read_text().splitlines():
        name = re.match(r"[\w-]+", line)
        if name:
            assert re.search(rf"^\|[^|]*\b{name[0]}\b", reasons, re.MULTILINE), f"no reason for {name[0]}"


def test_the_commands_of_the_readme_do_what_it_says(stack: Stack):
    """The first baseline as a newcomer types it, with the number of the run in the place of RUN."""
    shown = [words for name, words in COMMANDS if name == "README.md"]
    (baseline,) = [words[2:] for words in shown if "run_baseline" in words]
    (report,) = [words[2:] for words in shown if "report" in words]
    finished = stack.manage(*baseline)
    run = re.search(r"Run ([0-9a-f-]{36})", finished.stderr)
    assert run, finished.stderr
    told = stack.manage(*(run[1] if word == "RUN" else word for word in report))
    assert "pass@1" in told.stdout
