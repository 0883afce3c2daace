"""The imitation itself, where the providers' tests do not reach it."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.imitation import Imitation
from tests.stack import HANG


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=HANG) as response:
        return json.load(response)


BODY = {"model": "fixed:two words", "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 9}


def test_replies_that_are_not_streamed_come_whole(imitation: Imitation):
    openai = ask(f"{imitation.openai_url}/chat/completions", BODY)
    assert openai["choices"][0]["message"]["content"] == "two words"
    anthropic = ask(f"{imitation.anthropic_url}/v1/messages", BODY)
    assert anthropic["content"][0]["text"] == "two words"
    assert [request.path for request in imitation.requests] == ["/v1/chat/completions", "/v1/messages"]


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/v1/chat/completions", {"top_k": 1}),
        ("/v1/messages", {"seed": 1}),
        ("/v1/messages", {"max_tokens": None}),
    ],
)
def test_it_is_as_strict_as_the_real_services(imitation: Imitation, path, change):
    body = {name: value for name, value in (BODY | change).items() if value is not None}
    with pytest.raises(urllib.error.HTTPError, match="400"):
        ask(imitation.anthropic_url + path, body)


def test_it_runs_on_its_own_until_it_is_told_to_stop(repository):
    command = [sys.executable, "-m", "tests.imitation", "--port", "0"]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())
        answer = ask(f"{address['openai_url']}/chat/completions", BODY)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert answer["usage"]["prompt_tokens"] == 11
