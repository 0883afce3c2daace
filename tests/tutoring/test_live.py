"""Replies over the socket with real processes, through reloads, lost connections and killed processes."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.fake_providers import FakeProviders, Hold, Script, failure, pieces_of
from tests.stack import HANG, Stack
from tests.tutoring.visitor import Socket, Visitor

PASSWORD = "hintbench-demo"

SCHEDULE = 2
"""Seconds after which a blind reply appears."""

PACE = 60
"""Characters per second of a blind reply, which therefore appears for about four seconds: a busy machine that reads
late still receives parts of it."""

MAKE_TUTORS = """
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
password = make_password("{password}")  # once: hashing is slow
tutors = User.objects.bulk_create(User(username=name, password=password) for name in {names})
Group.objects.get(name="tutor").user_set.add(*tutors)
from tutoring.protocols import PRESETS, freeze
schedule = {{"seconds_to_first_word": {schedule}, "characters_per_second": {pace}}}
blind = PRESETS["usaco-2024"].with_settings(title="Blind", **schedule)
freeze("blind", blind)
freeze("later", blind.with_settings(title="Later", seconds_to_first_word={hang}))
"""

WORDS = " ".join(f"word{number}" for number in range(30))
REPLY = pieces_of(f"I begin. {WORDS} and end.\n\n```python\nprint(1)\n```\n\nThat was all.")
HELD = 20
BEGINNING = "".join(REPLY[:HELD])
"""The text of a reply that is held."""


def make_tutors(stack: Stack, names: list[str]) -> None:
    """Make tutors with these names, and the protocols "blind" and "later"."""
    script = MAKE_TUTORS.format(names=names, password=PASSWORD, schedule=SCHEDULE, pace=PACE, hang=HANG)
    stack.change_rows("shell", "-v", "0", "-c", script)


@pytest.fixture(scope="module")
def tutors(fake_provider_stack: Stack) -> Iterator[str]:
    """Names of unused tutors: the number of sessions on a problem is limited."""
    names = [f"tutor-{number}" for number in range(20)]
    make_tutors(fake_provider_stack, names)
    return iter(names)


@pytest.fixture
def tutor(fake_provider_stack: Stack, tutors: Iterator[str]) -> Visitor:
    """A tutor that no other test uses."""
    return Visitor(fake_provider_stack, next(tutors), PASSWORD)


@pytest.fixture
def hold(fake_providers: FakeProviders) -> Hold:
    """The next reply stops in its middle until `release()`; the one after it does not."""
    hold = Hold(HELD)
    fake_providers.script(Script(REPLY, delay=0.005, hold=hold), Script(REPLY))
    return hold


def ask(tutor: Visitor, path: str) -> Socket:
    """Request the first program and wait until the reply is held in its middle."""
    status, answer = tutor.command(path + "send/", mode="code", text="")
    assert (status, answer) == (200, {"accepted": True})
    socket = tutor.socket(path)
    socket.listen_until(lambda s: s.text == BEGINNING)
    return socket


def assert_whole(socket: Socket) -> None:
    """Assert that the reply's event came once and whole, and that the text before it only grew or restarted."""
    assert socket.kinds().count("reply") == 1
    html = socket.events[-1]["html"]
    assert "I begin" in html
    assert "That was all." in html
    assert "```" not in html
    for (attempt, before), (next_attempt, after) in pairwise(socket.texts):
        assert next_attempt >= attempt
        assert next_attempt > attempt or after.startswith(before), "text was lost or doubled"


def test_reply_streams_and_a_reconnected_page_gets_the_rest_once(
    fake_provider_stack: Stack, tutor: Visitor, hold: Hold
):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    fresh = tutor.socket(path)
    fresh.listen_until(lambda s: bool(s.text))
    assert fresh.text == BEGINNING, "a reloaded page shows the text from its beginning"
    socket.drop()
    hold.release()
    for one in (socket, fresh):
        one.listen_until(lambda s: "reply" in s.kinds() and s.status.get("active_reply", "unknown") is None)
        assert_whole(one)


def test_a_page_that_lost_the_status_after_its_last_event_gets_it_on_the_next_connection(
    fake_provider_stack: Stack, tutor: Visitor
):
    path = tutor.start_session("last-rolls")
    assert tutor.command(path + "send/", mode="code", text="")[0] == 200
    socket = tutor.socket(path)
    socket.listen_until(lambda s: "reply" in s.kinds() and s.status.get("active_reply", "unknown") is None)
    socket.drop()
    socket.status = {}
    events = len(socket.events)
    socket.listen_until(lambda s: bool(s.status))
    assert socket.status["may"]["send"]
    assert len(socket.events) == events


