"""The real settings with additional jobs for tests, and with fast hashes of passwords."""

from config.settings import *  # noqa: F403
from config.settings import WORKER_JOBS

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WORKER_JOBS = WORKER_JOBS | {"tests.config.jobs.note": (str, str), "tests.config.jobs.work_long": (str,)}
