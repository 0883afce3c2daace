"""The settings of the tests: the real settings with a temporary variable folder."""

import os
import tempfile
from pathlib import Path

_VAR = tempfile.TemporaryDirectory(prefix="hintbench-tests-")
os.environ["HINTBENCH_VAR"] = _VAR.name
os.environ.setdefault("PRACTICE_WORD_DELAY_MS", "0")
os.environ.pop("DATABASE_URL", None)

# The folder of the first process, which other processes of the test run inherit; see cached_fixtures.py.
_SHARED = os.environ.setdefault("HINTBENCH_TESTS", _VAR.name)

os.mkdir(os.path.join(_VAR.name, "static"))

from config.settings import *  # noqa: E402, F403

# All processes share compiled programs.
JUDGE_CACHE = Path(os.environ.setdefault("JUDGE_CACHE", os.path.join(_SHARED, "judge")))
JUDGE_CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)

# One database for each process, which tests/conftest.py fills.
DATABASES = {"default": DATABASES["default"] | {"NAME": "file:tests?mode=memory&cache=shared"}}  # noqa: F405

# The real hashers are slow by design.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# The middleware finds a static file when it is requested. It would list all of them for each test client.
WHITENOISE_AUTOREFRESH = True

# Names without a hash need no collected files. The tests with a running site use the real storage.
STORAGES = STORAGES | {  # noqa: F405
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
}
