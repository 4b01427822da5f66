"""evalsite web: the web server of a site, for a unit of systemd, a container, or `serve`."""

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from gunicorn.app.base import BaseApplication

from evalsite.command_line.output import Result
from evalsite.command_line.processes import parse_port, refuse_taken_port
from evalsite.command_line.site import HOST, PORT, say_data_folder

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 (gunicorn's heartbeat files must not wait for a disk)

_MOST_WORKERS = 99


class _Server(BaseApplication):
    """Gunicorn with our options alone: no file of the current folder changes them."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        from evalsite.wsgi import application

        return application


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--bind", type=_parse_address, default=(HOST, PORT), metavar="HOST:PORT",
        help=f"where to listen; default: {HOST}:{PORT}")  # fmt: skip
    add("--workers", type=_parse_workers, default=2, metavar="N", help="web processes; default: 2")


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host:
        raise ArgumentTypeError(f"write the address as {HOST}:{PORT}")
    return host.strip("[]"), parse_port(port)


def _parse_workers(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MOST_WORKERS):
        raise ArgumentTypeError(f"write a number from 1 to {_MOST_WORKERS}")
    return int(text)


def run(options: Namespace) -> Result:
    host, port = options.bind
    refuse_taken_port(port, host)
    say_data_folder()
    server = {
        "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        # the site is loaded once, and its workers share that memory
        "preload_app": True,
        "worker_class": "gthread",
        "workers": options.workers,
        "threads": 8,
        "loglevel": "warning",
        "control_socket_disable": True,
    }
    if os.access(_SHARED_MEMORY, os.W_OK):
        server["worker_tmp_dir"] = _SHARED_MEMORY
    _Server(server).run()
    return Result()
