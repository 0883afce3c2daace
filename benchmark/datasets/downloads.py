"""A rate-limited downloader for official test archives: one request at a time, complete files only."""

import os
import re
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from benchmark.datasets.official_tests import link_name

USER_AGENT = "hintbench (downloads official test data for research; one request at a time)"
LARGEST = 256 * 2**20
"""Maximum size of an archive in bytes."""

_TIMEOUT = 60.0
_CHUNK = 2**16
_MAXIMUM_FAILURES = 3
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.zip", re.IGNORECASE)
_WAIT = (429, 503)


class DownloadError(Exception):
    """An archive that cannot be downloaded; the message is the reason."""


class ServerBusyError(DownloadError):
    """A response by which the server requests a pause (HTTP 429 or 503)."""


@dataclass(frozen=True)
class ArchiveDownload:
    """A link, its target file, and its size in bytes according to the server (None: unknown)."""

    link: str
    file: Path
    size: int | None = None


def missing_archives(
    links: Iterable[str], folder: Path
) -> tuple[list[ArchiveDownload], list[tuple[str, str]]]:
    """Return the archives missing in the folder, without duplicates, and the rejected links with reasons."""
    wanted: dict[str, ArchiveDownload] = {}
    refused = []
    for link in dict.fromkeys(links):
        name = link_name(link)
        if urlsplit(link).scheme not in ("http", "https"):
            refused.append((link, "only http and https links are supported"))
        elif not _NAME.fullmatch(name):
            refused.append((link, f"{name!r} is not the name of a zip archive"))
        elif name.lower() in wanted:
            refused.append((link, f"another link has the same file name {name}: {wanted[name.lower()].link}"))
        else:
            wanted[name.lower()] = ArchiveDownload(link, folder / name)
    return [one for one in wanted.values() if not one.file.exists()], refused


class Downloader:
    """A client that waits at least `pause` seconds between two requests."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._opener = _opener()
        self._last: float | None = None

    def sized(
        self, wanted: Sequence[ArchiveDownload], on_done: Callable[[int], object]
    ) -> list[ArchiveDownload]:
        """Return the archives with the sizes that the server announces. Raises ServerBusyError."""
        sized = []
        for one in wanted:
            sized.append(ArchiveDownload(one.link, one.file, self._size(one.link)))
            on_done(1)
        return sized

    def fetch_all(
        self, wanted: Sequence[ArchiveDownload], on_bytes: Callable[[int], object]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Download the archives one by one; return their number, and the failed links with reasons.

        Stops if the server requests a pause, and after three consecutive failures. Complete files are kept.
        """
        fetched, failures, consecutive = 0, [], 0
        for one in wanted:
            try:
                self._fetch(one, on_bytes)
            except DownloadError as fault:
                failures.append((one.link, str(fault)))
                consecutive += 1
                if isinstance(fault, ServerBusyError) or consecutive == _MAXIMUM_FAILURES:
                    break
            else:
                fetched, consecutive = fetched + 1, 0
        return fetched, failures

    def _size(self, link: str) -> int | None:
        """Return the announced size in bytes; None if it is unknown. Errors are ignored: the download reports them."""
        try:
            with self._open(link, "HEAD") as response:
                return _length(response)
        except ServerBusyError:
            raise
        except DownloadError:
            return None

    def _fetch(self, one: ArchiveDownload, on_bytes: Callable[[int], object]) -> None:
        part = one.file.with_name(one.file.name + ".part")
        try:
            with self._open(one.link, "GET") as response, part.open("wb") as file:
                announced, kind = _length(response), response.headers.get_content_type()
                _refuse_large(announced or 0)
                written = 0
                while chunk := response.read(_CHUNK):
                    written += len(chunk)
                    _refuse_large(written)
                    file.write(chunk)
                    on_bytes(len(chunk))
            if announced is not None and written != announced:
                raise DownloadError(f"the transfer ended after {written} of {announced} bytes")
            if not zipfile.is_zipfile(part):
                raise DownloadError(f"the response is not a zip archive ({kind}, {written} bytes)")
            os.replace(part, one.file)
        except (OSError, HTTPException) as error:
            raise DownloadError(f"the transfer failed: {error}") from error
        finally:
            part.unlink(missing_ok=True)

    def _open(self, link: str, method: str) -> Any:
        """Send a request and return the response. Raises DownloadError."""
        if self._last is not None:
            time.sleep(max(0.0, self._last + self._pause - time.monotonic()))
        headers = {"User-Agent": USER_AGENT}
        request = urllib.request.Request(link, method=method, headers=headers)  # noqa: S310  (scheme was checked)
        try:
            return self._opener.open(request, timeout=_TIMEOUT)
        except HTTPError as error:
            error.close()
            if error.code in _WAIT:
                after = error.headers.get("Retry-After")
                retry_after = f" (Retry-After: {after})" if after else ""
                raise ServerBusyError(
                    f"the server requests a pause: HTTP {error.code}{retry_after}"
                ) from error
            raise DownloadError(f"HTTP {error.code} {error.reason}") from error
        except (URLError, OSError, HTTPException, ValueError) as error:
            raise DownloadError(f"no response: {getattr(error, 'reason', error)}") from error
        finally:
            self._last = time.monotonic()


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for http and https only, so that a redirect cannot read a local file."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _length(response: Any) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def _refuse_large(size: int) -> None:
    if size > LARGEST:
        raise DownloadError(f"the archive is larger than {LARGEST // 2**20} MiB")
