"""Web server and job worker side by side, until Ctrl-C."""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from http.client import HTTPConnection, HTTPException
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

HOST = "127.0.0.1"
SECONDS_TO_START = 60
SECONDS_TO_ANSWER = 5
SECONDS_TO_STOP = 20


class Command(BaseCommand):
    help = "Prepare the database, then run the web server and the job worker until Ctrl-C."
    requires_system_checks = []  # migrate checks, and says first what is wrong

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, default=8000, help="port on 127.0.0.1 (default: 8000)"
        )
        parser.add_argument(
            "--demo", action="store_true", help="make demo studies and simulate participants"
        )

    def handle(self, *, port: int, demo: bool, **options: Any) -> None:
        refuse_taken_port(port)
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0, interactive=False)
        call_command("collectstatic", verbosity=0, interactive=False)
        if demo:
            call_command("demo", "--first", "--at", f"http://{HOST}:{port}")
        site = Site(port)
        try:
            site.start()
            site.wait_until_ready()
            self.stdout.write(f"Ready: http://{HOST}:{port}/admin/  (Ctrl-C stops the site)")
            # into a pipe or a log, too, it is said now and not when the site stops
            self.stdout.flush()
            if demo:
                site.spawn("demo crowd", manage("demo", "--crowd"), may_end=True)
            site.wait()
        finally:
            site.stop()


class Site:
    """The processes of a running site, which start and stop together."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.is_stopping = False
        self.parts: dict[str, subprocess.Popen[bytes]] = {}
        self.may_end: set[str] = set()

    def start(self) -> None:
        """Both processes run; a signal to stop reaches them through us, in good order."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        self.spawn("web server", gunicorn(self.port))
        self.spawn("job worker", manage("db_worker", "--no-startup-delay"))

    def spawn(self, name: str, command: list[str], *, may_end: bool = False) -> None:
        # A session of its own: Ctrl-C in the terminal must not reach it before we say so.
        self.parts[name] = subprocess.Popen(command, start_new_session=True)  # noqa: S603
        if may_end:
            self.may_end.add(name)

    def wait_until_ready(self) -> None:
        """The port answers, or we are stopping."""
        deadline = time.monotonic() + SECONDS_TO_START
        while not self.is_stopping and not is_answering(self.port):
            if time.monotonic() > deadline:
                raise CommandError(f"The web server did not start in {SECONDS_TO_START} seconds.")
            self._refuse_dead_part()
            time.sleep(0.1)

    def wait(self) -> None:
        """Returns when somebody asked to stop; CommandError when a process died by itself."""
        while not self.is_stopping:
            self._refuse_dead_part()
            time.sleep(0.2)

    def stop(self) -> None:
        """No process of ours runs any more."""
        running = [part for part in self.parts.values() if part.poll() is None]
        for part in running:
            part.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for part in running:
            try:
                part.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                part.kill()
                part.wait()

    def _refuse_dead_part(self) -> None:
        for name, part in self.parts.items():
            if part.poll() is not None and name not in self.may_end:
                raise CommandError(f"The {name} ended by itself (exit code {part.returncode}).")

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.is_stopping = True


def refuse_taken_port(port: int) -> None:
    """CommandError with a way out if something else listens on this port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise CommandError(
                f"Port {port} cannot be used ({error}). "
                f"Stop what runs there, or choose another: make run PORT={port + 1}"
            ) from error


def is_answering(port: int) -> bool:
    """A request gets an answer: gunicorn takes connections before anybody can serve them."""
    link = HTTPConnection(HOST, port, timeout=SECONDS_TO_ANSWER)
    try:
        link.request("HEAD", "/")
        link.getresponse()
    except (OSError, HTTPException):
        return False
    finally:
        link.close()
    return True


def manage(*arguments: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]


def gunicorn(port: int) -> list[str]:
    command = [sys.executable, "-m", "gunicorn", "evalsite.wsgi:application"]
    command += ["--bind", f"{HOST}:{port}", "--chdir", str(settings.BASE_DIR)]
    command += ["--worker-class", "gthread", "--workers", "2", "--threads", "8"]
    command += ["--no-control-socket", "--log-level", "warning"]
    if os.access("/dev/shm", os.W_OK):  # noqa: S108 (gunicorn's heartbeat files must not wait for a disk)
        command += ["--worker-tmp-dir", "/dev/shm"]  # noqa: S108
    return command
