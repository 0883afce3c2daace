"""Arms: sessions with a policy in place of a tutor, run as methods of run_baseline, recorded as ordinary sessions."""

# It imports the modules of this package in the right order (`settings.METHOD_MODULES`), whichever is imported first.
import benchmark.methods  # noqa: F401
