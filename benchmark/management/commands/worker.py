"""`manage.py worker`: judge submissions and carry out benchmark work until stopped."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmark.worker.kinds import WorkerKind
from benchmark.worker.worker import run


class Command(BaseCommand):
    help = (
        "Take jobs from the queues until SIGTERM or Ctrl-C. Judge workers run programs and have no keys of providers: "
        "start as many as there are cores for judging. Model workers call models and run no programs: one per host is "
        "enough."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--kind",
            type=WorkerKind,
            choices=list(WorkerKind),
            default=WorkerKind.ALL,
            help="judge, model, or all: both in one process, for a laptop (default)",
        )

    def handle(self, *arguments: Any, **options: Any) -> None:
        run(options["kind"])
