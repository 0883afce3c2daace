"""The fixture `imitation`: a fresh state of one server for the whole test session."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.imitation.server import Imitation


@pytest.fixture(scope="session")
def imitation_server() -> Iterator[Imitation]:
    server = Imitation()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def imitation(imitation_server: Imitation, settings: Settings) -> Iterator[Imitation]:
    """The imitation without calls or scripts, and every provider's settings pointing at it.

    Another process reaches it through OPENAI_BASE_URL and the like, set to `openai_url` and `anthropic_url`.
    """
    settings.OPENAI_API_KEY = settings.ANTHROPIC_API_KEY = "sk-imitation-000000"
    settings.COMPATIBLE_API_KEY = ""
    settings.OPENAI_BASE_URL = settings.COMPATIBLE_BASE_URL = imitation_server.openai_url
    settings.ANTHROPIC_BASE_URL = imitation_server.anthropic_url
    settings.PROVIDER_TIMEOUT = 10
    imitation_server.reset()
    yield imitation_server
    imitation_server.reset()
