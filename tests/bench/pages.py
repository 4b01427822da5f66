"""What a page weighs, and how many queries a save takes."""

import re
from urllib.parse import urljoin

from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.bench.load import Connection, fill
from tests.bench.study import People
from tests.support.annotators import Browser

_LINKED = (
    r'<link rel="stylesheet" href="([^"]+)"',
    r'<script(?: type="module")? src="([^"]+)"',
)
_IMPORTED = r"""(?:^|;)\s*import\b[^"']*["']([^"']+)["']"""


KIB = 1024


def weigh_cold(address: str, connection: Connection) -> dict[str, int]:
    """Return the bytes of a rating page with an empty cache, headers included, by address."""
    page = connection.ask("GET", address)
    cold = {"page": page.wire}
    waiting = [found for pattern in _LINKED for found in re.findall(pattern, page.text)]
    while waiting:
        part = waiting.pop()
        if part in cold:
            continue
        answer = connection.ask("GET", part)
        cold[part] = answer.wire
        if part.endswith(".js"):
            imported = re.findall(_IMPORTED, answer.text, flags=re.MULTILINE)
            waiting += [urljoin(part, found) for found in imported]
    return cold


def count_queries(people: People) -> list[str]:
    """The queries of one save with the next page, in this process.

    Not of a person's first, which also turns what was reserved for them into a lease.
    """
    browser = Browser(get_wsgi_application())
    address, html = people.open_page()
    second = browser.post(address, fill(html, 0))
    with CaptureQueriesContext(connection) as queries:
        browser.post(second.address, fill(second.html, 1))
    return [query["sql"] for query in queries]
