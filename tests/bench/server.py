"""The site as `make run` serves it, on a free port of the loopback interface."""

import os
import socket
import subprocess
import time
from pathlib import Path

from evalsite.command_line.processes import build_web_server, is_answering
from evalsite.command_line.site import HOST

_TICKS = os.sysconf("SC_CLK_TCK")
_SECONDS_TO_START = 30


class Server:
    """gunicorn with its workers, and what they cost."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port = probe.getsockname()[1]

    def __enter__(self) -> "Server":
        self.process = subprocess.Popen(build_web_server(self.port))
        deadline = time.monotonic() + _SECONDS_TO_START
        while not is_answering(self.port):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit("gunicorn did not start.")
            time.sleep(0.1)
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)

    @property
    def pids(self) -> list[int]:
        """gunicorn's own process and its workers."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        return [pid, *map(int, children.split())]

    def cpu_seconds(self) -> float:
        """Processor time that all of them have used so far."""
        return sum(_cpu_ticks(pid) for pid in self.pids) / _TICKS

    def mebibytes(self) -> float:
        """Memory of all of them, shared pages counted once (PSS)."""
        return sum(_pss_kib(pid) for pid in self.pids) / 1024


def _cpu_ticks(pid: int) -> int:
    # the name in brackets may hold spaces; utime and stime are fields 14 and 15 of the line
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _pss_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
