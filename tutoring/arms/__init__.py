"""Arms: sessions with a policy in place of a tutor, run as methods of run_baseline, recorded as ordinary sessions."""

# This import loads the modules of this package in the order of `settings.METHOD_MODULES`, whichever is imported first.
import benchmark.methods  # noqa: F401
