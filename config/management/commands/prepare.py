"""`manage.py prepare`: prepare this installation for its processes. ./run executes it at every start."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from accounts.demo_accounts import DEMO_ACCOUNTS, DEMO_PASSWORD, refusal
from benchmark.corpora import TEXTBOOK
from benchmark.corpora.store import import_corpus
from benchmark.models import Dataset
from benchmark.models.corpora import SHIPPED
from config.folders import UnusableFolderError, make_private_folder
from config.secret_key import secret_key

PRACTICE = "practice"
"""The dataset of the practice problems."""


class Command(BaseCommand):
    help = (
        "Apply migrations, collect static files and load the practice problems and the textbook if they are missing or "
        "changed, and create the demo accounts if there are no accounts. Prints the demo logins with an unchanged "
        "password."
    )

    def handle(self, *_: Any, **__: Any) -> None:
        try:
            make_private_folder(settings.VAR)
        except UnusableFolderError as error:
            raise CommandError(f"Nothing is prepared: {error}") from None
        secret_key(Path(settings.VAR))  # before several processes need it
        call_command("migrate", interactive=False, verbosity=0)
        _collect_static_files()
        self._load_practice_problems()
        import_corpus("markdown", TEXTBOOK, SHIPPED)  # fast without a change
        if not User.objects.exists() and refusal() is None:
            call_command("create_demo_accounts", verbosity=0)
        self._print_demo_logins()

    def _load_practice_problems(self) -> None:
        folder = Path(settings.BASE_DIR) / "benchmark" / "practice_problems"
        note = Path(settings.VAR) / "practice_problems.sha256"
        digest = _digest(
            (str(path.relative_to(folder)), path) for path in folder.rglob("*") if path.is_file()
        )
        if Dataset.objects.filter(name=PRACTICE).exists() and note.exists() and note.read_text() == digest:
            return
        try:
            call_command("import_problems", "icpc", str(folder), dataset=PRACTICE, stdout=self.stderr)
            note.write_text(digest)
        except CommandError as error:  # Hintbench works without them
            self.stderr.write(f"The practice problems are not loaded: {error}")

    def _print_demo_logins(self) -> None:
        demo = User.objects.filter(username__in=DEMO_ACCOUNTS, is_active=True)
        unchanged = {
            stored for stored in {user.password for user in demo} if check_password(DEMO_PASSWORD, stored)
        }
        names = [user.username for user in demo if user.password in unchanged]
        if names and refusal() is None:
            self.stdout.write(f"Demo logins: {', '.join(sorted(names))}    Password: {DEMO_PASSWORD}")


def _collect_static_files() -> None:
    """Collect the static files unless nothing has changed: their hashes take longer than the rest of `prepare`."""
    note, root = Path(settings.VAR) / "static.sha256", Path(settings.STATIC_ROOT)
    base = Path(settings.BASE_DIR)
    # The versions of the libraries and the storage decide on the collected files too.
    deciding = [(name, base / name) for name in ("requirements.lock", "config/static_files.py")]
    found = (
        (path, Path(storage.path(path))) for finder in get_finders() for path, storage in finder.list([])
    )
    digest = _digest([*deciding, *found])
    if (root / "staticfiles.json").exists() and note.exists() and note.read_text() == digest:
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    note.write_text(digest)


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    """Return the sha256 of the names and contents of the files."""
    total = hashlib.sha256()
    for name, path in sorted(files):
        total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
