"""Arms: sessions with a policy in place of a tutor, run as methods of run_baseline, recorded as ordinary sessions."""

# `benchmark.methods` imports tutoring.arms.methods at its end. Imported first, it finds no half-imported module here.
import benchmark.methods  # noqa: F401
