"""The fake providers: features that the tests of the real SDKs do not use."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.fake_providers import FakeProviders
from tests.stack import HANG


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=HANG) as response:
        return json.load(response)


BODY = {"model": "fixed:two words", "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 9}


def test_a_reply_without_streaming_is_one_document(fake_providers: FakeProviders):
    openai = ask(f"{fake_providers.openai_url}/chat/completions", BODY)
    assert openai["choices"][0]["message"]["content"] == "two words"
    anthropic = ask(f"{fake_providers.anthropic_url}/v1/messages", BODY)
    assert anthropic["content"][0]["text"] == "two words"
    assert [request.path for request in fake_providers.requests] == ["/v1/chat/completions", "/v1/messages"]


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/v1/chat/completions", {"top_k": 1}),
        ("/v1/messages", {"seed": 1}),
        ("/v1/messages", {"max_tokens": None}),
    ],
)
def test_unknown_or_missing_parameters_are_rejected(fake_providers: FakeProviders, path, change):
    body = {name: value for name, value in (BODY | change).items() if value is not None}
    with pytest.raises(urllib.error.HTTPError, match="400"):
        ask(fake_providers.anthropic_url + path, body)


@pytest.mark.slow
def test_the_command_serves_until_sigterm(repository):
    command = [sys.executable, "-m", "tests.fake_providers", "--port", "0"]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())
        answer = ask(f"{address['openai_url']}/chat/completions", BODY)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert answer["usage"]["prompt_tokens"] == 11
