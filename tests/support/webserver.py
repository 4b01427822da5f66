"""The site as `make run` serves it, in processes that a test may kill and start again."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from evalsite.command_line.processes import build_web_server, is_answering
from evalsite.command_line.site import HOST

_SECONDS_TO_START = 60


class WebServer:
    """gunicorn with its two web processes, on a port that stays the same over restarts."""

    def __init__(self, database_url: str, folder: Path, **variables: str) -> None:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port = probe.getsockname()[1]
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.support.served",
            "EVALSITE_DATABASE": database_url,
            **variables,
        }
        self.errors = folder / "web-server.txt"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def __enter__(self) -> "WebServer":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def start(self) -> None:
        """The port takes requests."""
        with self.errors.open("ab") as errors:
            # a session of its own, so that all of it can be killed at one stroke
            self.process = subprocess.Popen(
                build_web_server(self.port),
                env=self.environment,
                start_new_session=True,
                stdout=errors,
                stderr=errors,
            )
        self._wait_until(lambda: is_answering(self.port))

    def kill(self) -> None:
        """kill -9 of gunicorn and all of its web processes, at any moment of their work."""
        if self.process is None:
            return
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def kill_one_worker(self) -> None:
        """kill -9 of one web process; gunicorn has put another in its place."""
        before = self.workers()
        os.kill(before[0], signal.SIGKILL)
        self._wait_until(lambda: len({*self.workers()} - {*before}) == 1)

    def workers(self) -> list[int]:
        assert self.process is not None
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        return sorted(map(int, children.split()))

    def _wait_until(self, is_so) -> None:
        deadline = time.monotonic() + _SECONDS_TO_START
        while not is_so():
            assert self.process is not None
            told = self.errors.read_text(encoding="utf-8")
            assert self.process.poll() is None, f"gunicorn ended.\n{told}"
            assert time.monotonic() < deadline, f"gunicorn did not start.\n{told}"
            time.sleep(0.05)
