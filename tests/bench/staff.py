"""Researchers' pages of a large study: queries, processor time and bytes."""

import gzip
import json
import os
import sys
from time import process_time
from typing import Any

import django

django.setup()

from django.db import connection  # noqa: E402 (after setup)
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.urls import reverse  # noqa: E402

from tests.bench.lines import Line, say  # noqa: E402
from tests.bench.noise import Probe  # noqa: E402

# fewer people where there are few items, each of whom answers at least so many
_PEOPLE, _EACH = 500, 10
_ROUNDS = 7
_QUERIES, _OVERVIEW_MS = 14, 150


def main(plan: dict[str, Any]) -> None:
    from tests.bench.answers import make_crowded_study  # noqa: PLC0415 (needs the tables)

    items = max(plan["items"])
    people = min(_PEOPLE, max(1, items // _EACH))
    say(f"\n{plan['name']}, researchers' pages: {items:,} items and {people} people,")
    say(f"load {os.getloadavg()[0]:.1f} before the start; making the study takes some minutes")
    study = make_crowded_study(items, people=people, each=items // people)
    client = Client()
    client.force_login(study.memberships.get().user)
    probe = Probe()
    pages = {
        "Studies": (reverse("admin:index"), None),
        "Overview": (reverse("admin:study-overview", args=[study.pk]), _OVERVIEW_MS),
        "People": (reverse("admin:study-people", args=[study.pk]), None),
    }
    for name, (address, budget) in pages.items():
        probe.time_loop()
        for line in measure(client, name, address, budget):
            say(str(line))
    say(f"Noise: {probe}.")


def measure(client: Client, name: str, address: str, budget: float | None) -> list[Line]:
    """Open the page once to warm up, then take the quickest of some rounds."""
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(address)
    # the next request empties the list
    count = len(queries)
    if page.status_code != 200:
        raise SystemExit(f"{address} answered {page.status_code}.")
    spent = []
    for _ in range(_ROUNDS):
        began = process_time()
        client.get(address)
        spent.append(1000 * (process_time() - began))
    return [
        Line(f"{name}: queries", count, _QUERIES),
        # of the server's database too, where that is in this process
        Line(f"{name}: processor time", min(spent), budget, "ms"),
        Line(f"{name}: page, compressed", len(gzip.compress(page.content)) / 1024, unit="KiB"),
    ]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
