"""Blobs in a bucket of moto's server: the cache, faults of the server, `manage.py blobs` and the judge."""

import io
import json
import os
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from benchmark import judging
from benchmark.blob_stores import (
    BlobMissingError,
    BlobStoreError,
    BlobStoreUnavailableError,
    Bucket,
    BucketStore,
    DamagedBlobError,
    FolderStore,
    digest_of,
    parse_bucket,
)
from benchmark.blob_stores.cache import KEPT_SECONDS, BlobCache
from benchmark.models import Figure, Judgement, blobs
from benchmark.models.blob_references import referenced_digests
from config.doctor import _blobs
from config.env import env_blobs
from tests.problems import store_doubling
from tests.s3 import BUCKET, KEYS, S3Server

SITE = Bucket(BUCKET, "site/")

OpenStore = Callable[..., BucketStore]


@pytest.fixture
def open_store(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenStore:
    """Return a function that opens the bucket as a host does that has the named cache."""
    monkeypatch.setattr("benchmark.blob_stores.bucket._ATTEMPTS", 1)

    def open_as(host: str, bound: int = 2**20) -> BucketStore:
        return BucketStore(SITE, BlobCache(tmp_path / host, bound))

    return open_as


@pytest.fixture
def in_bucket(open_store: OpenStore, settings: Any, tmp_path: Path) -> BucketStore:
    """Let the settings name the bucket."""
    settings.BLOBS = SITE
    settings.BLOBS_CACHE = tmp_path / "this-host"
    blobs._bucket_store.cache_clear()
    store = blobs.store()
    assert isinstance(store, BucketStore)
    return store


def object_key(digest: str) -> str:
    return f"site/{digest[:2]}/{digest}"


def test_another_host_fetches_a_blob_once_and_reads_it_from_its_cache(open_store: OpenStore, s3: S3Server):
    digest = open_store("here").put(b"3 4\n")
    assert digest == digest_of(b"3 4\n")
    there = open_store("there")
    there.fetch([digest, digest])
    s3.stop()
    assert open_store("there").path(digest).read_bytes() == b"3 4\n"
    assert there.path(digest).stat().st_mode & 0o077 == 0
    with pytest.raises(BlobStoreUnavailableError, match=r"s3://hintbench/site does not answer"):
        open_store("third").path(digest)


def test_a_missing_blob_is_no_fault_of_the_store(open_store: OpenStore):
    for read in (open_store("here").path, open_store("here").load):
        with pytest.raises(BlobMissingError, match="is not in s3://hintbench/site"):
            read("f" * 64)


def test_a_damaged_object_is_refused_and_never_cached(open_store: OpenStore, s3: S3Server, tmp_path: Path):
    digest = open_store("here").put(b"right")
    s3.client().put_object(Bucket=BUCKET, Key=object_key(digest), Body=b"wrong")
    with pytest.raises(DamagedBlobError, match=f"The blob {digest} in s3://hintbench/site is damaged"):
        open_store("there").path(digest)
    assert not [path for path in (tmp_path / "there").rglob("*") if path.is_file()]


def test_a_damaged_file_of_the_cache_is_fetched_again(open_store: OpenStore):
    store = open_store("here")
    digest = store.put(b"right")
    store.path(digest).write_bytes(b"wrong")
    assert store.path(digest).read_bytes() == b"right"
    assert open_store("here").path(digest).read_bytes() == b"right"


def test_a_denied_request_names_the_variables_and_no_secret(open_store: OpenStore, s3: S3Server):
    digest = open_store("here").put(b"1")
    s3.deny()
    with pytest.raises(BlobStoreError, match=r"denies GetObject .* Check AWS_ACCESS_KEY_ID") as fault:
        open_store("there").path(digest)
    assert not isinstance(fault.value, BlobStoreUnavailableError)
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in str(fault.value)


def test_a_bucket_that_does_not_exist_and_missing_credentials_are_named(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cache = BlobCache(tmp_path, 2**20)
    with pytest.raises(BlobStoreError, match=r"refuses .*: NoSuchBucket\. Check HINTBENCH_BLOBS"):
        BucketStore(Bucket("unknown-bucket"), cache).load("f" * 64)
    for name in KEYS:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(BlobStoreError, match="needs credentials: set AWS_ACCESS_KEY_ID"):
        BucketStore(SITE, cache).load("f" * 64)


def test_a_file_that_a_crash_has_cut_short_is_written_again(tmp_path: Path):
    store = FolderStore(tmp_path)
    digest = store.put(b"an answer")
    store.path(digest).write_bytes(b"")
    assert store.put(b"an answer") == digest
    assert store.load(digest) == b"an answer"


def test_the_cache_removes_what_was_used_longest_ago_and_nothing_of_the_last_hour(tmp_path: Path):
    cache = BlobCache(tmp_path, 10_000)
    contents = [bytes([number]) * 1000 for number in range(30)]
    old = time.time() - 2 * KEPT_SECONDS
    for number, content in enumerate(contents):
        path = cache.add(digest_of(content), content)
        if number < 15:
            os.utime(path, (old + number, old))
    kept = [cache.find(digest_of(content)) is not None for content in contents]
    assert kept == [number >= 15 for number in range(30)], "an hour's use is kept above the bound"


def test_the_cache_keeps_its_bound(tmp_path: Path):
    cache = BlobCache(tmp_path, 10_000)
    old = time.time() - 2 * KEPT_SECONDS
    for number in range(40):
        content = bytes([number]) * 1000
        os.utime(cache.add(digest_of(content), content), (old + number, old))
    sizes = [path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()]
    assert 8_000 <= sum(sizes) <= 10_000


def test_a_judgement_waits_for_a_bucket_that_is_away_and_is_not_lost(
    transactional_db: None,
    in_bucket: BucketStore,
    s3: S3Server,
    sandbox: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    problem = store_doubling()
    judgement = judging.request_judgement(
        judging.store_submission(problem, "print(2 * int(input()))", "python")
    )
    for path in Path(settings.BLOBS_CACHE).rglob("*"):
        if path.is_file():
            path.unlink()
    s3.stop()
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        s3.start()

    monkeypatch.setattr("benchmark.judging.performing.time.sleep", sleep)
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    assert (judgement.state, judgement.verdict, len(pauses)) == (Judgement.State.DONE, "AC", 1)


@pytest.mark.django_db(transaction=True)
def test_a_damaged_test_is_a_fault_of_the_judge_with_its_place(
    in_bucket: BucketStore, s3: S3Server, sandbox: Any
):
    problem = store_doubling()
    digest = problem.tests.all()[0].input_hash
    s3.client().put_object(Bucket=BUCKET, Key=object_key(digest), Body=b"other")
    in_bucket._cache.remove(digest)
    judgement = judging.request_judgement(judging.store_submission(problem, "print(1)", "python"))
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    assert (judgement.state, judgement.verdict) == (Judgement.State.FAILED, "JE")
    assert f"The blob {digest} in s3://hintbench/site is damaged" in judgement.fault


@pytest.mark.django_db
def test_doctor_reads_a_sample_past_the_cache(in_bucket: BucketStore, s3: S3Server):
    problem = store_doubling()
    assert _blobs().ok
    assert "s3://hintbench/site: " in _blobs().detail
    s3.client().delete_object(Bucket=BUCKET, Key=object_key(problem.tests.all()[0].answer_hash))
    report = _blobs()
    assert (report.ok, report.need) == (False, "necessary")
    assert "is not in s3://hintbench/site" in report.detail
    s3.stop()
    assert "does not answer" in _blobs().detail


@pytest.mark.django_db
def test_a_page_without_its_blob_is_a_503_that_says_so(
    in_bucket: BucketStore, s3: S3Server, admin_client: Client
):
    problem = store_doubling()
    digest = blobs.put(b"GIF89a")
    Figure.objects.create(problem=problem, name="a.gif", media_type="image/gif", content_hash=digest)
    in_bucket._cache.remove(digest)
    s3.stop()
    admin_client.raise_request_exception = False
    address = reverse("figure", args=[problem.dataset.name, problem.external_id, "a.gif"])
    answer = admin_client.get(address)
    assert answer.status_code == 503
    assert "Tests and figures are not available" in answer.content.decode()
    s3.start()
    assert admin_client.get(address).content == b"GIF89a"


def run(*arguments: str) -> dict[str, Any]:
    with redirect_stdout(io.StringIO()) as output:
        call_command("blobs", *arguments, "--json")
    document: dict[str, Any] = json.loads(output.getvalue())
    return document


@pytest.mark.django_db
def test_blobs_are_copied_to_a_bucket_and_back_and_verified(
    s3: S3Server, settings: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    settings.BLOBS = tmp_path / "folder"
    settings.BLOBS_CACHE = tmp_path / "cache"
    problem = store_doubling()
    Figure.objects.create(
        problem=problem, name="a.gif", media_type="image/gif", content_hash=blobs.put(b"GIF89a")
    )
    names = referenced_digests()
    folder, bucket = str(settings.BLOBS), "s3://hintbench/site"
    assert run("copy", folder, bucket) == {
        "copied": len(names), "present": 0, "missing": [], "damaged": [],
    }  # fmt: skip
    assert run("copy", folder, bucket)["present"] == len(names), "a repeated copy continues"
    assert run("verify", bucket) == {"verified": len(names), "missing": [], "damaged": []}
    (tmp_path / "back").mkdir()
    run("copy", bucket, str(tmp_path / "back"))
    assert set(FolderStore(tmp_path / "back").digests()) == names

    damaged, missing = sorted(names)[:2]
    s3.client().put_object(Bucket=BUCKET, Key=object_key(damaged), Body=b"other")
    s3.client().delete_object(Bucket=BUCKET, Key=object_key(missing))
    capsys.readouterr()
    with pytest.raises(CommandError, match="1 blobs are missing and 1 are damaged"):
        call_command("blobs", "verify", bucket)
    printed = capsys.readouterr().out
    assert f"missing: {missing}" in printed
    assert f"damaged: {damaged}" in printed
    (tmp_path / "empty").mkdir()
    with pytest.raises(CommandError, match="1 blobs are missing and 1 are damaged"):
        call_command("blobs", "copy", bucket, str(tmp_path / "empty"))
    assert set(FolderStore(tmp_path / "empty").digests()) == names - {damaged, missing}
    s3.stop()
    with pytest.raises(CommandError, match=r"does not answer .* repeat the command to continue"):
        call_command("blobs", "verify", bucket)


@pytest.mark.parametrize(
    ("text", "bucket"),
    [
        ("s3://one", Bucket("one")),
        ("s3://one/", Bucket("one")),
        ("s3://one/two/three/", Bucket("one", "two/three/")),
    ],
)
def test_an_address_names_a_bucket_with_a_prefix(text: str, bucket: Bucket):
    assert parse_bucket(text) == bucket
    assert parse_bucket(str(bucket)) == bucket


@pytest.mark.parametrize(
    "text", ["s3://", "s3://UPPER", "s3://one/a b", "https://one/two", "s3://a/../../x y"]
)
def test_another_address_is_refused_with_the_form(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HINTBENCH_BLOBS", text)
    with pytest.raises(
        ImproperlyConfigured, match=r"HINTBENCH_BLOBS: .* use s3://bucket or s3://bucket/prefix"
    ):
        env_blobs("HINTBENCH_BLOBS", tmp_path)


def test_a_folder_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("HINTBENCH_BLOBS", raising=False)
    assert env_blobs("HINTBENCH_BLOBS", tmp_path) == tmp_path
