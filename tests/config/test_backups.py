"""Backups: `manage.py backup` and `manage.py restore` on SQLite and PostgreSQL."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from unittest.mock import patch

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.actions import give_roles
from accounts.models import PseudonymSalt
from accounts.roles import Role
from benchmark.blob_stores import Bucket
from benchmark.models import Backup, Problem, Process, blobs
from config.backups import newest_backup, verify
from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import add_database, cached_folder
from tests.postgres import Postgres
from tests.problems import store_doubling
from tests.s3 import BUCKET, S3Server
from tests.stack import HANG, RunProgram
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest, start
from tutoring.models import Protocol, Session, Withdrawal, WithdrawnSession
from tutoring.withdrawal import withdraw_consent

pytestmark = pytest.mark.slow

KEY = "k" * 60


class Site:
    """An installation: its folder and its database, SQLite's without a URL. Functions run in a process of its own.

    `bucket` has its blobs, on the server of the variables; without it they are in the folder.
    """

    def __init__(
        self,
        var: Path,
        database: str = "",
        bucket: Bucket | None = None,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.var = var
        self.database = database
        self._bucket = bucket
        self._variables = dict(variables)

    def run(self, function: Callable[..., None], *arguments: object) -> None:
        """Call the function in a process of this installation."""
        place = (self.var, self.database, self._bucket, self._variables)
        run_apart(in_site, place, function, *arguments)

    def backup(self, folder: Path, *options: str) -> Path:
        """Write a backup and return its folder."""
        self.run(command, folder.parent / "output", "backup", str(folder), *options)
        return newest_backup(folder)

    def restore(self, folder: Path, *options: str) -> str:
        """Restore a backup and return the output of the command."""
        output = folder.parent / f"{folder.name}.output"
        self.run(command, output, "restore", str(folder), *options)
        return output.read_text()

    def refuse(self, folder: Path, *options: str, because: str) -> None:
        """Assert that a backup is not restored, for this reason, and that the folder has no new file."""
        before = files_in(self.var)
        self.run(refused, because, "restore", str(folder), *options)
        assert files_in(self.var) == before

    def export(self) -> str:
        """Return all sessions and problems as the exports write them."""
        path = self.var / "export"
        self.run(write_export, path)
        text = path.read_text()
        path.unlink()
        return text


def in_site(
    place: tuple[Path, str, Bucket | None, dict[str, str]], function: Callable[..., None], *arguments: object
) -> None:
    var, database, bucket, variables = place
    use_var(var, database)
    if bucket:
        settings.BLOBS, settings.BLOBS_CACHE = bucket, var / "blobs-cache"
    os.environ.update(variables)
    function(*arguments)


def command(output: Path, *words: str) -> None:
    out = io.StringIO()
    call_command(*words, stdout=out)
    output.write_text(out.getvalue())


def refused(because: str, *words: str) -> None:
    with pytest.raises(CommandError, match=because):
        call_command(*words)


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the files by name, without those that SQLite makes while a database is open."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not re.search(r"-(wal|shm)$|run\.lock$", path.name)
    }


def write_export(path: Path) -> None:
    out = io.StringIO()
    call_command("export_trajectories", stdout=out)
    rows = [blobs.read(digest).decode() for digest in blobs.digests()]
    path.write_text(out.getvalue() + json.dumps(rows))


def fill() -> None:
    """Store an account with a login, two sessions, blobs, a text model and a secret key."""
    alice = User.objects.create_user("alice", password="alice")
    give_roles(alice, [Role.TUTOR])
    problem = store_doubling()
    protocol = Protocol.objects.get(name="usaco-2024")
    for name, program in (("openai:a", WRONG), ("openai:b", RIGHT)):
        session = SessionUnderTest(start(alice, problem, protocol, name), alice)
        session.ask_and_get(program)
    blobs.put(b"a blob")
    Client().force_login(alice)
    settings.TEXT_MODEL.write_bytes(b"a text model")
    (settings.VAR / "secret_key").write_text(KEY)


def add_session() -> None:
    blobs.put(b"a later blob")
    protocol = Protocol.objects.get(name="usaco-2024")
    start(User.objects.get(username="alice"), Problem.objects.get(), protocol, "openai:later")


@pytest.fixture
def sqlite(tmp_path: Path) -> Site:
    """An installation with data, on SQLite."""
    (tmp_path / "site").mkdir()
    filled = cached_folder("backed-up", lambda var: Site(add_database(var)).run(fill))
    shutil.copytree(filled, tmp_path / "site", dirs_exist_ok=True)
    return Site(tmp_path / "site")


@pytest.fixture(params=["sqlite", "postgres"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Site, Callable[[], Site]]]:
    """An installation with data, and a function that makes an empty one with the same kind of database."""
    empty = iter(range(9))

    def new_folder() -> Path:
        folder = tmp_path / f"new-{next(empty)}"
        folder.mkdir()
        return folder

    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite"), lambda: Site(new_folder())
        return
    server: Postgres = request.getfixturevalue("postgres")
    (tmp_path / "site").mkdir()
    filled = Site(tmp_path / "site", server.new_database())
    filled.run(fill)
    yield filled, lambda: Site(new_folder(), server.new_database("template1"))


def check_restored() -> None:
    assert connection.introspection.table_names()
    assert User.objects.get(username="alice").check_password("alice")
    assert not User.objects.get(username="alice").login_sessions.exists()
    assert settings.TEXT_MODEL.read_bytes() == b"a text model"
    key = settings.VAR / "secret_key"
    assert key.read_text() == KEY
    for path in [key, *settings.VAR.glob("*.sqlite3")]:
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_a_restored_site_exports_what_the_site_exported_at_the_backup(
    site: tuple[Site, Callable[[], Site]], tmp_path: Path
):
    filled, empty = site
    before = filled.export()
    backup = filled.backup(tmp_path / "backups")
    filled.run(add_session)
    after = filled.export()
    assert after != before

    new = empty()
    assert "Restored into" in new.restore(tmp_path / "backups")
    new.run(check_restored)
    assert new.export() == before

    later = filled.backup(tmp_path / "backups")
    assert later != backup
    new.refuse(later, because="is not empty")
    new.restore(later, "--replace")
    new.run(check_restored)
    assert new.export() == after


def test_a_restore_makes_a_folder_that_does_not_exist(sqlite: Site, tmp_path: Path, run_program: RunProgram):
    backup = sqlite.backup(tmp_path / "backups")
    var = tmp_path / "absent" / "var"
    restored = run_program(var, "manage.py", "restore", str(backup), SECRET_KEY="k" * 60)
    assert restored.returncode == 0, restored.stderr
    assert var.stat().st_mode & 0o777 == 0o700


def check_private(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_backup_is_private_and_says_what_it_contains(sqlite: Site, tmp_path: Path):
    folder = sqlite.backup(tmp_path / "backups")
    check_private(folder)
    manifest = verify(folder)
    assert (manifest.version, manifest.database) == (settings.VERSION, "sqlite")
    assert manifest.rows["tutoring_session"] == 2
    assert set(manifest.files) == {"database.sqlite3", "secret_key", "text_model.npz"}
    site_blobs = [path for path in (sqlite.var / "blobs").rglob("*") if path.is_file()]
    assert manifest.blobs.count == len(site_blobs) > 2
    assert manifest.blobs.bytes == sum(path.stat().st_size for path in site_blobs)
    assert ("tutoring", "0001_version_1") in manifest.migrations
    output = (tmp_path / "output").read_text()
    assert f"Backup {folder}: " in output
    assert f"{len(site_blobs)} blobs" in output
    assert re.search(r"[\d.]+ MB in [\d.]+ s", output)


def write_pairs(begun: threading.Event, stop: threading.Event) -> int:
    """Store a group and a counter per transaction, and return how many: the numbers of both are always equal."""
    with closing(
        sqlite3.connect(settings.VAR / "hintbench.sqlite3", isolation_level=None, timeout=20)
    ) as writer:
        writer.execute("PRAGMA synchronous=OFF")
        number = 0
        while not stop.is_set():
            number += 1
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("INSERT INTO auth_group (name) VALUES (?)", (f"group {number}",))
            writer.execute(
                "INSERT INTO benchmark_drawcounter (model_spec, last) VALUES (?, 1)", (f"m {number}",)
            )
            writer.execute("COMMIT")
            begun.set()
    return number


def back_up_while_written(folder: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM auth_user_groups")
        cursor.execute("DELETE FROM auth_group")
    begun, stop = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as writers:
        written = writers.submit(write_pairs, begun, stop)
        written.add_done_callback(lambda _: begun.set())
        try:
            begun.wait(HANG)
            with patch("config.backups.databases._PAGES", 1):
                call_command("backup", str(folder), stdout=io.StringIO())
        finally:
            stop.set()
        rows = verify(newest_backup(folder)).rows
        assert rows["auth_group"] == rows["benchmark_drawcounter"]
        assert 0 < rows["auth_group"] < written.result()


def test_a_backup_has_one_state_of_a_site_that_is_written_meanwhile(sqlite: Site, tmp_path: Path):
    sqlite.run(back_up_while_written, tmp_path / "backups")


@pytest.fixture
def empty_in_bucket(tmp_path: Path, s3: S3Server) -> Callable[[str], Site]:
    """Return a function that makes an empty installation whose blobs have this prefix of a bucket."""
    count = iter(range(9))

    def new(prefix: str) -> Site:
        folder = tmp_path / f"new-{next(count)}"
        folder.mkdir()
        return Site(folder, "", Bucket(BUCKET, prefix), s3.environment)

    return new


@pytest.fixture
def in_bucket(empty_in_bucket: Callable[[str], Site]) -> Site:
    """An installation with data, whose blobs are in a bucket."""
    filled = empty_in_bucket("site/")
    add_database(filled.var)
    filled.run(fill)
    return filled


def test_a_backup_contains_the_blobs_of_a_bucket_and_a_restore_puts_them_into_another_one(
    tmp_path: Path, in_bucket: Site, empty_in_bucket: Callable[[str], Site]
):
    before = in_bucket.export()
    backup = in_bucket.backup(tmp_path / "backups")
    assert verify(backup).blobs.count > 1
    assert not (in_bucket.var / "blobs").exists()

    new = empty_in_bucket("new/")
    assert "Restored into" in new.restore(backup)
    assert new.export() == before
    assert not (new.var / "blobs").exists()


def test_a_restore_beside_the_same_bucket_mends_its_missing_and_damaged_blobs(
    tmp_path: Path, s3: S3Server, in_bucket: Site, empty_in_bucket: Callable[[str], Site]
):
    before = in_bucket.export()
    backup = in_bucket.backup(tmp_path / "backups")
    client = s3.client()
    keys = [one["Key"] for one in client.list_objects_v2(Bucket=BUCKET)["Contents"]]
    client.put_object(Bucket=BUCKET, Key=keys[0], Body=b"damaged")
    client.delete_object(Bucket=BUCKET, Key=keys[1])

    assert "1 blobs of this site are missing or damaged" in damaged_backup(in_bucket, tmp_path)
    new = empty_in_bucket("site/")
    new.restore(backup)
    assert new.export() == before
    new.run(verify_blobs)


def damaged_backup(site: Site, folder: Path) -> str:
    """Write a backup into a folder without a former one, and return the output of the command."""
    site.backup(folder / "others")
    return (folder / "output").read_text()


def verify_blobs() -> None:
    call_command("blobs", "verify", stdout=io.StringIO())


def test_a_bucket_that_does_not_answer_is_one_line_and_leaves_no_backup(
    tmp_path: Path, s3: S3Server, in_bucket: Site, empty_in_bucket: Callable[[str], Site]
):
    backup = in_bucket.backup(tmp_path / "backups")
    new = empty_in_bucket("site/")
    s3.stop()
    in_bucket.run(refused, "does not answer", "backup", str(tmp_path / "backups"))
    new.run(refused, "does not answer", "restore", str(backup))
    new.run(check_empty_database)
    assert newest_backup(tmp_path / "backups") == backup
    assert not list((tmp_path / "backups").glob(".unfinished-*"))


def damaged_copies(backup: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield copies of a backup with one changed or missing file each, and why each is refused."""
    for number, path in enumerate(path for path in backup.rglob("*") if path.is_file()):
        changed, without = folder / f"changed-{number}", folder / f"without-{number}"
        for copy in (changed, without):
            shutil.copytree(backup, copy, copy_function=os.link)
            (copy / path.relative_to(backup)).unlink()
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        (changed / path.relative_to(backup)).write_bytes(content)
        yield changed, "damaged"
        yield without, "damaged|is not a backup"
    foreign = shutil.copytree(backup, folder / "foreign", copy_function=os.link)
    (foreign / "blobs" / "aa").mkdir(exist_ok=True)
    (foreign / "blobs" / "aa" / ("a" * 64)).write_bytes(b"foreign")
    yield foreign, "damaged"


