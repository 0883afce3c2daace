"""Jobs of the queue as untrusted data: a worker runs only the functions that the settings list."""

from typing import Any, Never

from django.utils.module_loading import import_string
from rq.job import Job

from benchmark.worker.kinds import WorkerKind


class JobRefusedError(Exception):
    """An error for a job whose function is not listed, or whose arguments have other types."""


class ListedJob(Job):
    """A job that calls a function of `settings.WORKER_JOBS` with arguments of its listed types.

    Workers of one kind use the subclass that allows the functions of this kind only.

    RQ imports every function and callback that a job names, so anyone who can write to the queue server could run code
    in the worker. This class compares the name as text before it imports anything. It ignores callbacks and webhooks,
    which this project does not use.
    """

    kind = WorkerKind.ALL

    success_callback = failure_callback = stopped_callback = property(lambda _: None)

    def send_webhooks(self, *arguments: Any, **options: Any) -> None:
        """Send nothing: the addresses would come from the queue."""

    @property
    def func(self) -> Any:
        """Return the function to call. Raises JobRefusedError for a job that is not listed."""
        name = self.func_name or ""
        types = self.kind.jobs.get(name)
        if types is None:
            workers = "workers" if self.kind == WorkerKind.ALL else f"{self.kind} workers"
            self._refuse(f"{name!r} is not a function that {workers} run")
        if self.instance is not None or self.kwargs or tuple(map(type, self.args)) != types:
            expected = ", ".join(kind.__name__ for kind in types)
            self._refuse(f"{name} takes ({expected}), and the job has other arguments")
        return import_string(name)

    def _refuse(self, reason: str) -> Never:
        raise JobRefusedError(f"job {self.id} is refused: {reason}"[:500])


class JudgeJob(ListedJob):
    """A job of a judge worker."""

    kind = WorkerKind.JUDGE


class ModelJob(ListedJob):
    """A job of a model worker."""

    kind = WorkerKind.MODEL


JOB_CLASSES: dict[WorkerKind, type[ListedJob]] = {one.kind: one for one in (ListedJob, JudgeJob, ModelJob)}
