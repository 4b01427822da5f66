"""The rating pages of every protocol, on its example batch: bytes on the wire and requests."""

import json
import sys
from statistics import median
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402 (after setup)

from evalsite.data.demo import make_demo_study  # noqa: E402
from evalsite.instruments.installed import installed_protocols  # noqa: E402
from evalsite.instruments.schema import Instrument  # noqa: E402
from evalsite.people.models import ParticipantLink  # noqa: E402
from tests.bench.lines import Line, say  # noqa: E402
from tests.bench.load import Connection, fill  # noqa: E402
from tests.bench.pages import KIB, weigh_cold  # noqa: E402
from tests.bench.server import Server  # noqa: E402
from tests.support.factories import make_annotator, make_user  # noqa: E402

MOST_KIB = 22
MOST_REQUESTS = 4
MOST_KIB_TO_THE_NEXT = 6


def main(plan: dict[str, Any]) -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    say(f"\n{plan['name']}, the first set of each demo, as gunicorn sends it")
    with Server() as server:
        for _, config in sorted(installed_protocols().items()):
            for line in weigh_protocol(config, Connection(server.port)):
                say(str(line))


def weigh_protocol(config: Instrument, connection: Connection) -> list[Line]:
    """The first page with an empty cache, and the steps from one item to the next."""
    study = make_demo_study(config, by=make_user())
    home = f"/p/{ParticipantLink.objects.mint(make_annotator(study))}/"
    address, page = connection.save_and_go_on(f"{home}start/", {})
    cold = weigh_cold(address, connection)
    for part, size in cold.items():
        say(f"  {size:>7,} bytes  {part}")
    steps = []
    while "/items/" in address:
        saved = connection.ask("POST", address, fill(page.text, len(steps)))
        address = saved.headers["Location"].partition("?")[0]
        page = connection.ask("GET", saved.headers["Location"])
        steps.append(saved.wire + page.wire)
    # the last one leads to the review
    steps.pop()
    return [
        Line(f"{config.key}: rating page, cold", sum(cold.values()) / KIB, MOST_KIB, "KiB"),
        Line(f"{config.key}: requests", len(cold), MOST_REQUESTS),
        # one text of 600 words more is no fault of the page
        Line(
            f"{config.key}: item to item, median of {len(steps)}",
            median(steps) / KIB,
            MOST_KIB_TO_THE_NEXT,
            "KiB",
        ),
        Line(f"{config.key}: item to item, heaviest", max(steps) / KIB, unit="KiB"),
    ]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
