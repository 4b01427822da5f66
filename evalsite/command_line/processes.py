"""The processes of a site: how they are started, watched and ended."""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from types import FrameType
from typing import IO

from evalsite.command_line.output import Refused
from evalsite.command_line.site import HOST
from evalsite.lib.folders import BASE_DIR, IS_CHECKOUT

# a web server that can't start ends, which is noticed at once: this is for busy machines
SECONDS_TO_START = 300
SECONDS_TO_ANSWER = 5
SECONDS_TO_STOP = 20
# seconds before a process that ended is started again
PAUSE = 5
_LAST_PORT = 65_535


def build_command(*arguments: str) -> list[str]:
    """Return what runs a command of this Evalsite in a process of its own."""
    # with an arena of memory for each thread, web processes would hold a tenth more
    variables = ["MALLOC_ARENA_MAX=2"]
    if IS_CHECKOUT:
        path = os.pathsep.join(filter(None, [str(BASE_DIR), os.environ.get("PYTHONPATH")]))
        variables.append(f"PYTHONPATH={path}")
    # without -P, a file in the current folder could replace a module
    return ["env", *variables, sys.executable, "-P", "-m", "evalsite", *arguments]


def build_web_server(port: int) -> list[str]:
    return build_command("web", "--bind", f"{HOST}:{port}")


def start(command: list[str], output: IO[str] | None = None) -> subprocess.Popen[bytes]:
    # a separate session: Ctrl-C in the terminal reaches us alone, and we end all
    return subprocess.Popen(command, start_new_session=True, stdout=output)  # noqa: S603


def wait_until_ready(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return once the port answers."""
    deadline = time.monotonic() + SECONDS_TO_START
    while not is_answering(port):
        if time.monotonic() > deadline:
            raise Refused(f"The web server did not start in {SECONDS_TO_START} seconds.")
        if server.poll() is not None:
            raise Refused(f"The web server can't start. {describe_ending('web server', server)}")
        time.sleep(0.1)


def start_again(
    processes: dict[str, subprocess.Popen[bytes]],
    commands: dict[str, list[str]],
    say: Callable[[str], None],
    output: IO[str] | None = None,
) -> None:
    """Start each of these commands again whose process has ended."""
    for name, command in commands.items():
        if processes[name].poll() is not None:
            say(f"{describe_ending(name, processes[name])} Starting it again in {PAUSE} s.")
            time.sleep(PAUSE)
            # web processes that outlived their master keep the port
            with suppress(ProcessLookupError):
                os.killpg(processes[name].pid, signal.SIGTERM)
            processes[name] = start(command, output)


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


class Interrupted(KeyboardInterrupt):
    """A signal that asks this process to stop."""


def take_signals() -> None:
    """Let every signal that asks to stop raise KeyboardInterrupt, as Ctrl-C does."""
    end_of_terminal = getattr(signal, "SIGHUP", None)  # not on Windows
    for number in filter(None, (signal.SIGINT, signal.SIGTERM, end_of_terminal)):
        # nohup ignores the end of a terminal
        if number != end_of_terminal or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _ask_to_stop)


def _ask_to_stop(number: int, frame: FrameType | None) -> None:
    # a class of our own: where a KeyboardInterrupt itself has passed out of exec("..."), as
    # dataclasses use it, CPython ends with a signal at exit, though we have caught it
    raise Interrupted


def parse_port(text: str) -> int:
    """Read the port of an option."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _LAST_PORT):
        raise ArgumentTypeError(f"{text} is no port: write a number from 1 to {_LAST_PORT}")
    return int(text)


def refuse_taken_port(port: int, host: str = HOST) -> None:
    """Raise Refused, with a way out, if something else listens on this port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except socket.gaierror as error:
            raise Refused(
                f"{host} is no address of this machine ({error.strerror}). Use 127.0.0.1, or "
                "0.0.0.0 for all its addresses."
            ) from error
        except (OSError, OverflowError) as error:
            raise Refused(
                f"Port {port} can't be used ({error}). Stop what runs there, or choose another "
                f"port, such as {port + 1}."
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