def refused_each(copies: list[tuple[Path, str]]) -> None:
    for copy, because in copies:
        before = files_in(settings.VAR)
        for options in ([], ["--check"]):
            refused(because, "restore", str(copy), *options)
            assert files_in(settings.VAR) == before, copy


def test_a_damaged_backup_is_refused_and_nothing_is_written(sqlite: Site, tmp_path: Path):
    backup = sqlite.backup(tmp_path / "backups")
    new = Site(tmp_path / "new")
    new.var.mkdir()
    copies = list(damaged_copies(backup, tmp_path / "copies"))
    assert len(copies) > 9
    new.run(refused_each, copies)
    assert set(files_in(new.var)) <= {"hintbench.sqlite3"}, "Django creates an empty file"
    assert "The backup is complete" in sqlite.restore(backup, "--check")


def test_a_folder_that_is_no_backup_is_refused(sqlite: Site, tmp_path: Path):
    sqlite.refuse(tmp_path / "missing", because="is not a folder")
    (tmp_path / "empty").mkdir()
    sqlite.refuse(tmp_path / "empty", because="is not a backup and contains none")
    for content in ("", "{}", "[]", '{"format": "tar", "sha256": ""}'):
        (tmp_path / "empty" / "manifest.json").write_text(content)
        sqlite.refuse(tmp_path / "empty", because="damaged, or no manifest|has the format 'tar'")


