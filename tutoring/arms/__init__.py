"""Arms: sessions with a policy in place of a tutor, run as methods of run_baseline and recorded as ordinary sessions."""
