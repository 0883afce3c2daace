"""Fake model providers that speak the real wire formats; `python -m tests.fake_providers` runs them alone."""

from tests.fake_providers.scripts import BatchScript, Hold, Script, Tokens, failure, pieces_of
from tests.fake_providers.server import FakeProviders, Request

__all__ = ["BatchScript", "FakeProviders", "Hold", "Request", "Script", "Tokens", "failure", "pieces_of"]