def change_salt() -> None:
    PseudonymSalt.objects.update(salt=b"another site")


def register_process() -> None:
    now = timezone.now()
    Process.objects.create(
        owner="far", kind="worker", host="far", pid=7, version="1", since=now, last_seen=now,
        lease_until=now + Process.LEASE,
    )  # fmt: skip


def test_replacing_needs_the_same_site_without_running_processes(sqlite: Site, tmp_path: Path):
    backup = sqlite.backup(tmp_path / "backups")
    with (sqlite.var / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sqlite.refuse(backup, "--replace", because="already running")
    other = Site(tmp_path / "other")
    shutil.copytree(sqlite.var, other.var)
    sqlite.run(register_process)
    sqlite.refuse(backup, "--replace", because="Stop all processes first: worker 7 runs on far")
    other.run(change_salt)
    other.refuse(backup, "--replace", because="of another site")


def check_empty_database() -> None:
    assert not connection.introspection.table_names()


def test_a_backup_of_another_kind_of_database_is_refused(sqlite: Site, tmp_path: Path, postgres: Postgres):
    (tmp_path / "new").mkdir()
    new = Site(tmp_path / "new", postgres.new_database("template1"))
    new.refuse(
        sqlite.backup(tmp_path / "backups"),
        because="database of sqlite, and this installation uses postgresql",
    )
    new.run(check_empty_database)


def apply_unknown_migration() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('tutoring', '9999_later', '2030-01-01')"
        )


