"""First and largest contentful paint of rating pages, beside a bare page with the same text.

Cold: each page is opened in a new browser context. Ours and the bare one take turns.
"""

import json
import os
import sys
from statistics import median
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402 (after setup)
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from evalsite.data.demo import make_demo_study  # noqa: E402
from evalsite.handout.models import ItemSet  # noqa: E402
from evalsite.instruments.installed import installed_protocols  # noqa: E402
from evalsite.instruments.schema import Instrument  # noqa: E402
from evalsite.people.models import ParticipantLink  # noqa: E402
from tests.bench.lines import Line, say  # noqa: E402
from tests.bench.load import Connection  # noqa: E402
from tests.bench.server import Server  # noqa: E402
from tests.support.factories import make_annotator, make_user  # noqa: E402
from tests.support.fixtures import CHROMIUM_FLAGS, find_chromium  # noqa: E402

ROUNDS = 9
MOST_TIMES_BARE = 1.5
# both marks of one page; the largest text is the last entry once the page is loaded
_READ_PAINTS = """() => new Promise(resolve => {
  new PerformanceObserver(list => {
    const [page] = performance.getEntriesByType("navigation");
    const largest = list.getEntries().at(-1).startTime;
    const [first] = performance.getEntriesByName("first-contentful-paint");
    resolve({byte: page.responseStart, first: first.startTime, largest});
  }).observe({type: "largest-contentful-paint", buffered: true});
})"""


def main(plan: dict[str, Any]) -> None:
    # Django refuses queries beside Playwright's event loop; here one thread makes all of them
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    call_command("migrate", run_syncdb=True, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    say(f"\n{plan['name']}, first item of each demo in Chromium, medians of {ROUNDS} in ms")
    with Server() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        for _, config in sorted(installed_protocols().items()):
            for line in measure_protocol(config, server, browser):
                say(str(line))
        browser.close()


def measure_protocol(config: Instrument, server: Server, browser: Browser) -> list[Line]:
    """Return both paints of a rating page against those of a bare page with the same text."""
    study = make_demo_study(config, by=make_user())
    participant = make_annotator(study)
    home = f"/p/{ParticipantLink.objects.mint(participant)}/"
    address, _ = Connection(server.port).save_and_go_on(f"{home}start/", {})
    item = ItemSet.objects.get(participant=participant).item_ids[0]
    ours, bare = [], []
    for _ in range(ROUNDS + 1):
        ours.append(_read_paints(browser, server.port, address))
        bare.append(_read_paints(browser, server.port, f"/bare/text/{item}/"))
    lines = []
    for mark, budget in (("byte", None), ("first", MOST_TIMES_BARE), ("largest", MOST_TIMES_BARE)):
        # the first of each fills the server's caches
        page, plain = (median(paint[mark] for paint in some[1:]) for some in (ours, bare))
        label = {"byte": "first byte", "first": "first paint", "largest": "largest paint"}[mark]
        lines.append(
            Line(f"{config.key}: {label} {page:.0f}, bare {plain:.0f}", page / plain, budget)
        )
    return lines


def _read_paints(browser: Browser, port: int, address: str) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}{address}", wait_until="load")
    paints: dict[str, float] = page.evaluate(_READ_PAINTS)
    context.close()
    return paints


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
