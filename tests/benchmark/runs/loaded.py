"""Modules that the commands need, loaded before the fork; this opens no connection."""

import django

django.setup()

import scipy.stats  # noqa: E402, F401  (figures need it: most of the time that a small run takes)

import benchmark.management.commands.report  # noqa: E402
import benchmark.management.commands.run_baseline  # noqa: E402
import benchmark.providers.anthropic_messages  # noqa: E402
import benchmark.providers.openai_chat  # noqa: E402, F401
import config.urls  # noqa: E402, F401
import tests.benchmark.runs.bank  # noqa: E402, F401  (and what it needs of the tests)
from benchmark.providers.endpoint import trusted_certificates  # noqa: E402

trusted_certificates()  # is kept by the process