def test_page_says_that_no_process_writes_replies_until_one_does(fake_provider_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    streamer = fake_provider_stack.pid_of("streamer")
    os.kill(streamer, signal.SIGSTOP)
    try:
        assert tutor.command(path + "send/", mode="code", text="")[0] == 200
        socket = tutor.socket(path)
        socket.listen_until(lambda s: s.status.get("outage") is True)
        assert "No reply can be written now" in socket.status["html"]
        assert json.loads(fake_provider_stack.get("/healthz")[1])["streamer"] == "missing"
    finally:
        os.kill(streamer, signal.SIGCONT)
    socket.listen_until(lambda s: "reply" in s.kinds() and s.status.get("outage") is False)


@pytest.mark.parametrize("part", ["web", "streamer", "valkey", "worker-1"])
def test_kill_in_the_middle_of_a_reply_loses_and_doubles_nothing(
    fake_provider_stack: Stack, tutor: Visitor, hold: Hold, part: str
):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    fake_provider_stack.kill(part)
    hold.release()
    socket.listen_until(lambda s: "reply" in s.kinds())
    assert_whole(socket)
    status, page = tutor.get(path)
    assert status == 200
    assert page.count('data-kind="reply"') == 1
    fake_provider_stack.wait_until_healthy()


def test_stop_ends_a_stalled_reply_and_keeps_its_text(fake_provider_stack: Stack, tutor: Visitor, hold: Hold):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    assert socket.reply is not None
    status, _ = tutor.command(path + "stop/", reply=str(socket.reply["id"]))
    assert status == 200
    socket.listen_until(lambda s: "reply" in s.kinds() and s.status.get("may", {}).get("send"))
    html = socket.events[-1]["html"]
    assert "stopped" in html.lower()
    assert BEGINNING.split()[-1] in html
    assert not hold.released.is_set()


def test_blind_tutors_socket_is_the_same_with_a_fast_and_a_slow_model(
    fake_provider_stack: Stack, tutors: Iterator[str], fake_providers: FakeProviders
):
    late = Hold(HELD)
    scripts = {
        "fast": Script(REPLY),
        "slow": Script(REPLY, delay=0.02),
        "failing": failure(401),
        "late": Script(REPLY, hold=late),
        "stopped": Script(REPLY),
    }
    sockets, paths, asked = {}, {}, {}
    for name, script in scripts.items():
        tutor = Visitor(fake_provider_stack, next(tutors), PASSWORD)
        title = "Later" if name == "stopped" else "Blind"  # so that it is stopped before it appears
        paths[name] = tutor.start_session("last-rolls", title)
        sockets[name] = tutor.socket(paths[name])
        sockets[name].listen_until(lambda s: bool(s.status))
        fake_providers.script(script)
        asked[name] = time.monotonic()
        assert tutor.command(paths[name] + "send/", mode="code", text="")[0] == 200
        fake_provider_stack.wait_for(lambda: len(fake_providers.requests) == len(sockets))
    all_asked = time.monotonic()
    sockets["stopped"].listen_until(lambda s: s.reply is not None)
    reply = sockets["stopped"].reply
    assert reply is not None
    assert tutor.command(paths["stopped"] + "stop/", reply=str(reply["id"]))[0] == 200
    sockets["stopped"].listen_until(lambda s: "reply" in s.kinds())
    assert "I begin" not in tutor.get(paths["stopped"])[1], "text that was not shown is not part of the reply"
    for name in ("fast", "slow"):
        sockets[name].listen_until(
            lambda s: "reply" in s.kinds() and s.status.get("active_reply", "unknown") is None
        )
        assert_whole(sockets[name])
        first = next(at for at, message in sockets[name].messages if message["type"] == "delta")
        assert first - asked[name] >= SCHEDULE
    assert shape_of(sockets["fast"]) == shape_of(sockets["slow"])
    sockets["failing"].listen_until(lambda s: "reply_failed" in s.kinds())
    assert sockets["failing"].messages[-1][0] - asked["failing"] >= SCHEDULE, "a failure is shown on schedule"
    fake_provider_stack.wait_for(lambda: time.monotonic() - all_asked > SCHEDULE)
    late.release()
    sockets["late"].listen_until(
        lambda s: "reply" in s.kinds() and s.status.get("active_reply", "unknown") is None
    )
    assert shape_of(sockets["late"]) == shape_of(sockets["fast"])
    researcher = Visitor(fake_provider_stack, "demo-researcher", PASSWORD)
    _, record = researcher.get(paths["late"].replace("/sessions/", "/trajectories/"))
    assert "Delayed replies</dt><dd>1 of 1" in record


def shape_of(socket: Socket) -> list[tuple[object, ...]]:
    """Return everything on the socket that could reveal the model: kinds, keys, numbers; text and its blocks as one."""
    shape: list[tuple[object, ...]] = []
    for _, message in socket.messages:
        if message["type"] == "blocks":
            continue
        events = [(event["seq"], event["kind"]) for event in message.get("events", ())]
        numbers = [message.get(key) for key in ("attempt", "state", "may")]
        entry = (message["type"], sorted(message), events, numbers)
        if message["type"] != "delta" or entry != shape[-1]:
            shape.append(entry)
    return shape


def test_database_that_refuses_keeps_a_reply_waiting_and_loses_nothing(
    fake_provider_stack: Stack, tutor: Visitor, fake_providers: FakeProviders, hold: Hold
):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    with closing(sqlite3.connect(fake_provider_stack.var / "hintbench.sqlite3", timeout=HANG)) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON tutoring_replydelta "
            "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        hold.release()
        socket.listen_until(lambda s: s.messages[-1][1]["type"] == "waiting")
        assert tutor.get(path)[0] == 200, "stored rows can be read"
        assert socket.text == BEGINNING
        database.execute("DROP TRIGGER full")
    socket.listen_until(lambda s: "reply" in s.kinds())
    assert_whole(socket)
    assert {attempt for attempt, text in socket.texts if text} == {1}
    assert len(fake_providers.requests) == 1


def test_execution_survives_the_death_of_its_worker(fake_provider_stack: Stack, tutor: Visitor, hold: Hold):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    hold.release()
    socket.listen_until(lambda s: "reply" in s.kinds())
    fake_provider_stack.kill("worker-1")
    assert tutor.command(path + "execute/")[0] == 200
    socket.listen_until(lambda s: "closed" in s.kinds())
    assert socket.kinds().count("verdict") == 1
    status, answer = tutor.command(path + "send/", mode="talk", text="And now?")
    assert status == 409
    assert "closed" in answer["message"]


def test_socket_turns_strangers_away(fake_provider_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    reviewer = Visitor(fake_provider_stack, "demo-reviewer", PASSWORD).socket(path)
    reviewer.listen_until(lambda s: s.close_code is not None)
    assert reviewer.close_code == 4403
    other = Visitor(fake_provider_stack, "demo-tutor", PASSWORD).socket(path)
    other.listen_until(lambda s: s.close_code is not None)
    assert other.close_code == 4404
    nobody = Visitor(fake_provider_stack, "demo-tutor", PASSWORD)
    nobody.jar.clear()
    stranger = nobody.socket(path)
    stranger.listen_until(lambda s: s.close_code is not None)
    assert stranger.close_code == 4401
    foreign_page = fake_provider_stack.url.replace("http://", "ws://") + "/ws" + path
    with pytest.raises(InvalidStatus, match="403"):
        connect(foreign_page, additional_headers={"Origin": "https://evil.example"})


def test_socket_of_who_logs_out_is_closed(fake_provider_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    socket = tutor.socket(path)
    socket.listen_until(lambda s: bool(s.events))
    tutor.post("/logout/")
    socket.listen_until(lambda s: s.close_code is not None)
    assert socket.close_code == 4401


def test_socket_of_an_erased_session_is_closed(fake_provider_stack: Stack, tutors: Iterator[str]):
    name = next(tutors)
    tutor = Visitor(fake_provider_stack, name, PASSWORD)
    socket = tutor.socket(tutor.start_session("last-rolls"))
    socket.listen_until(lambda s: bool(s.status))
    fake_provider_stack.manage("withdraw_consent", name, "--erase")
    socket.listen_until(lambda s: s.close_code is not None)
    assert (socket.close_code, socket.reconnections) == (4404, 0)


def test_sockets_close_when_an_admin_ends_the_logins(fake_provider_stack: Stack, tutors: Iterator[str]):
    name = next(tutors)
    tutor = Visitor(fake_provider_stack, name, PASSWORD)
    path = tutor.start_session("last-rolls")
    sockets = [tutor.socket(path), tutor.socket(path)]
    for socket in sockets:
        socket.listen_until(lambda s: bool(s.events))
    admin = Visitor(fake_provider_stack, "demo-admin", PASSWORD)
    account = re.search(rf'href="(/accounts/\d+/)">{name}<', admin.get(f"/accounts/?name={name}")[1])
    assert account is not None
    admin.post(f"{account[1]}change/", command="end-logins")
    for socket in sockets:
        socket.listen_until(lambda s: s.close_code is not None)
        assert socket.close_code == 4401
    assert "Log in" in tutor.get(path)[1]


def test_nonsense_on_the_socket_is_answered_and_survived(fake_provider_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    socket = tutor.socket(path)
    socket.listen_until(lambda s: bool(s.events))
    connection = socket._connection
    assert connection is not None
    for text in ("not json", "[]", '{"op": "execute"}', '{"op": "sync"}', "x" * 5000):
        connection.send(text)
        while True:
            answer = connection.recv(timeout=HANG)
            if '"error"' in str(answer):
                break
    assert urllib.request.urlopen(fake_provider_stack.url + "/healthz").status == 200
