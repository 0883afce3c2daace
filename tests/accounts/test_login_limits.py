"""Limits of failed logins, the address of a visitor, and the bound of password hashing."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import MD5PasswordHasher, PBKDF2PasswordHasher, check_password
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client, RequestFactory
from pytest_django import Settings

from accounts import hashing, throttling
from accounts.addresses import client_address
from accounts.hashing import BoundedPBKDF2PasswordHasher, HashingBusyError
from tests.stack import HANG

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"
PASSWORD = "a fine long password"


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password=PASSWORD)


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were hashed since the start of the test."""
    found: list[str] = []
    encode = MD5PasswordHasher.encode

    def counted(self: MD5PasswordHasher, password: str, salt: str) -> str:
        found.append(password)
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", counted)
    return found


def log_in(name: str, password: str = PASSWORD, address: str = HOME, client: Client | None = None) -> Any:
    return (client or Client()).post("/login/", {"username": name, "password": password}, REMOTE_ADDR=address)


def fail(name: str, times: int, address: str = HOME) -> None:
    for number in range(times):
        log_in(name, f"guess {number}", address)


def pass_time(**time: int) -> None:
    """Move all recorded failures into the past."""
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(**time))


def test_five_failures_stop_further_passwords_before_they_are_hashed(ada: User, hashes: list[str]):
    fail("ada", 5)
    hashes.clear()
    refused = log_in("ada")
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 300
    assert "Try again in 5 minutes" in refused.content.decode()
    assert hashes == []


def test_a_cool_down_ends_and_refused_attempts_do_not_prolong_it(ada: User):
    fail("ada", 5)
    pass_time(minutes=4)
    assert log_in("ada").status_code == 429
    pass_time(seconds=61)
    assert log_in("ada").status_code == 302


def test_a_login_clears_the_failures_of_its_account_and_address_only(ada: User):
    fail("ada", 4)
    fail("grace", 3)
    assert log_in("ada").status_code == 302
    assert [attempt.username for attempt in AccessAttempt.objects.all()] == ["grace"]


def test_a_guesser_elsewhere_does_not_lock_the_account(ada: User):
    fail("ada", 6, ELSEWHERE)
    assert log_in("ada", address=ELSEWHERE).status_code == 429
    assert log_in("ada").status_code == 302


def test_an_unknown_account_is_treated_like_a_known_one(ada: User):
    fail("ada", 5)
    fail("nobody", 5)
    answers = [log_in(name).content for name in ("ada", "nobody")]
    assert answers[0] == answers[1]


def test_an_account_that_many_addresses_guess_is_limited_for_a_minute(ada: User, hashes: list[str]):
    for number in range(5):
        fail("ada", 4, f"203.0.113.{number}")
    hashes.clear()
    refused = log_in("ada")
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) <= 60
    assert hashes == []
    pass_time(seconds=61)
    assert log_in("ada").status_code == 302


def test_guessers_elsewhere_cannot_keep_the_owner_out_of_a_known_browser(ada: User):
    browser = Client()
    assert log_in("ada", client=browser).status_code == 302
    browser.post("/logout/")
    for number in range(5):
        fail("ada", 4, f"203.0.113.{number}")
    assert log_in("ada").status_code == 429
    assert log_in("ada", client=browser).status_code == 302
    browser.post("/logout/")
    for number in range(5):
        log_in("ada", f"guess {number}", client=browser)
    assert log_in("ada", client=browser).status_code == 429


def test_the_cookie_of_a_known_browser_counts_for_its_account_only(ada: User):
    browser = Client()
    log_in("ada", client=browser)
    browser.post("/logout/")
    User.objects.create_user("grace", password=PASSWORD)
    for number in range(5):
        fail("grace", 4, f"203.0.113.{number}")
    assert log_in("grace", client=browser).status_code == 429


@pytest.mark.slow
def test_an_address_that_guesses_many_accounts_is_limited(ada: User, hashes: list[str]):
    for number in range(17):
        fail(f"person-{number}", 3, ELSEWHERE)
    hashes.clear()
    assert log_in("ada", address=ELSEWHERE).status_code == 429
    assert hashes == []
    assert log_in("ada").status_code == 302


def test_parallel_guesses_keep_the_limit(ada: User, hashes: list[str]):
    request = RequestFactory().post("/login/", REMOTE_ADDR=HOME)
    fail("ada", 2)
    hashes.clear()
    with (
        throttling.login_in_progress(request, "ada"),
        throttling.login_in_progress(request, "ada"),
        throttling.login_in_progress(request, "ada"),
    ):
        assert log_in("ada").status_code == 429
        assert hashes == []
    assert log_in("ada").status_code == 302


def test_failures_store_no_password(ada: User):
    log_in("ada", "hunter2-canary")
    log_in("ada", "hunter2-canary")
    assert "hunter2-canary" not in str(AccessAttempt.objects.values())


