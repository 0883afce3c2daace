"""The queue holds untrusted data: a real worker runs the listed functions and refuses everything else."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import django_rq
import pytest
from redis import Redis, RedisError
from rq import Queue
from rq.job import Callback, Job

from benchmark.jobs import RowJobs
from benchmark.worker.jobs import JobRefusedError, ListedJob
from tests.stack import REPOSITORY, Stack


def queue_of(stack: Stack) -> Queue:
    """Return a queue as an attacker with access to the server would open it: plain RQ, JSON."""
    return Queue(
        "default", connection=Redis(unix_socket_path=str(stack.var / "valkey.sock")), serializer="json"
    )


def intruder() -> None:
    """Represent any function of this project that is not listed."""


def test_a_worker_refuses_a_function_of_the_system_and_performs_a_judgement(stack: Stack, tmp_path: Path):
    queue = queue_of(stack)
    callback = Callback("tests.config.jobs.leave_proof")
    proof = tmp_path / "proof"
    refused = [
        queue.enqueue("os.system", f"touch {proof}"),
        queue.enqueue("subprocess.run", ["touch", str(proof)]),
        queue.enqueue("benchmark.judging.perform", 1, on_success=callback, meta={"proof": str(proof)}),
        queue.enqueue("benchmark.judging.perform", f"touch {proof}"),
        queue.enqueue("benchmark.judging.perform", judgement_id=1),
    ]
    program = REPOSITORY / "benchmark/practice_problems/seed-bank/submissions/accepted/marks.py"
    shown = stack.manage(
        "shell",
        "--no-imports",
        "--command",
        "from pathlib import Path\n"
        "from benchmark.judging import enqueue, request_judgement, store_submission\n"
        "from benchmark.models import Problem\n"
        "problem = Problem.objects.get(external_id='seed-bank')\n"
        f"submission = store_submission(problem, Path({str(program)!r}).read_text(), 'python')\n"
        "judgement = request_judgement(submission)\n"
        "enqueue(judgement, 'default')\n"
        "print(judgement.pk)\n",
    )

    def verdict() -> str:
        with closing(sqlite3.connect(stack.var / "hintbench.sqlite3")) as database:
            query = "SELECT verdict FROM benchmark_judgement WHERE id = ?"
            return str(database.execute(query, [int(shown.stdout)]).fetchone()[0])

    stack.wait_for(verdict)
    assert verdict() == "AC"
    assert not proof.exists()
    log = (stack.var / "logs" / "worker-1.log").read_text()
    assert "'os.system' is not a function that judge workers run" in log
    assert [job.get_status(refresh=True).value for job in refused] == [
        "failed", "failed", "finished", "failed", "failed",
    ]  # fmt: skip


def job_with(
    function: str, *arguments: Any, instance: Any = None, kind: type[ListedJob] = ListedJob, **named: Any
) -> Job:
    job = kind(id="tried", connection=Redis(), serializer="json")
    job._func_name, job._instance, job._args, job._kwargs = function, instance, arguments, named
    return job


@pytest.mark.parametrize(
    "job",
    [
        job_with("tests.benchmark.test_jobs.intruder"),
        job_with("benchmark.judging.perform"),
        job_with("benchmark.judging.perform", True),
        job_with("benchmark.judging.perform", 1, 2),
        job_with("benchmark.judging.perform", 1, timeout=5),
        job_with("benchmark.judging.perform", 1, instance="text"),
        job_with("benchmark.runner.distribution.work_on_run", ["run"]),
        job_with("benchmark.runner.distribution.take_part", "run"),  # a name of an older version
        job_with("tutoring.scores.near_misses.measure", 1),  # a name of an older version
        job_with("", 1),
        job_with("benchmark.judging.perform.__class__", 1),
    ],
    ids=lambda job: f"{job.func_name}-{job.args}",
)
def test_other_names_and_other_shapes_are_refused(job: Job):
    with pytest.raises(JobRefusedError):
        job.func  # noqa: B018  (the property raises)


def test_nothing_that_a_job_names_is_imported_before_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "trap_module.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\ndef run(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    job = job_with("trap_module.run")
    job._failure_callback_name = job._success_callback_name = job._stopped_callback_name = "trap_module.run"
    assert (job.success_callback, job.failure_callback, job.stopped_callback) == (None, None, None)
    with pytest.raises(JobRefusedError, match=r"'trap_module.run' is not a function"):
        job.func  # noqa: B018
    assert not (tmp_path / "sprung").exists()


def test_every_listed_function_exists_and_takes_what_the_list_says(settings: Any):
    for name, types in settings.WORKER_JOBS.items():
        arguments = [kind() for kind in types]
        function = job_with(name, *arguments).func
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        annotated = tuple(function.__annotations__[argument] for argument in names)
        assert [getattr(kind, "__name__", kind) for kind in annotated] == [kind.__name__ for kind in types]


def test_an_outage_of_the_queue_server_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    class FailingQueue:
        available = True

        def enqueue(self, *_: object, **__: object) -> None:
            if not self.available:
                raise RedisError("The server does not answer.")

    queue = FailingQueue()
    monkeypatch.setattr(django_rq, "get_queue", lambda _name: queue)
    jobs = RowJobs("benchmark.judging.perform", "judgement")
    for queue.available in (True, False, False, False, True, False, False):
        jobs.enqueue(1, "default")
    assert [record.getMessage() for record in caplog.records] == [
        "jobs are not enqueued until the queue server is available again: The server does not answer."
    ] * 2
