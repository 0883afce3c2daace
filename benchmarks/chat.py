"""The delay that Hintbench adds to streamed text: real server, streamer, queue server and sockets; fake provider.

    python -m benchmarks.chat [--chats N] [--rate N] [--seconds N] [--paragraph N]

The tutors send their messages one after the other, within `--seconds`, because people do not press at the same moment.
Then all chats stream for `--seconds`: the delays are those of the tokens in this time.

Every token is the time at which the provider sent it; a reader of the session's socket computes the delay. Paragraphs
of 40 tokens are rendered when they have ended, as in a real reply. The floor is the delay of the same tokens that as
many clients read from the provider itself. Target: 50 chats at 50 tokens per second with a 95th percentile of at most
100 ms on two cores, load generator included; the same for `--chats 150`. The CPU time of Hintbench's processes depends
less on other load; it is printed for each message that a browser received and for each token, with the beginnings and
ends of the replies. The protocol shows text as it arrives; a blind protocol would add its own schedule.

Then all chats stream again, and the tutors of some stop their replies. The measured times are those from the press to
the page that shows the stop, and to the end of the connection, which the provider notices with its next token. Target:
200 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from uuid import uuid4

from websockets.asyncio.client import connect

from tests.fake_providers import FakeProviders
from tests.stack import Stack

TARGET = 0.1
STOP_TARGET = 0.2
STOPS = 10
CSRF = "c" * 32
CARRIERS = ("web", "streamer", "valkey")
STAMP = re.compile(r"\d{10}\.\d{4} ")

OPEN = """
import json
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, User
from accounts.sessions import SessionStore
from benchmark.model_calls.catalogue import model_for
from benchmark.models import Problem
from benchmark.providers import Parameters, parse_model_spec
from tutoring.actions import StartSession
from tutoring.protocols import PRESETS, freeze
problem = Problem.objects.filter(dataset__name="practice").first()
as_it_arrives = dict(characters_per_second=None, seconds_to_first_word=None, consent="")
protocol = freeze("as-it-arrives", PRESETS["usaco-2024"].with_settings(**as_it_arrives))
model = model_for(parse_model_spec("openai:clock-{pause}ms-{tokens}-{paragraph}"), Parameters())
chats = []
for number in range({chats}):
    tutor = User.objects.create(username=f"load-{{number}}")
    tutor.groups.add(Group.objects.get(name="tutor"))
    store = SessionStore()
    store[SESSION_KEY] = str(tutor.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = tutor.get_session_auth_hash()
    store.create()
    session = StartSession(tutor, problem, protocol, model).execute()
    chats.append((store.session_key, str(session.pk)))
print(json.dumps(chats))
"""

ASK = """
import time
from uuid import uuid4
from tutoring.actions import SendMessage
from tutoring.models import Session
sessions = Session.objects.filter(tutor__username__startswith="load-")
begun = time.monotonic()
for number, session in enumerate(sessions):
    time.sleep(max(0, begun + {seconds} * number / len(sessions) - time.monotonic()))
    command = dict(session_id=session.pk, person=session.tutor, command=uuid4())
    SendMessage(**command, mode="talk", text=f"Go on, {{session.pk}}.").execute()
"""


class Reader:
    """One browser tab, which collects the shown text and the delay of every token."""

    def __init__(self, url: str, cookie: str, session: str) -> None:
        self.url, self.session = url, session
        self.address = f"{url.replace('http://', 'ws://')}/ws/sessions/{session}/"
        self.headers = {"Cookie": f"sessionid={cookie}; csrftoken={CSRF}", "Origin": url}
        self.reply = 0
        self.ended_at = 0.0
        self.delays: list[tuple[float, float]] = []  # the time of each token, and its delay
        self.seen = 0
        self.messages = 0

    async def read(self, ready: asyncio.Semaphore, replies: int = 1) -> None:
        """Wait until the events of this number of replies have arrived."""
        async with connect(self.address, additional_headers=self.headers) as socket:
            await socket.send(json.dumps({"op": "sync", "after": 0}))
            text = ""
            async for message in socket:
                news = json.loads(message)
                self.messages += 1
                match news["type"]:
                    case "status":
                        ready.release()
                    case "delta":
                        text += news["text"]
                    case "snapshot":
                        text = news["text"]
                        self.reply = news["reply"]
                    case "events":
                        replies -= sum(event["kind"] == "reply" for event in news["events"])
                        if replies == 0:
                            self.ended_at = time.time()
                            return
                self._measure(text)

    async def stop(self, tokens: float) -> float:
        """Press Stop after this number of tokens, as the page does; return the time."""
        while len(self.delays) < tokens:
            await asyncio.sleep(0.005)
        fields = {"csrfmiddlewaretoken": CSRF, "command": str(uuid4()), "reply": str(self.reply)}
        request = urllib.request.Request(
            f"{self.url}/sessions/{self.session}/stop/",
            urllib.parse.urlencode(fields).encode(),
            self.headers | {"Accept": "application/json"},
        )
        pressed = time.time()
        await asyncio.to_thread(lambda: urllib.request.urlopen(request).read())
        return pressed

    def _measure(self, text: str) -> None:
        now = time.time()
        for stamp in STAMP.findall(text[self.seen :]):
            self.delays.append((float(stamp), now - float(stamp)))
        self.seen = text.rfind(" ") + 1


def run_code(stack: Stack, code: str) -> str:
    """Run Python code with the settings of the stack; return its output."""
    return stack.manage("shell", "--no-imports", "-v", "0", "-c", code).stdout


def processor_time(stack: Stack) -> dict[str, float]:
    """Return the CPU seconds of the processes that transmit text."""
    tick = os.sysconf("SC_CLK_TCK")
    parts = {name: pid for name, pid in stack.pids().items() if name in CARRIERS}
    fields = {
        name: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for name, pid in parts.items()
    }
    return {name: (int(field[11]) + int(field[12])) / tick for name, field in fields.items()}


async def measure(
    stack: Stack, chats: list[list[str]], seconds: int
) -> tuple[list[Reader], float, dict[str, float]]:
    """Read all chats, and measure the CPU seconds of each process. All connect before the first request.

    Return the readers, the time at which the last chat was begun, and the CPU seconds.
    """
    readers = [Reader(stack.url, cookie, session) for cookie, session in chats]
    ready = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(reader.read(ready)) for reader in readers]
    for _ in readers:
        await asyncio.wait_for(ready.acquire(), 30)
    before = processor_time(stack)
    await asyncio.to_thread(run_code, stack, ASK.format(seconds=seconds))
    begun = time.time()
    await asyncio.wait_for(asyncio.gather(*tasks), 300)
    after = processor_time(stack)
    return readers, begun, {name: after[name] - before[name] for name in CARRIERS}


async def measure_stops(
    stack: Stack, chats: list[list[str]], fake_providers: FakeProviders, tokens: int, seconds: int
) -> tuple[list[float], list[float]]:
    """Stop some of the streaming chats; return the seconds to the page and to the end of the connection."""
    readers = [Reader(stack.url, cookie, session) for cookie, session in chats]
    ready = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(reader.read(ready, replies=2)) for reader in readers]
    for _ in readers:
        await asyncio.wait_for(ready.acquire(), 30)
    stopping = readers[-STOPS:]  # the last ones, so that all others stream
    places = [tokens * (0.1 + 0.4 * number / STOPS) for number in range(len(stopping))]
    asked = asyncio.create_task(asyncio.to_thread(run_code, stack, ASK.format(seconds=seconds)))
    pressed = await asyncio.gather(
        *(reader.stop(place) for reader, place in zip(stopping, places, strict=True))
    )
    await asked
    await asyncio.wait_for(asyncio.gather(*tasks), 300)
    left = {
        session: request.left_at
        for request in fake_providers.requests
        if request.left_at is not None
        for session in re.findall(r"Go on, (\S+)\.", request.body["messages"][-1]["content"])
    }
    shown = [reader.ended_at - at for reader, at in zip(stopping, pressed, strict=True)]
    ended = [
        left[reader.session] - at
        for reader, at in zip(stopping, pressed, strict=True)
        if reader.session in left  # on a busy machine the provider may already have sent the whole reply
    ]
    if not ended:
        raise SystemExit("The machine is too busy: every call was over before its stop.")
    return shown, ended


async def floor(port: int, chats: int, pause: int, tokens: int) -> list[float]:
    """Return the delays of the same tokens, read from the provider itself."""
    delays: list[float] = []
    body = json.dumps(
        {"model": f"clock-{pause}ms-{tokens}", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    )

    async def read() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write((head + body).encode())
        while line := await reader.readline():
            delays.extend(time.time() - float(stamp) for stamp in STAMP.findall(line.decode()))
            if line.startswith(b"data: [DONE]"):
                break
        writer.close()

    await asyncio.gather(*(read() for _ in range(chats)))
    return delays


def percentiles(delays: list[float]) -> str:
    ordered = sorted(delays)
    picked = [ordered[int(len(ordered) * share)] * 1e3 for share in (0.5, 0.95, 0.99)]
    return "".join(f"{value:10.1f}" for value in picked) + f"{ordered[-1] * 1e3:10.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--rate", type=int, default=50, help="tokens a second of each chat")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--paragraph", type=int, default=40, help="tokens of a paragraph")
    options = parser.parse_args()
    chats, rate, seconds, paragraph = options.chats, options.rate, options.seconds, options.paragraph
    pause = 1000 // rate
    tokens = 2 * rate * seconds  # each chat streams while the others begin, and then with all
    fake_providers = FakeProviders()
    fake_providers.start()
    straight = asyncio.run(floor(fake_providers.port, chats, pause, tokens))
    with tempfile.TemporaryDirectory(prefix="hintbench-chat-") as folder:
        os.environ["OPENAI_API_KEY"] = "sk-fake"
        stack = Stack(Path(folder), OPENAI_API_KEY="sk-fake", OPENAI_BASE_URL=fake_providers.openai_url)
        try:
            stack.wait_until_ready()
            code = OPEN.format(chats=chats, pause=pause, tokens=tokens, paragraph=paragraph)
            opened = json.loads(run_code(stack, code))
            readers, begun, used = asyncio.run(measure(stack, opened, seconds))
            shown, ended = asyncio.run(measure_stops(stack, opened, fake_providers, tokens, seconds))
        finally:
            stack.stop()
            fake_providers.stop()
    seen = sum(len(reader.delays) for reader in readers)
    first_end = min(reader.ended_at for reader in readers)
    delays = [delay for reader in readers for stamp, delay in reader.delays if begun <= stamp <= first_end]
    print(f"{chats} chats at {rate} tokens/s: {seen} of {chats * tokens} tokens seen")
    print(f"{len(delays)} tokens within {first_end - begun:.1f} s in which all chats streamed")
    print(f"{'ms':<12}{'median':>10}{'p95':>10}{'p99':>10}{'max':>10}")
    print(f"{'floor':<12}{percentiles(straight)}")
    print(f"{'Hintbench':<12}{percentiles(delays)}")
    messages = sum(reader.messages for reader in readers)
    each = {name: seconds / messages * 1e3 for name, seconds in used.items()}
    shares = ", ".join(f"{name} {milliseconds:.3f}" for name, milliseconds in each.items())
    print(f"CPU ms a message to a browser: {sum(each.values()):.3f} ({shares}), {messages} messages")
    print(f"CPU ms a token: {sum(used.values()) / (chats * tokens) * 1e3:.3f}")
    late = sorted(delays)[int(len(delays) * 0.95)]
    print(
        f"added at p95: {(late - sorted(straight)[int(len(straight) * 0.95)]) * 1e3:.1f} ms (target {TARGET * 1e3:.0f})"
    )
    print(
        f"{'Stop: shown':<20}{percentiles(shown)}  (target {STOP_TARGET * 1e3:.0f} at p95, {len(shown)} stops)"
    )
    print(f"{'connection ended':<20}{percentiles(ended)}  (the same target, {len(ended)} stops)")
    stopped = max(sorted(times)[int(len(times) * 0.95)] for times in (shown, ended))
    complete = seen >= 0.9 * chats * tokens
    return 0 if complete and late <= TARGET and stopped <= STOP_TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
