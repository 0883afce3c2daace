"""Fixtures that run management commands."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command


@pytest.fixture
def manage(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that runs a command and returns its JSON document, with `error` if it failed."""

    def command(*arguments: str) -> Any:
        try:
            call_command(*arguments, "--json")
        except CommandError as error:
            return {"error": str(error), **json.loads(capsys.readouterr().out or "{}")}
        return json.loads(capsys.readouterr().out)

    return command
