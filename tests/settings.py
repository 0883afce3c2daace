"""The settings of the tests: the real ones, with a variable folder that goes when the tests end."""

import os
import tempfile
from pathlib import Path

_VAR = tempfile.TemporaryDirectory(prefix="hintbench-tests-")
os.environ["HINTBENCH_VAR"] = _VAR.name
os.environ.setdefault("PRACTICE_WORD_DELAY_MS", "0")
os.environ.pop("DATABASE_URL", None)

# Of the first process of a test run, which the others get with their environment: what they share, see made_once.py.
_SHARED = os.environ.setdefault("HINTBENCH_TESTS", _VAR.name)

os.mkdir(os.path.join(_VAR.name, "static"))

from config.settings import *  # noqa: E402, F403

# What one process compiles is compiled for all.
JUDGE_CACHE = Path(os.environ.setdefault("JUDGE_CACHE", os.path.join(_SHARED, "judge")))
JUDGE_CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)

# Each process has its own, which tests/conftest.py fills.
DATABASES = {"default": DATABASES["default"] | {"NAME": "file:tests?mode=memory&cache=shared"}}  # noqa: F405

# Hashing passwords slowly is the point of the real hashers, and most of the time of a test that logs in.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
