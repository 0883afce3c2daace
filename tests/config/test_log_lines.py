"""Lines of the logs: their two formats, what they contain, and what never reaches them."""

from __future__ import annotations

import json
import logging
import platform
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import structlog
from django.test import Client
from django.urls import get_resolver, reverse
from pydantic import BaseModel, ValidationError

from benchmark.judging import perform, request_judgement, store_submission
from config.logs import fault_of, formatter, secrets
from tests.cached_fixtures import add_prepared
from tests.fake_providers import FakeProviders, Script, pieces_of
from tests.problems import store_doubling
from tests.stack import StartStack
from tests.tutoring.visitor import Visitor

MESSAGE, REPLY, HIDDEN = "canary-of-a-message", "canary-of-a-reply", "canary-of-a-hidden-test"
KEY, PASSWORD, DRAFT = "sk-canary-of-a-key", "canary-of-a-password", "canary-of-a-draft"
QUERY, TOKEN = "canary-of-a-query", "canary-of-a-token"
PROGRAM = f"# {REPLY}\nint(input())\n"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MODEL_ENDPOINT_LAB_KEY", KEY)
    monkeypatch.setenv("DATABASE_URL", f"postgres://me:{PASSWORD}@host/db")
    secrets.cache_clear()
    yield
    secrets.cache_clear()


class Strict(BaseModel):
    number: int


def line_of(form: str, message: str, *arguments: object, error: BaseException | None = None) -> str:
    """Return the line of a record of the standard library."""
    told = (type(error), error, error.__traceback__) if error else None
    return formatter(form).format(
        logging.LogRecord("benchmark.x", logging.WARNING, "x.py", 1, message, arguments, told)
    )


def test_a_line_is_text_or_json():
    structlog.contextvars.bind_contextvars(request="r1")
    try:
        text, document = (line_of(form, "run %s waits", 7) for form in ("text", "json"))
    finally:
        structlog.contextvars.clear_contextvars()
    assert text.endswith("Z WARNING benchmark.x: run 7 waits request=r1")
    parsed = json.loads(document)
    assert parsed.pop("time").endswith("Z")
    assert parsed == {"event": "run 7 waits", "level": "warning", "logger": "benchmark.x", "request": "r1"}


def test_values_of_secret_variables_are_replaced(secret: None):
    line = line_of("text", "%s was refused by %s", KEY, f"postgres://me:{PASSWORD}@host/db")
    assert line.endswith("[secret] was refused by postgres://me:[secret]@host/db")


def fail(*_: object, **__: object) -> None:
    try:
        Strict.model_validate({"number": MESSAGE})
    except ValidationError as error:
        raise ConnectionError("host a is down") from error


def raised() -> BaseException:
    """Return the exception of `fail` with its traceback."""
    with pytest.raises(ConnectionError) as caught:
        fail()
    return caught.value


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_fault_has_types_and_frames_and_quotes_nothing(form: str):
    line = line_of(form, "failed", error=raised())
    assert "ConnectionError: host a is down from ValidationError" in line
    assert f"{__file__}:" in line
    assert "in fail" in line
    assert MESSAGE not in line


def test_a_traceback_that_a_library_wrote_loses_its_messages():
    written = (
        'job failed\nTraceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: '
    )
    line = line_of("json", written + MESSAGE)
    assert json.loads(line)["event"] == "job failed"
    assert json.loads(line)["frames"] == ['File "a.py", line 1, in f']
    assert MESSAGE not in line


def test_messages_of_this_program_are_shown():
    from benchmark.providers import ProviderError

    assert fault_of(ProviderError("server", "overloaded")) == "ProviderError: overloaded"
    assert fault_of(ValueError(MESSAGE)) == "ValueError"


