"""Replies over the socket, with real processes: they survive reloads, lost connections and kill -9 of any part."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from itertools import pairwise

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.stack import Stack
from tests.tutoring.visitor import Socket, Visitor

PASSWORD = "hintbench-demo"

MAKE_TUTORS = """
from django.contrib.auth.models import Group, User
for name in {names}:
    User.objects.create_user(name, password="{password}").groups.add(Group.objects.get(name="tutor"))
"""


@pytest.fixture(scope="module")
def slow_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A running Hintbench whose practice student takes some seconds a reply; tests kill its parts."""
    running = Stack(tmp_path_factory.mktemp("live"), PRACTICE_WORD_DELAY_MS="30")
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def tutors(slow_stack: Stack) -> Iterator[str]:
    """Names of tutors nobody has used yet: sessions a problem are limited."""
    names = [f"tutor-{number}" for number in range(20)]
    slow_stack.manage("shell", "-v", "0", "-c", MAKE_TUTORS.format(names=names, password=PASSWORD))
    return iter(names)


@pytest.fixture
def tutor(slow_stack: Stack, tutors: Iterator[str]) -> Visitor:
    """A tutor of this test's own."""
    return Visitor(slow_stack, next(tutors), PASSWORD)


def ask(tutor: Visitor, path: str) -> Socket:
    """Ask for the first program and wait until some of the reply is there."""
    status, answer = tutor.command(path + "send/", mode="code", text="")
    assert (status, answer) == (200, {"accepted": True})
    socket = tutor.socket(path)
    socket.listen_until(lambda s: len(s.text) > 20)
    return socket


def assert_whole(socket: Socket) -> None:
    """The reply's event came exactly once, and the text before it only grew or began anew."""
    assert socket.kinds().count("reply") == 1
    assert "```" not in socket.events[-1]["html"]
    for (attempt, before), (next_attempt, after) in pairwise(socket.texts):
        assert next_attempt >= attempt
        assert next_attempt > attempt or after.startswith(before), "text was lost or doubled"


def test_reply_streams_and_a_reconnected_page_gets_the_rest_once(slow_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    so_far = socket.text
    socket.drop()
    socket.listen_until(lambda s: len(s.text) > len(so_far) + 20)
    assert socket.text.startswith(so_far)
    fresh = tutor.socket(path)
    fresh.listen_until(lambda s: bool(s.text))
    assert fresh.text.startswith(so_far), "a reloaded page shows the text from its beginning"
    for one in (socket, fresh):
        one.listen_until(lambda s: "reply" in s.kinds() and s.status["active_reply"] is None)
        assert_whole(one)


@pytest.mark.parametrize("part", ["web", "streamer", "valkey", "worker-1"])
def test_kill_in_the_middle_of_a_reply_loses_and_doubles_nothing(
    slow_stack: Stack, tutor: Visitor, part: str
):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    slow_stack.kill(part)
    socket.listen_until(lambda s: "reply" in s.kinds(), seconds=60)
    assert_whole(socket)
    status, page = tutor.get(path)
    assert status == 200
    assert page.count('data-kind="reply"') == 1
    slow_stack.wait_until_healthy()


def test_stop_stops_within_a_moment_and_leaves_what_was_said(slow_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    assert socket.reply is not None
    status, _ = tutor.command(path + "stop/", reply=str(socket.reply["id"]))
    assert status == 200
    socket.listen_until(lambda s: "reply" in s.kinds() and s.status["may"]["send"], seconds=5)
    assert "stopped" in socket.events[-1]["html"].lower()


def test_execution_survives_the_death_of_its_worker(slow_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    socket = ask(tutor, path)
    socket.listen_until(lambda s: "reply" in s.kinds())
    slow_stack.kill("worker-1")
    assert tutor.command(path + "execute/")[0] == 200
    socket.listen_until(lambda s: "closed" in s.kinds(), seconds=60)
    assert socket.kinds().count("verdict") == 1
    status, answer = tutor.command(path + "send/", mode="talk", text="And now?")
    assert status == 409
    assert "closed" in answer["message"]


def test_socket_turns_strangers_away(slow_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    reviewer = Visitor(slow_stack, "demo-reviewer", PASSWORD).socket(path)
    reviewer.listen_until(lambda s: s.close_code is not None)
    assert reviewer.close_code == 4403
    other = Visitor(slow_stack, "demo-tutor", PASSWORD).socket(path)
    other.listen_until(lambda s: s.close_code is not None)
    assert other.close_code == 4404
    nobody = Visitor(slow_stack, "demo-tutor", PASSWORD)
    nobody.jar.clear()
    stranger = nobody.socket(path)
    stranger.listen_until(lambda s: s.close_code is not None)
    assert stranger.close_code == 4401
    foreign_page = slow_stack.url.replace("http://", "ws://") + "/ws" + path
    with pytest.raises(InvalidStatus, match="403"):
        connect(foreign_page, additional_headers={"Origin": "https://evil.example"})


def test_socket_of_who_logs_out_is_closed(slow_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    socket = tutor.socket(path)
    socket.listen_until(lambda s: bool(s.events))
    tutor.post("/logout/")
    socket.listen_until(lambda s: s.close_code is not None)
    assert socket.close_code == 4401


def test_nonsense_on_the_socket_is_answered_and_survived(slow_stack: Stack, tutor: Visitor):
    path = tutor.start_session("last-rolls")
    socket = tutor.socket(path)
    socket.listen_until(lambda s: bool(s.events))
    connection = socket._connection
    assert connection is not None
    for text in ("not json", "[]", '{"op": "execute"}', '{"op": "sync"}', "x" * 5000):
        connection.send(text)
        while True:
            answer = connection.recv(timeout=10)
            if '"error"' in str(answer):
                break
    assert urllib.request.urlopen(slow_stack.url + "/healthz").status == 200