def test_the_administration_pages_have_no_login_of_their_own(ada: User):
    answer = Client().get("/admin/login/?next=/admin/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/login/?next=/admin/")


@pytest.mark.parametrize(
    ("proxies", "remote", "forwarded", "found"),
    [
        ([], "192.0.2.1", "203.0.113.9", "192.0.2.1"),
        (["127.0.0.1"], "127.0.0.1", "203.0.113.9", "203.0.113.9"),
        (["127.0.0.1"], "127.0.0.1", "10.9.9.9, 203.0.113.9", "203.0.113.9"),
        (["127.0.0.1", "10.0.0.0/8"], "127.0.0.1", "203.0.113.9, 10.1.1.1", "203.0.113.9"),
        (["127.0.0.1"], "192.0.2.1", "203.0.113.9", "192.0.2.1"),
        (["127.0.0.1"], "127.0.0.1", "nonsense", "127.0.0.1"),
        (["127.0.0.1"], "127.0.0.1", "", "127.0.0.1"),
        ([], "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::"),
        ([], "::ffff:192.0.2.1", "", "192.0.2.1"),
        ([], "", "203.0.113.9", "0.0.0.0"),
    ],
)
def test_the_address_comes_from_trusted_proxies_only(
    settings: Settings, proxies: list[str], remote: str, forwarded: str, found: str
):
    settings.TRUSTED_PROXIES = [ip_network(proxy) for proxy in proxies]
    request = RequestFactory().get("/", REMOTE_ADDR=remote, HTTP_X_FORWARDED_FOR=forwarded)
    assert client_address(request) == found


@pytest.fixture
def slow_hash(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Replace Django's hash by one that waits until all places are taken; return the largest number at once."""
    lock, present, most = threading.Lock(), 0, 0
    all_places = threading.Barrier(hashing.HASHES_AT_ONCE, timeout=HANG)

    def encode(*_: object) -> str:
        nonlocal present, most
        with lock:
            present += 1
            most = max(most, present)
        all_places.wait()
        time.sleep(0.02)  # one more hash would begin meanwhile
        with lock:
            present -= 1
        return "hash"

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
    return lambda: most


def test_many_logins_compute_few_hashes_at_once(slow_hash: Callable[[], int]):
    hasher, count = BoundedPBKDF2PasswordHasher(), 6 * hashing.HASHES_AT_ONCE
    with ThreadPoolExecutor(count) as logins:
        assert list(logins.map(lambda n: hasher.encode(f"{n}", "salt"), range(count))) == ["hash"] * count
    assert slow_hash() == hashing.HASHES_AT_ONCE


def test_hashes_equal_those_of_django(settings: Settings):
    settings.PASSWORD_HASHERS = ["accounts.hashing.BoundedPBKDF2PasswordHasher"]
    stored = PBKDF2PasswordHasher().encode(PASSWORD, "salt", 10)
    assert BoundedPBKDF2PasswordHasher().encode(PASSWORD, "salt", 10) == stored
    assert check_password(PASSWORD, stored)


def test_a_login_that_waits_too_long_is_asked_to_return(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    def busy(*_: object) -> str:
        raise HashingBusyError

    monkeypatch.setattr(MD5PasswordHasher, "encode", busy)
    answer = log_in("ada", client=Client(raise_request_exception=False))
    assert answer.status_code == 503
    assert "Too many logins" in answer.content.decode()
    assert answer.headers["Retry-After"] == "30"


def test_a_hash_that_does_not_start_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", lambda *_: time.sleep(0.02))
    monkeypatch.setattr(hashing, "LONGEST_WAIT", 0.001)
    with pytest.raises(HashingBusyError):
        BoundedPBKDF2PasswordHasher().encode("a", "salt")


@pytest.fixture
def full_disk(ada: User) -> Iterator[None]:
    """Let the database get no further page, as on a full disk."""

    def pragma(text: str) -> int:
        # Not through Django, which refuses statements after an error in a transaction.
        number: int = connection.connection.execute(f"PRAGMA {text}").fetchone()[0]
        return number

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE filler (content BLOB)")
        while pragma("freelist_count"):
            cursor.execute("INSERT INTO filler VALUES (zeroblob(4000))")
    former = pragma("max_page_count")
    pragma(f"max_page_count = {pragma('page_count')}")
    yield
    pragma(f"max_page_count = {former}")


def test_a_full_disk_at_login_is_a_page_that_says_so(full_disk: None):
    for _ in range(500):  # until the present pages have no room for another login
        client = Client(raise_request_exception=False)
        answer = log_in("ada", client=client)
        if answer.status_code != 302:
            break
    assert answer.status_code == 503
    assert "The disk of the server is full" in answer.content.decode()
    assert answer.headers["Retry-After"] == "30"
    assert client.get("/login/").status_code == 200
