"""Static files: hashed names in pages, style sheets and imports of scripts, compressed copies, and long caching."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.test import Client, override_settings

from config import settings as real
from config.management.commands.prepare import _collect_static_files

YEAR = 365 * 24 * 3600


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Collect the static files with the real storage, as `manage.py prepare` does."""
    folder = tmp_path_factory.mktemp("static")
    with override_settings(STATIC_ROOT=folder, STORAGES=real.STORAGES):
        call_command("collectstatic", interactive=False, verbosity=0)
        yield folder


def test_a_later_start_collects_changed_files_only(tmp_path: Path):
    source, root = tmp_path / "source", tmp_path / "static"
    source.mkdir()
    with override_settings(
        VAR=tmp_path,
        STATIC_ROOT=root,
        STORAGES=real.STORAGES,
        STATICFILES_DIRS=[source],
        STATICFILES_FINDERS=["django.contrib.staticfiles.finders.FileSystemFinder"],
    ):

        def collected_as(text: str) -> tuple[str, int]:
            """Collect a file with this text; return its name, and when the folder was written."""
            (source / "a.css").write_text(text)
            _collect_static_files()
            name = names(root)["a.css"]
            assert (root / name).read_text() == text
            return name, (root / "staticfiles.json").stat().st_mtime_ns

        first = collected_as("a { color: red }")
        assert collected_as("a { color: red }") == first
        assert collected_as("a { color: blue }")[0] != first[0]
        shutil.rmtree(root)
        assert collected_as("a { color: blue }")[0] != first[0]


def names(folder: Path) -> dict[str, str]:
    """Return the hashed names by the names in the repository."""
    paths: dict[str, str] = json.loads((folder / "staticfiles.json").read_text())["paths"]
    return paths


def test_every_reference_between_files_is_hashed(collected: Path):
    hashed = names(collected)
    known = {Path(name).name for name in hashed.values()}
    for name in hashed:
        if not (settings.BASE_DIR / "static" / name).exists():
            continue  # of Django's administration or another package
        text = (collected / hashed[name]).read_bytes().decode(errors="replace")
        if name.endswith(".js"):
            references = re.findall(r"""^import[^"']*["']([^"']+)["'];""", text, re.M)
            source = (settings.BASE_DIR / "static" / name).read_text()
            assert len(references) == len(re.findall(r"^import\b", source, re.M)), name
        elif name.endswith(".css"):
            references = re.findall(r"""url\(["']?([^"')]+)""", text)
        else:
            continue
        assert {Path(one).name for one in references} <= known, f"{name}: {references}"


def test_only_hashed_files_are_kept_and_texts_have_compressed_copies(collected: Path):
    hashed = names(collected)
    assert not (collected / "js/session.js").exists()
    for name, path in hashed.items():
        whole = (collected / path).read_bytes()
        compressed = collected / f"{path}.gz"
        if name.endswith((".css", ".js")) and len(whole) > 2000:
            assert gzip.decompress(compressed.read_bytes()) == whole, name


def test_files_are_cached_for_years_and_pages_are_not_compressed(collected: Path, db: None):
    client = Client()
    file = client.get(staticfiles_storage.url("css/page.css"), headers={"accept-encoding": "gzip"})
    assert file.status_code == 200
    caching = file.headers["Cache-Control"]
    assert "immutable" in caching
    assert int(re.search(r"max-age=(\d+)", caching)[1]) >= YEAR  # type: ignore[index]
    assert file.headers["Content-Encoding"] == "gzip"
    page = client.get("/login/", headers={"accept-encoding": "gzip, br"})
    assert "Content-Encoding" not in page.headers, "a compressed page tells its CSRF token (BREACH)"
    assert staticfiles_storage.url("css/page.css") in page.content.decode()
