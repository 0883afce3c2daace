"""`manage.py worker`: judge submissions and carry out benchmark work until stopped."""

from typing import Any

from django.core.management.base import BaseCommand

from benchmark.worker.worker import run


class Command(BaseCommand):
    help = "Take jobs from the queues until SIGTERM or Ctrl-C. Start as many as there are cores for judging."

    def handle(self, *arguments: Any, **options: Any) -> None:
        run()