@pytest.mark.django_db
def test_a_request_has_one_line_without_its_query(client: Client, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", "config.request_log")
    client.get(f"/glossary/?q={MESSAGE}")
    [record] = caplog.records
    line = record.msg
    assert isinstance(line, dict)
    assert (line["method"], line["route"], line["path"], line["status"]) == (
        "GET", "glossary", "/glossary/", 200,
    )  # fmt: skip
    assert len(line["request"]) == 12


def written(caplog: pytest.LogCaptureFixture) -> str:
    """Return the captured lines as a handler writes them."""
    return "\n".join(formatter("text").format(record) for record in caplog.records)


def token_routes() -> Iterator[str]:
    """Yield the address of each route that has a token, with a canary in its place."""
    for name, (possible, *_) in ((n, v) for n, values in get_resolver().reverse_dict.lists() for v in values):
        for _, parameters in possible:
            if "token" in parameters and isinstance(name, str):
                yield reverse(name, kwargs=dict.fromkeys(parameters, "MQ") | {"token": TOKEN})


@pytest.mark.django_db
def test_no_line_of_a_failed_request_has_the_token_of_its_link(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    caplog.set_level("INFO")
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    addresses = list(token_routes())
    assert f"/set-password/MQ/{TOKEN}/" in addresses
    for address in addresses:
        assert client.post(address).status_code == 403, "Django logs the path of a refused form"
    monkeypatch.setattr("django.contrib.auth.views.PasswordResetConfirmView.dispatch", fail)
    for address in addresses:
        assert client.get(address).status_code == 500
    lines = written(caplog)
    assert "Internal Server Error: /set-password/MQ/…/" in lines
    assert "path=/set-password/MQ/…/" in lines
    assert TOKEN not in lines


@pytest.mark.django_db
def test_a_judge_fault_has_its_traceback_and_host_and_quotes_no_test(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    def grade(*_: object, **__: object) -> None:
        raise RuntimeError(f"cannot write {HIDDEN}")

    monkeypatch.setattr("judge.grade", grade)
    judgement = request_judgement(store_submission(store_doubling(), "print(1)", "python"))
    perform(judgement.pk)
    lines = [formatter("text").format(record) for record in caplog.records]
    [failed] = [line for line in lines if "judgement failed" in line]
    for part in (
        f"judgement={judgement.pk}",
        f"host={platform.node()}",
        "fault=RuntimeError",
        "performing.py:",
    ):
        assert part in failed
    assert any("judge fault" in line for line in lines)
    assert HIDDEN not in "".join(lines)
    judgement.refresh_from_db()
    assert HIDDEN in judgement.fault, "the row has the message"


def problem_with_a_hidden_canary(folder: Path, repository: Path) -> Path:
    """Return a copy of a practice problem whose hidden test contains a canary."""
    problem = folder / "canary-rolls"
    shutil.copytree(repository / "benchmark" / "practice_problems" / "last-rolls", problem)
    for name in ("generators", "growth", "input_validators", "student", "submissions"):
        shutil.rmtree(problem / name)
    manifest = problem / "problem.yaml"
    manifest.write_text(manifest.read_text().replace("afb587fc", "afb587fd"))
    shutil.rmtree(problem / "data" / "secret")
    (problem / "data" / "secret").mkdir()
    (problem / "data" / "secret" / "1.in").write_text(f"{HIDDEN}\n")
    (problem / "data" / "secret" / "1.ans").write_text(f"{HIDDEN}\n")
    return folder


def test_no_text_key_or_hidden_test_reaches_a_log(
    start_stack: StartStack, fake_providers: FakeProviders, tmp_path: Path, tmp_path_factory, repository: Path
):
    stack = start_stack(
        add_prepared(tmp_path_factory.mktemp("canaries")),
        TUTORING_MODEL="openai:gpt-4o",
        OPENAI_API_KEY=KEY,
        OPENAI_BASE_URL=fake_providers.openai_url,
        LOG_FORMAT="json",
        LOG_LEVEL="INFO",
    ).wait_until_ready()
    stack.change_rows(
        "import_problems",
        "icpc",
        str(problem_with_a_hidden_canary(tmp_path / "bank", repository)),
        "--dataset=practice",
    )
    stack.show_replies_as_they_come()
    fake_providers.script(
        Script(status=500, error=f"{MESSAGE} {KEY}"),
        Script(pieces_of(f"{REPLY}\n\n```python\n{PROGRAM}```\n")),
    )
    stranger = Visitor(stack, "demo-reviewer", "hintbench-demo")
    stranger.post("/login/", username="demo-tutor", password=PASSWORD)
    tutor = Visitor(stack, "demo-tutor", "hintbench-demo")
    path = tutor.start_session("canary-rolls", "As they come")
    tutor.get(f"{path}?q={QUERY}")
    tutor.command(f"{path}check/", text=DRAFT)
    assert tutor.command(f"{path}send/", mode="code", text=MESSAGE)[0] == 200
    socket = tutor.socket(path)
    socket.listen_until(lambda s: "reply" in s.kinds())
    assert tutor.command(f"{path}execute/")[0] == 200
    socket.listen_until(lambda s: s.status.get("state") == "closed")
    with closing(sqlite3.connect(stack.var / "hintbench.sqlite3")) as database:
        database.execute("ALTER TABLE auth_user RENAME TO away")
    assert stack.get(f"/set-password/MQ/{TOKEN}/")[0] == 500
    stack.stop()
    logs = "".join(log.read_text() for log in (stack.var / "logs").glob("*.log"))
    for canary in (MESSAGE, REPLY, HIDDEN, KEY, PASSWORD, DRAFT, QUERY, TOKEN):
        assert canary not in logs + stack.output, canary
    lines = [json.loads(line) for line in logs.splitlines() if line.startswith("{")]
    events = {line["event"] for line in lines}
    assert {"request", "command", "reply claimed", "reply finished", "judgement"} <= events
    [sent] = [line for line in lines if line["event"] == "command" and line["action"] == "SendMessage"]
    assert {"session", "account", "request"} <= sent.keys()