def test_a_backup_of_a_newer_version_is_refused(sqlite: Site, tmp_path: Path):
    sqlite.run(apply_unknown_migration)
    backup = sqlite.backup(tmp_path / "backups")
    (tmp_path / "new").mkdir()
    new = Site(tmp_path / "new")
    new.run(refused, "lacks the migration tutoring.9999_later", "restore", str(backup))
    new.run(check_empty_database)


def fail_late(folder: str, *options: str) -> None:
    with patch("config.backups.restoring.os.replace", side_effect=OSError("the disk is full")):
        refused("the disk is full", "restore", folder, *options)


def fail_in_psql(folder: str) -> None:
    with patch("config.backups.databases._write_all", side_effect=OSError("the pipe is lost")):
        refused("the pipe is lost", "restore", folder)
    check_empty_database()


def test_a_database_in_use_is_not_replaced(sqlite: Site, tmp_path: Path):
    backup = sqlite.backup(tmp_path / "backups")
    sqlite.run(add_session)
    before = sqlite.export()
    with closing(sqlite3.connect(sqlite.var / "hintbench.sqlite3")) as reader:
        reader.execute("PRAGMA journal_mode=WAL")  # as each process of a site does
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        in_use = "Stop all processes first: .* is in use"
        sqlite.run(refused, in_use, "restore", str(backup), "--replace")
    assert sqlite.export() == before


