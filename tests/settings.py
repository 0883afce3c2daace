"""The settings of the tests: the real ones, with a variable folder that goes when the tests end."""

import os
import tempfile
from pathlib import Path

_VAR = tempfile.TemporaryDirectory(prefix="hintbench-tests-")
os.environ["HINTBENCH_VAR"] = _VAR.name
os.environ.setdefault("PRACTICE_WORD_DELAY_MS", "0")

os.mkdir(os.path.join(_VAR.name, "static"))

from config.settings import *  # noqa: E402, F403

# One for all processes of a test run: what they compile is compiled once.
JUDGE_CACHE = Path(os.environ.setdefault("JUDGE_CACHE", os.path.join(_VAR.name, "judge")))
JUDGE_CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)

# Hashing passwords slowly is the point of the real hashers, and most of the time of a test that logs in.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
