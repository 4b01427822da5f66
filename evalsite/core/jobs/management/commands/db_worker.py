"""The job worker of this site, in place of the one that the queue brings."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from evalsite.core.jobs.worker import JobWorker


class Command(BaseCommand):
    help = "Run waiting jobs, one after another, until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", action="store_true", help="stop when no job is waiting")
        parser.add_argument(
            "--interval", type=float, default=1, help="seconds between checks of the queue"
        )

    def handle(self, *, batch: bool, interval: float, **options: Any) -> None:
        worker = JobWorker(interval=interval, batch=batch)
        worker.configure_signals()
        worker.run()
