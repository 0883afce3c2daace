"""The fixture `fake_providers`: one server for the whole test session, reset before each test."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.fake_providers.server import FakeProviders


@pytest.fixture(scope="session")
def fake_provider_server() -> Iterator[FakeProviders]:
    """Return the server behind `fake_providers`, which keeps its state between tests."""
    server = FakeProviders()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def fake_providers(fake_provider_server: FakeProviders, settings: Settings) -> Iterator[FakeProviders]:
    """Return fake providers without calls or scripts; every provider setting points to them.

    Another process reaches them when OPENAI_BASE_URL and the like are set to `openai_url` and `anthropic_url`.
    """
    settings.OPENAI_API_KEY = settings.ANTHROPIC_API_KEY = "sk-fake-000000"
    settings.COMPATIBLE_API_KEY = ""
    settings.OPENAI_BASE_URL = settings.COMPATIBLE_BASE_URL = fake_provider_server.openai_url
    settings.ANTHROPIC_BASE_URL = fake_provider_server.anthropic_url
    settings.PROVIDER_TIMEOUT = 10
    fake_provider_server.reset()
    yield fake_provider_server
    fake_provider_server.reset()
