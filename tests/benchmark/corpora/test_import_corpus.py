"""manage.py import_corpus: afterwards the corpus is what its source is, and a second time changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Corpus
from benchmark.retrieval import article_corpus


def import_corpus(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    call_command("import_corpus", *map(str, arguments), "--json")
    return json.loads(capsys.readouterr().out)


def counts(result: dict[str, Any]) -> list[int]:
    return [result[name] for name in ("imported", "updated", "unchanged", "removed")]


def article(name: str, text: str = "Some text.") -> dict[str, str]:
    return {"title": name.title(), "article": "", "full_article": text, "path": f"{name}.md"}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A file of three articles."""
    path = tmp_path / "book.json"
    path.write_text(json.dumps([article("flows", "max flow min cut\r\n"), article("trees"), article("sums")]))
    return path


def test_the_real_textbook_is_imported_once(
    db: None, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = shared_data / "corpora" / "cpbook_v2.json"
    first = import_corpus(capsys, "cpbook", source)
    assert counts(first) == [163, 0, 0, 0]
    assert first["left_out"] == []
    again = import_corpus(capsys, "cpbook", source)
    assert counts(again) == [0, 0, 163, 0]
    assert again["content_hash"] == first["content_hash"]
    corpus = article_corpus(Corpus.objects.get(name="cpbook"))
    assert corpus.content_hash == first["content_hash"]
    assert corpus.documents[0].title == "Submask Enumeration"
    assert import_corpus(capsys, "cpbook-article", source)["imported"] == 163
    plain = article_corpus(Corpus.objects.get(name="cpbook-article"))
    shorter = [one.text != whole.text for one, whole in zip(plain.documents, corpus.documents, strict=True)]
    assert sum(shorter) == 111, "the others have no list of practice problems"


def test_a_changed_source_changes_the_corpus_and_nothing_more(
    db: None, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = import_corpus(capsys, "cpbook", book)
    flows = Corpus.objects.get().articles.get(external_id="flows.md")
    assert flows.text == "max flow min cut\n"
    book.write_text(json.dumps([article("flows", "max flow min cut"), article("sums"), article("paths")]))
    second = import_corpus(capsys, "cpbook", book)
    assert counts(second) == [1, 2, 0, 1]  # the order of "sums" changed
    assert second["content_hash"] != first["content_hash"]
    corpus = Corpus.objects.get()
    assert list(corpus.articles.values_list("external_id", flat=True)) == ["flows.md", "sums.md", "paths.md"]
    assert corpus.articles.get(external_id="flows.md").pk == flows.pk


def test_a_folder_of_markdown_files(db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "My Book"
    (folder / "graphs").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "graphs" / "flow.md").write_text(
        "---\ntags: x\ntitle: y\n---\n\n## Not this\n# Flows #\n\ntext\n"
    )
    (folder / "graphs" / "cut.md").write_text("no heading\n\n---\n\na rule is no front matter\n")
    (folder / "empty.md").write_text("---\ntags: x\n---\n")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    (folder / ".git" / "hidden.md").write_text("hidden")
    (folder / "picture.png").write_bytes(b"x")
    result = import_corpus(capsys, "markdown", folder)
    assert result["corpus"] == "my-book"
    assert {entry["id"]: entry["reason"].split(":")[0] for entry in result["left_out"]} == {
        "empty.md": "it has no text",
        "latin.md": "it cannot be read",
    }
    cut, flow = article_corpus(Corpus.objects.get()).documents
    assert (cut.id, cut.title) == ("graphs/cut.md", "cut")
    assert "front matter" in cut.text
    assert (flow.id, flow.title, flow.text) == ("graphs/flow.md", "Flows", "## Not this\n# Flows #\n\ntext")


def test_sections_of_the_handbook(db: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cp_handbook.json"
    section = {
        "chapter_title": "Sorting",
        "section_title": "Theory",
        "section_content": "\\emph{Sort}",
        "x": 1,
    }
    bad = [section, section | {"section_content": None}, section | {"section_title": "a\x00b"}, 7]
    path.write_text(json.dumps([section, *bad]))
    result = import_corpus(capsys, "cphandbook", path, "--corpus", "handbook")
    assert result["corpus"] == "handbook"
    assert [entry["reason"].split(",")[0] for entry in result["left_out"]] == [
        "another article of this source has the same identifier",
        "its chapter_title or section_title or section_content is not a string",
        "its identifier must be 1 to 300 printable characters",
        "its chapter_title or section_title or section_content is not a string",
    ]
    [document] = article_corpus(Corpus.objects.get(name="handbook")).documents
    assert (document.id, document.title) == ("Sorting/Theory", "Sorting: Theory")


@pytest.mark.parametrize("text", ["nul \0", "half \ud800", " \n"])
def test_a_text_that_no_database_takes_is_left_out(
    db: None, book: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    book.write_text(json.dumps([article("good"), article("bad", text)]))
    result = import_corpus(capsys, "cpbook", book)
    assert [entry["id"] for entry in result["left_out"]] == ["bad.md"]
    assert counts(result) == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("format_name", "content", "said"),
    [
        ("cpbook", "[{", "is not valid JSON"),
        ("cpbook", "{}", "must contain a JSON list, not a value of type object"),
        ("cpbook", '[{"title": "x"}]', "no entry has the keys title, full_article"),
        ("cphandbook", "[]", "no entry has the keys chapter_title"),
        ("cpbook", '[{"title": "x", "full_article": ""}]', "x: it has no text"),
        ("markdown", "# x", "is not a folder"),
    ],
)
def test_a_broken_source_is_refused_with_what_is_wrong(
    db: None, tmp_path: Path, format_name: str, content: str, said: str
) -> None:
    path = tmp_path / "source.json"
    path.write_text(content)
    with pytest.raises(CommandError, match="Nothing was imported") as raised:
        call_command("import_corpus", format_name, str(path), "--corpus", "x")
    assert said in str(raised.value)
    assert not Corpus.objects.exists()


def test_other_wrong_arguments_are_explained(db: None, book: Path, tmp_path: Path) -> None:
    call_command("import_corpus", "cpbook", str(book))
    (tmp_path / "a.md").write_text("text")
    (tmp_path / "none").mkdir()
    with pytest.raises(CommandError, match="contains articles of the format cpbook; choose another name"):
        call_command("import_corpus", "markdown", str(tmp_path), "--corpus", "cpbook")
    with pytest.raises(CommandError, match="only letters, digits, - and _"):
        call_command("import_corpus", "cpbook", str(book), "--corpus", "a b")
    with pytest.raises(CommandError, match="is not a file"):
        call_command("import_corpus", "cpbook", str(tmp_path / "none.json"))
    with pytest.raises(CommandError, match=r"contains no \.md file"):
        call_command("import_corpus", "markdown", str(tmp_path / "none"))