def test_a_restore_that_fails_leaves_nothing(sqlite: Site, tmp_path: Path):
    backup = sqlite.backup(tmp_path / "backups")
    new = Site(tmp_path / "new")
    new.var.mkdir()
    new.run(fail_late, str(backup))
    assert set(files_in(new.var)) == {"hintbench.sqlite3"}, "Django creates an empty file"
    new.run(check_empty_database)
    sqlite.run(add_session)
    before = sqlite.export()
    sqlite.run(fail_late, str(backup), "--replace")
    assert sqlite.export() == before


def test_a_failed_load_into_postgresql_leaves_no_table(postgres: Postgres, tmp_path: Path):
    (tmp_path / "site").mkdir()
    (tmp_path / "new").mkdir()
    filled = Site(tmp_path / "site", postgres.new_database())
    filled.run(fill)
    backup = filled.backup(tmp_path / "backups")
    new = Site(tmp_path / "new", postgres.new_database("template1"))
    new.run(fail_in_psql, str(backup))
    assert not files_in(new.var)


def test_the_newest_backups_of_the_site_stay(sqlite: Site, tmp_path: Path):
    folder = tmp_path / "backups"
    other = Site(tmp_path / "other")
    shutil.copytree(sqlite.var, other.var)
    other.run(change_salt)
    foreign = other.backup(folder)
    (folder / ".unfinished-killed").mkdir()
    kept = [sqlite.backup(folder, "--keep", "2") for _ in range(4)]
    found = sorted(path.name for path in folder.iterdir() if path.is_dir())
    assert found == sorted(path.name for path in (foreign, *kept[2:]))
    for path in kept[2:]:
        verify(path)
    blob = next(path for path in (kept[3] / "blobs").rglob("*") if path.is_file())
    assert blob.stat().st_nlink > 1, "equal blobs of several backups are one file"
    sqlite.backup(folder, "--keep", "0")
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 4


def test_a_damaged_backup_spoils_no_later_one(sqlite: Site, tmp_path: Path):
    folder = tmp_path / "backups"
    first = sqlite.backup(folder)
    blob = next(path for path in (first / "blobs").rglob("*") if path.is_file())
    blob.chmod(0o600)
    blob.write_bytes(b"rotten")
    (first / "manifest.json").write_text("{")
    verify(sqlite.backup(folder, "--keep", "1"))
    assert first.exists()


def back_up_on_full_disk(folder: Path) -> None:
    usage = SimpleNamespace(free=50_000_000)
    with patch("config.backups.files.shutil.disk_usage", return_value=usage):
        refused("must stay free; 50 MB are free", "backup", str(folder))


