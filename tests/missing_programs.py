"""Tests whose program is missing: skipped on a developer's machine, failed in continuous integration."""

import os
from typing import NoReturn

import pytest


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test because a program is missing; under CI=true, fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
