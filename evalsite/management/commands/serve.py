"""Web server and job worker side by side, until Ctrl-C."""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
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
# a part that ended is started again at once so often in a minute, then once a minute
STARTS_A_MINUTE = 3
MINUTE = 60


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
        site = Site(port, print_line=self._print)
        try:
            site.start()
            site.wait_until_ready()
            self._print(f"Ready: http://{HOST}:{port}/admin/  (Ctrl-C stops the site)")
            if demo:
                site.spawn("demo crowd", manage("demo", "--crowd"), may_end=True)
            site.wait()
        finally:
            site.stop()

    def _print(self, sentence: str) -> None:
        self.stdout.write(sentence)
        # into a pipe or a log, too, it is said now and not when the site stops
        self.stdout.flush()


class Part:
    """One process of the site, and when it was started again."""

    def __init__(self, name: str, command: list[str], *, may_end: bool = False) -> None:
        self.name = name
        self.command = command
        self.may_end = may_end
        self.restarts: list[float] = []
        self.is_waiting = False
        self.start()

    def start(self) -> None:
        # A separate session: Ctrl-C in the terminal must not reach it before we forward it.
        self.process = subprocess.Popen(self.command, start_new_session=True)  # noqa: S603

    @property
    def has_ended(self) -> bool:
        return not self.may_end and self.process.poll() is not None

    @property
    def ending(self) -> str:
        """How it ended, in a sentence."""
        code = self.process.returncode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"The {self.name} {how}."

    def may_start(self, moment: float) -> bool:
        """Return whether it may be started again at this moment."""
        recent = [one for one in self.restarts if moment - one < MINUTE]
        return len(recent) < (1 if self.is_waiting else STARTS_A_MINUTE)

    def restart(self, moment: float) -> None:
        """Start it again, and stop web processes that outlived their master."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        if self.restarts and moment - self.restarts[-1] > 2 * MINUTE:
            self.is_waiting = False  # it had stayed up
        self.restarts = [*self.restarts, moment][-STARTS_A_MINUTE:]
        self.start()


class Site:
    """The processes of a running site, which start and stop together."""

    def __init__(self, port: int, *, print_line: Callable[[str], None]) -> None:
        self.port = port
        self.print_line = print_line
        self.is_stopping = False
        self.parts: list[Part] = []

    def start(self) -> None:
        """Both processes run; a signal to stop reaches them through us, in good order."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        self.spawn("web server", gunicorn(self.port))
        self.spawn("job worker", manage("db_worker"))

    def spawn(self, name: str, command: list[str], *, may_end: bool = False) -> None:
        self.parts.append(Part(name, command, may_end=may_end))

    def wait_until_ready(self) -> None:
        """The port answers, or we are stopping."""
        deadline = time.monotonic() + SECONDS_TO_START
        while not self.is_stopping and not is_answering(self.port):
            if time.monotonic() > deadline:
                raise CommandError(f"The web server did not start in {SECONDS_TO_START} seconds.")
            if self.parts[0].has_ended:
                raise CommandError(f"The web server can't start. {self.parts[0].ending}")
            time.sleep(0.1)

    def wait(self) -> None:
        """Restart processes that end by themselves, until asked to stop."""
        while not self.is_stopping:
            for part in self.parts:
                if part.has_ended:
                    self._restart(part)
            time.sleep(0.2)

    def _restart(self, part: Part) -> None:
        moment = time.monotonic()
        if part.may_start(moment):
            self.print_line(f"{part.ending} Starting it again.")
            part.restart(moment)
        elif not part.is_waiting:
            part.is_waiting = True
            self.print_line(
                f"{part.ending} It was started {STARTS_A_MINUTE} times in a minute and doesn't "
                "stay up; the reason is above. Trying again every minute."
            )

    def stop(self) -> None:
        """No process of ours runs any more."""
        running = [part.process for part in self.parts if part.process.poll() is None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for process in running:
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

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
    """Return whether a request is answered; gunicorn accepts connections before it can."""
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
    # the site is loaded once, and its workers share that memory; with an arena of memory for each
    # thread, they would hold a tenth more of it
    command = ["env", "MALLOC_ARENA_MAX=2"]
    command += [sys.executable, "-m", "gunicorn", "evalsite.wsgi:application", "--preload"]
    command += ["--bind", f"{HOST}:{port}", "--chdir", str(settings.BASE_DIR)]
    command += ["--worker-class", "gthread", "--workers", "2", "--threads", "8"]
    command += ["--no-control-socket", "--log-level", "warning"]
    if os.access("/dev/shm", os.W_OK):  # noqa: S108 (gunicorn's heartbeat files must not wait for a disk)
        command += ["--worker-tmp-dir", "/dev/shm"]  # noqa: S108
    return command
