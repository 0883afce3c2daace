"""Jobs of the queues that point workers to rows.

The row holds the request and its result, and a job names only the row. Queues deliver at least once and may lose a job,
so a worker may perform a job any number of times, and sweeps enqueue a job for each row whose job was lost.
"""

from benchmark.jobs.row_jobs import RowJobs, late_or_lost

__all__ = ["RowJobs", "late_or_lost"]
