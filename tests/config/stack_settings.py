"""The real settings with additional jobs for tests."""

from config.settings import *  # noqa: F403
from config.settings import WORKER_JOBS

WORKER_JOBS = WORKER_JOBS | {"tests.config.jobs.note": (str, str), "tests.config.jobs.work_long": (str,)}
