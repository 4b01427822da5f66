"""Web server and job worker side by side, until Ctrl-C."""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable
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
# before a process that ended is started again
PAUSE = 5


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
        processes: dict[str, subprocess.Popen[bytes]] = {}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _ask_to_stop)
        try:
            commands = {"web server": gunicorn(port), "job worker": manage("db_worker")}
            for name, command in commands.items():
                processes[name] = start(command)
            wait_until_ready(port, processes["web server"])
            self._print(f"Ready: http://{HOST}:{port}/admin/  (Ctrl-C stops the site)")
            if demo:
                processes["demo crowd"] = start(manage("demo", "--crowd"))
            while True:
                for name, command in commands.items():
                    if processes[name].poll() is not None:
                        ending = describe_ending(name, processes[name])
                        self._print(f"{ending} Starting it again in {PAUSE} s.")
                        time.sleep(PAUSE)
                        # web processes that outlived their master keep the port
                        with suppress(ProcessLookupError):
                            os.killpg(processes[name].pid, signal.SIGTERM)
                        processes[name] = start(command)
                time.sleep(0.2)
        except KeyboardInterrupt:
            self._print("Stopping.")
        finally:
            stop(processes.values())

    def _print(self, sentence: str) -> None:
        self.stdout.write(sentence)
        # into a pipe or a log, too, it is said now and not when the site stops
        self.stdout.flush()


def start(command: list[str]) -> subprocess.Popen[bytes]:
    # a separate session: Ctrl-C in the terminal reaches us alone, and we end all
    return subprocess.Popen(command, start_new_session=True)  # noqa: S603


def wait_until_ready(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return once the port answers."""
    deadline = time.monotonic() + SECONDS_TO_START
    while not is_answering(port):
        if time.monotonic() > deadline:
            raise CommandError(f"The web server did not start in {SECONDS_TO_START} seconds.")
        if server.poll() is not None:
            ending = describe_ending("web server", server)
            raise CommandError(f"The web server can't start. {ending}")
        time.sleep(0.1)


def stop(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """End all of them, and wait until they have ended."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(timeout=SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def describe_ending(name: str, process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return f"The {name} {how}."


def _ask_to_stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


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