def test_a_backup_needs_free_disk(sqlite: Site, tmp_path: Path):
    sqlite.run(back_up_on_full_disk, tmp_path / "backups")
    assert [path.name for path in (tmp_path / "backups").iterdir()] == [".lock"]


def back_up_without_programs(folder: Path) -> None:
    with patch("config.backups.databases._major_of", return_value=9):
        refused("needs pg_dump of version .* apt-get install postgresql-client-", "backup", str(folder))


def test_postgresql_without_its_programs_is_reported(postgres: Postgres, tmp_path: Path):
    (tmp_path / "site").mkdir()
    Site(tmp_path / "site", postgres.new_database()).run(back_up_without_programs, tmp_path / "backups")
    assert not (tmp_path / "backups").exists()


def lose_blob() -> None:
    blobs.path(next(blobs.digests())).write_bytes(b"damaged")


def test_a_damaged_blob_of_the_site_is_reported_and_left_out(sqlite: Site, tmp_path: Path):
    count = verify(sqlite.backup(tmp_path / "before")).blobs.count
    sqlite.run(lose_blob)
    assert verify(sqlite.backup(tmp_path / "backups")).blobs.count == count - 1
    assert "1 blobs of this site are missing or damaged" in (tmp_path / "output").read_text()


def check_recorded(folder: Path) -> None:
    [row] = Backup.objects.all()
    assert row.folder == str(folder)
    assert row.bytes == verify(folder).bytes


def test_a_backup_is_recorded(sqlite: Site, tmp_path: Path):
    sqlite.run(check_recorded, sqlite.backup(tmp_path / "backups"))


@pytest.mark.django_db
def test_the_page_status_shows_the_last_backup(client: Client):
    ada = User.objects.create_user("ada")
    give_roles(ada, [Role.ADMIN])
    client.force_login(ada)
    assert "none is recorded" in client.get("/status/").content.decode()
    Backup.objects.create(at=timezone.now(), seconds=3, bytes=2**20, host="db-1", folder="/srv/backups/x")
    page = client.get("/status/").content.decode()
    assert "/srv/backups/x" in page
    assert "1.0\xa0MB in 3 seconds" in page


def test_a_second_backup_into_the_same_folder_is_refused(sqlite: Site, tmp_path: Path):
    folder = tmp_path / "backups"
    folder.mkdir()
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sqlite.run(refused, "Another backup is being written", "backup", str(folder))


def withdraw() -> None:
    withdraw_consent(User.objects.get(username="alice"), None)


def check_withdrawn(count: int) -> None:
    assert not Session.objects.exists()
    assert Withdrawal.objects.count() == count
    assert WithdrawnSession.objects.count() == 2
    assert [row.account for row in Withdrawal.objects.all()] == [
        User.objects.get(username="alice").pk
    ] * count


def test_a_restored_backup_replays_later_withdrawals(site: tuple[Site, Callable[[], Site]], tmp_path: Path):
    filled, empty = site
    backup = filled.backup(tmp_path / "backups")
    assert json.loads((tmp_path / "backups" / "withdrawals.json").read_text()) == []
    filled.run(withdraw)
    assert (tmp_path / "backups" / "withdrawals.json").stat().st_mode & 0o077 == 0
    new = empty()
    assert "Withdrawals later than the backup, which were carried out again: 1." in new.restore(backup)
    new.run(check_withdrawn, 1)

    # Beside a copy of the backup alone, the withdrawals of the database that is replaced count.
    shutil.copytree(backup, tmp_path / "copies" / backup.name)
    filled.restore(tmp_path / "copies", "--replace")
    filled.run(check_withdrawn, 1)
    assert "carried out again" not in new.restore(filled.backup(tmp_path / "backups"), "--replace")
    new.run(check_withdrawn, 1)

    (tmp_path / "copies" / "withdrawals.json").write_text("[{]")
    empty().run(refused, "is damaged. Without it, withdrawn sessions", "restore", str(tmp_path / "copies"))
