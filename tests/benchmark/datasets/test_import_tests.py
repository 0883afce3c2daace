"""Import of official tests: zips, folders, invalid and malicious archives, and downloads."""

import io
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from benchmark.datasets import archives
from benchmark.datasets.downloads import USER_AGENT
from benchmark.models import Problem, TestCase
from tests.benchmark.datasets.test_usaco import problem, run, stored_tests, write

pytestmark = pytest.mark.django_db

LINK = "http://www.usaco.org/current/data/prob1_bronze_open23.zip"
SUM = "1_bronze_sum"
PAIRS = {"1.in": "1 2\r\n", "1.out": "3\r\n", "2.in": "5 5\n", "2.out": "10\n"}


def archive(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as content:
        for name, text in files.items():
            content.writestr(name, text)
    return buffer.getvalue()


def import_tests(folder: Path, *arguments: str) -> dict[str, Any]:
    output, error = StringIO(), ""
    try:
        call_command(
            "import_tests", "usaco", str(folder), "--json", *arguments, stdout=output, stderr=StringIO()
        )
    except CommandError as fault:
        error = str(fault)
    document: dict[str, Any] = json.loads(output.getvalue() or "{}")
    return document | ({"error": error} if error else {})


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Import a collection of one problem with its sample only."""
    (tmp_path / "collection").mkdir()
    path = write(tmp_path / "collection", {SUM: problem(test_data_link=LINK)})
    run(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "official"
    found.mkdir()
    return found


@pytest.mark.parametrize(
    "files",
    [
        PAIRS,
        {f"prob1/data/{name}": text for name, text in PAIRS.items()} | {"__MACOSX/prob1/._1.in": "x"},
        {"I.1": "1 2\n", "O.1": "3\n", "I.2": "5 5\n", "O.2": "10\n", "sol.java": "class A {}"},
    ],
)
def test_a_contest_archive_is_matched_by_its_link_and_imported_once(
    collection: Path, folder: Path, files: Mapping[str, str]
) -> None:
    before = Problem.objects.get().content_hash
    (folder / "nested").mkdir()
    (folder / "nested" / "prob1_bronze_open23.zip").write_bytes(archive(files))
    (folder / "README").write_text("Thanks.")
    (folder / "prob2_gold_jan99.zip").write_bytes(archive(files))
    document = import_tests(folder)
    assert document == {
        "updated": 1,
        "unchanged": 0,
        "unmatched": ["README", "prob2_gold_jan99.zip"],
        "left_out": [],
        "notes": [],
        "problems": 1,
        "with_hidden_tests": 1,
    }
    tests = [("1", "sample", b"1 2\n", b"3\n"), ("2", "hidden", b"5 5\n", b"10\n")]
    assert stored_tests(SUM) == tests
    stored = Problem.objects.get()
    assert (stored.samples_only, stored.content_hash != before) == (False, True)
    rows = set(TestCase.objects.values_list("pk", flat=True))
    assert import_tests(folder)["unchanged"] == 1
    assert set(TestCase.objects.values_list("pk", flat=True)) == rows

    again = run(collection)
    assert (again["unchanged"], again["updated"]) == (1, 0), "an import without tests keeps those there are"
    assert stored_tests(SUM) == tests


def test_the_hash_is_that_of_an_import_with_these_tests(collection: Path, folder: Path) -> None:
    own = folder / "tests" / SUM
    own.mkdir(parents=True)
    for name, text in PAIRS.items():
        (own / name).write_bytes(text.encode())
    assert import_tests(folder)["updated"] == 1
    assert run(collection, f"--tests={folder / 'tests'}")["unchanged"] == 1
    changed = write(collection.parent, {SUM: problem(test_data_link=LINK, name="Sums")})
    assert run(changed)["updated"] == 1
    assert (Problem.objects.get().title, len(stored_tests(SUM))) == ("Sums", 2)


def test_links_and_announced_numbers_reach_problems_that_were_imported_before_they_were_kept(
    collection: Path,
) -> None:
    hashed = Problem.objects.get().content_hash
    Problem.objects.update(test_data_link="", tests_announced=None)
    assert run(collection)["updated"] == 1
    stored = Problem.objects.get()
    assert (stored.test_data_link, stored.tests_announced, stored.content_hash) == (LINK, 2, hashed)
    assert run(collection)["unchanged"] == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (archive({"1.in": "1\n", "2.in": "1\n", "2.out": "1\n", "4.out": "1\n"}),
         "test 1 has no answer, test 3 has no input and no answer, test 4 has no input"),
        (archive({"a/1.in": "1\n", "a/1.out": "1\n", "b/1.in": "1\n", "b/1.out": "1\n"}),
         "it contains tests in several folders: a, b"),
        (archive({"notes.txt": "soon"}), "it contains no test"),
        (archive({"1.in": "1\n", "1.out": "1\n", "999999.in": "1\n"}), "numbered up to 999999, but there are fewer"),
        (archive({"../../1.in": "1\n", "../../1.out": "1\n"}), "which would be written outside its folder"),
        (b"<!DOCTYPE html><p>Not found", "cannot be unpacked"),
        (archive({"1.in": b"0" * 3_000_000, "1.out": "1\n"}), "would unpack to more than"),
    ],
    ids=["pairs", "folders", "no-test", "numbers", "outside", "no-zip", "too-large"],
)  # fmt: skip
def test_an_archive_that_cannot_be_used_is_named_and_changes_nothing(
    collection: Path, folder: Path, content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAXIMUM_RATIO", 100)
    monkeypatch.setattr(archives, "_ANY_RATIO", 0)
    before = stored_tests(SUM)
    (folder / "prob1_bronze_open23.zip").write_bytes(content)
    document = import_tests(folder)
    [entry] = document["left_out"]
    assert entry["file"] == "prob1_bronze_open23.zip"
    assert reason in entry["reason"]
    assert str(folder) not in entry["reason"]
    assert "Nothing was imported" in document["error"]
    assert stored_tests(SUM) == before


def test_a_shared_link_serves_both_and_other_numbers_and_second_sources_are_told(
    tmp_path: Path, folder: Path
) -> None:
    both: dict[str, dict[str, Any]] = {
        "1_silver_road": {"problem_level": "silver"},
        "2_gold_road": {"num_tests": 9},
    }
    run(write(tmp_path, {name: problem(test_data_link=LINK, **changes) for name, changes in both.items()}))
    for name in ("prob1_bronze_open23.zip", "2_gold_road.zip"):
        (folder / name).write_bytes(archive(PAIRS))
    (folder / "3_gold_unknown").mkdir()
    (folder / "3_gold_unknown" / "1.in").write_text("1\n")
    document = import_tests(folder)
    assert (document["updated"], document["unmatched"]) == (2, ["3_gold_unknown/"])
    assert document["left_out"] == [
        {
            "file": "prob1_bronze_open23.zip",
            "reason": "usaco/2_gold_road already has its tests from 2_gold_road.zip",
        }
    ]
    assert document["notes"] == [
        {"id": "usaco/2_gold_road", "note": "2 tests; the problem's record announces 9"}
    ]


def test_the_real_collection_names_an_archive_for_every_problem(
    shared_data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmark.datasets.store.render", lambda *_: "")  # tests do not depend on the HTML
    run(shared_data / "usaco" / "usaco_dict.json")
    links = set(Problem.objects.values_list("test_data_link", flat=True))
    assert len(links) == 476
    for link in links:
        (folder / link.rpartition("/")[2]).write_bytes(archive(PAIRS))
    document = import_tests(folder)
    assert (document["updated"], document["with_hidden_tests"], document["unmatched"]) == (484, 484, [])
    assert len(document["notes"]) == 484, "none announces two tests"


def test_without_problems_or_a_folder_the_command_says_what_to_do(tmp_path: Path, collection: Path) -> None:
    assert "is not a folder" in import_tests(tmp_path / "nowhere")["error"]
    assert "Import the collection first" in import_tests(tmp_path, "--dataset", "other")["error"]
    Problem.objects.update(test_data_link="")
    assert "Import the collection again" in import_tests(tmp_path, "--download")["error"]


def test_the_list_of_problems_says_how_many_have_hidden_tests(
    collection: Path, folder: Path, admin_client: Client
) -> None:
    assert "1 problem, 0 with hidden tests" in admin_client.get("/problems/").content.decode()
    (folder / f"{SUM}.zip").write_bytes(archive(PAIRS | {"3.in": "1\n", "3.out": "1\n"}))
    assert import_tests(folder)["with_hidden_tests"] == 1
    page = admin_client.get("/problems/").content.decode()
    assert "1 problem, 1 with hidden tests" in page
    assert '2<span class="narrow-label"> hidden tests</span></td>' in page


class Server:
    """A local server of archives that records the requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.short: set[str] = set()
        self.status: dict[str, int] = {}
        self.redirects: dict[str, str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            def do_HEAD(self) -> None:
                self._answer()

            def _answer(self) -> None:
                outer.asked.append((self.command, self.path, self.headers["User-Agent"]))
                content = outer.files.get(self.path, b"")
                status = outer.status.get(self.path, 200 if self.path in outer.files else 404)
                if target := outer.redirects.get(self.path):
                    self.send_response(302)
                    self.send_header("Location", target)
                else:
                    self.send_response(status)
                self.send_header("Content-Type", "text/html" if content[:1] == b"<" else "application/zip")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(content[: len(content) // 2] if self.path in outer.short else content)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def link(self, name: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/data/{name}"


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


def test_a_download_fetches_what_is_missing_and_goes_on_where_it_stopped(
    tmp_path: Path, folder: Path, server: Server
) -> None:
    names = {f"{letter}_gold_x": f"{letter}.zip" for letter in "abcde"}
    links = {identifier: server.link(name) for identifier, name in names.items()} | {
        "f_gold_x": "file:///etc/hostname.zip", "g_gold_x": server.link("get.php"), "h_gold_x": "",
    }  # fmt: skip
    run(write(tmp_path, {identifier: problem(test_data_link=link) for identifier, link in links.items()}))
    server.files = {
        "/data/a.zip": archive(PAIRS), "/data/b.zip": b"<html>Login</html>", "/data/c.zip": archive(PAIRS),
        "/data/e.zip": archive(PAIRS),
    }  # fmt: skip
    server.short = {"/data/c.zip"}
    errors = StringIO()
    with pytest.raises(CommandError, match="could not be downloaded"):
        call_command(
            "import_tests",
            "usaco",
            str(folder),
            "--download",
            "--pause",
            "0",
            stdout=StringIO(),
            stderr=errors,
        )
    assert "5 archives to download, 0.0 MiB and 1 of unknown size" in errors.getvalue()
    assert {agent for _, _, agent in server.asked} == {USER_AGENT}
    assert "hintbench" in USER_AGENT
    assert [command for command, _, _ in server.asked[:5]] == ["HEAD"] * 5, "all sizes come first"
    assert sorted(path.name for path in folder.iterdir()) == ["a.zip"], "nothing half-written stays"

    server.asked.clear()
    server.short.clear()
    server.files |= {"/data/b.zip": archive(PAIRS)}
    document = import_tests(folder, "--download", "--pause", "0")
    assert [path for command, path, _ in server.asked if command == "GET"] == [
        f"/data/{letter}.zip" for letter in "bcde"
    ]
    assert document["download"] == {
        "fetched": 3,
        "not_fetched": 1,
        "without_link": 2,
        "failed": [
            {"link": server.link("get.php"), "reason": "'get.php' is not the name of a zip archive"},
            {"link": server.link("d.zip"), "reason": "HTTP 404 Not Found"},
        ],
    }
    assert (document["updated"], document["unchanged"], document["with_hidden_tests"]) == (3, 1, 4)
    assert "2 archives could not be downloaded" in document["error"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"files": {"/data/a.zip": b"<html>Login</html>"}}, "is not a zip archive (text/html, 18 bytes)"),
        ({"files": {"/data/a.zip": archive(PAIRS)}, "short": {"/data/a.zip"}}, "the transfer"),
        ({"status": {"/data/a.zip": 503}}, "the server requests a pause: HTTP 503"),
        ({"status": {"/data/a.zip": 500}}, "HTTP 500"),
        ({"redirects": {"/data/a.zip": "file:///etc/passwd"}}, "file:///etc/passwd"),
        ({"redirects": {"/data/a.zip": "ftp://127.0.0.1/a.zip"}}, "unknown url type: ftp"),
    ],
)
def test_what_is_no_archive_is_refused_with_its_reason(
    tmp_path: Path, folder: Path, server: Server, change: dict[str, Any], reason: str
) -> None:
    run(write(tmp_path, {"a_gold_x": problem(test_data_link=server.link("a.zip"))}))
    vars(server).update(change)
    document = import_tests(folder, "--download", "--pause", "0")
    [failed] = document["download"]["failed"]
    assert reason in failed["reason"]
    assert list(folder.iterdir()) == []


def test_downloads_stop_after_three_refusals(tmp_path: Path, folder: Path, server: Server) -> None:
    run(write(tmp_path, {f"{n}_gold_x": problem(test_data_link=server.link(f"{n}.zip")) for n in range(9)}))
    document = import_tests(folder, "--download", "--pause", "0")
    assert len(document["download"]["failed"]) == 3
    assert sum(command == "GET" for command, _, _ in server.asked) == 3
