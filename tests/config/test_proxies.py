"""Proxies in front of the site that TRUSTED_PROXIES does not name."""

from __future__ import annotations

import os
import time
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from config import proxies
from config.checks import check_proxies
from config.doctor import _proxies

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.VAR = tmp_path
    settings.ALLOWED_HOSTS = ["localhost"]
    monkeypatch.setattr(proxies, "_noted", set())
    return tmp_path


def visit(sender: str, **headers: str) -> None:
    Client(REMOTE_ADDR=sender, SERVER_NAME="localhost").get("/login/", headers=headers)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"])
def test_an_untrusted_proxy_is_reported_until_it_is_named(settings: Settings, header: str):
    assert (check_proxies(), _proxies().ok) == ([], True)
    visit("10.0.0.7", **{header: "192.0.2.1"})
    [warning] = check_proxies()
    assert "A request came through the proxy 10.0.0.7" in warning.msg
    assert "through 10.0.0.7, which TRUSTED_PROXIES does not name" in _proxies().detail
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    assert (check_proxies(), _proxies().ok) == ([], True)


def test_trusted_proxies_and_direct_visitors_are_not_reported(settings: Settings, folder: Path):
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    visit("10.0.0.7", **{"X-Forwarded-For": "192.0.2.1"})
    visit("::ffff:10.0.0.7", **{"X-Forwarded-For": "192.0.2.1"})
    visit("192.0.2.1")
    visit("", **{"X-Forwarded-For": "192.0.2.1"})
    assert list(folder.iterdir()) == []


def test_each_proxy_is_logged_once_and_forgotten_after_a_week(folder: Path, caplog: pytest.LogCaptureFixture):
    for _ in range(3):
        visit("10.0.0.7", **{"X-Forwarded-For": "192.0.2.1"})
    assert caplog.text.count("a request came through a proxy") == 1
    old = time.time() - 8 * 24 * 3600
    os.utime(folder / "untrusted_proxy", (old, old))
    assert proxies.seen_proxy() == ""


def test_a_folder_that_cannot_be_written_fails_no_page(folder: Path):
    (folder / "untrusted_proxy").mkdir()
    visit("10.0.0.7", **{"X-Forwarded-For": "192.0.2.1"})
    assert proxies.seen_proxy() == ""


@pytest.mark.parametrize(
    ("hosts", "host", "https", "trusted", "reason"),
    [
        (["localhost"], "127.0.0.1", False, [], ""),
        (["tutor.example.org"], "127.0.0.1", True, ["127.0.0.1"], ""),
        (["tutor.example.org"], "127.0.0.1", False, [], "HOST=127.0.0.1 needs a proxy"),
        (["tutor.example.org"], "0.0.0.0", True, ["127.0.0.1", "::1"], "loopback addresses only"),
        (["tutor.example.org"], "0.0.0.0", True, ["10.0.0.2"], ""),
    ],
)
def test_settings_that_need_a_proxy_must_name_it(
    settings: Settings, hosts: list[str], host: str, https: bool, trusted: list[str], reason: str
):
    settings.ALLOWED_HOSTS, settings.HOST, settings.HTTPS = hosts, host, https
    settings.TRUSTED_PROXIES = [ip_network(one) for one in trusted]
    assert reason in proxies.unnamed_proxy()
    assert bool(check_proxies()) == bool(reason) == (not _proxies().ok)
