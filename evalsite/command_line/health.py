"""evalsite health: whether a site works, for health checks of containers and for monitoring."""

from argparse import ArgumentParser, Namespace
from http.client import HTTPConnection, HTTPException

import django

from evalsite.command_line.output import DONE, NO, Result
from evalsite.command_line.processes import parse_port
from evalsite.command_line.site import HOST, PORT
from evalsite.core.log_safety import READY
from evalsite.lib.limited import read_json

_SECONDS_TO_ANSWER = 5
# of an answer; what runs on this port may be another program
_MOST_BYTES = 10_000


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--worker",
        action="store_true",
        help="ask the database whether a worker is running, instead of the web server",
    )
    parser.add_argument(
        "--port",
        type=parse_port,
        default=PORT,
        help=f"of the web server on {HOST}; default: {PORT}",
    )


def run(options: Namespace) -> Result:
    if options.worker:
        return _read_worker()
    try:
        status, health = _ask_site(options.port)
    except (OSError, HTTPException, ValueError, TypeError) as error:
        text = f"No site answers at {HOST}:{options.port} ({error}). Check that evalsite web runs."
        return Result(NO, text, {"error": text})
    is_well = status == 200 and health.get("database") == "ok"
    return Result(DONE if is_well else NO, _describe(health), health)


def _ask_site(port: int) -> tuple[int, dict[str, str]]:
    link = HTTPConnection(HOST, port, timeout=_SECONDS_TO_ANSWER)
    try:
        link.request("GET", READY)
        response = link.getresponse()
        return response.status, dict(read_json(response.read(_MOST_BYTES)))
    finally:
        link.close()


def _read_worker() -> Result:
    django.setup()
    # needs the apps
    from evalsite.operations.health import read_health

    health = read_health()
    is_well = set(health.values()) == {"ok"}
    return Result(DONE if is_well else NO, _describe(health), health)


def _describe(health: dict[str, str]) -> str:
    return "\n".join(f"{part}: {state}" for part, state in health.items())
