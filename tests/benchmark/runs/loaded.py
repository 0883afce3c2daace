"""Modules that the commands need, loaded before the fork; this opens no connection."""

import gc

gc.set_threshold(50_000, 20, 100)  # as in manage.py, for every command that is forked

import django  # noqa: E402

django.setup()

import scipy.special  # noqa: E402, F401  (figures need it)

import benchmark.management.commands.report  # noqa: E402
import benchmark.management.commands.run_baseline  # noqa: E402
import benchmark.providers.anthropic_messages  # noqa: E402
import benchmark.providers.openai_chat  # noqa: E402, F401
import config.management.commands.restore  # noqa: E402
import config.urls  # noqa: E402, F401
import tests.benchmark.runs.bank  # noqa: E402, F401  (and what it needs of the tests)
from benchmark.providers.endpoint import trusted_certificates  # noqa: E402
from tutoring.rules.detectors import detectors  # noqa: E402
from tutoring.rules.sentence_vectors import sentence_vectors  # noqa: E402

# What the process keeps: each command that checks messages would load it again.
trusted_certificates()
detectors()
sentence_vectors(["Look at the sample."])
gc.freeze()
