"""A server that has been running for a while: ordinary requests before a protection is tested."""

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from itertools import cycle, islice
from urllib.parse import urlencode

from django.test import Client

from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link

PEOPLE = 25
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_EXPECTED = {200, 302}
_PER_CONNECTION = 20


def make_ordinary_people(people: int = PEOPLE) -> list[str]:
    """Return the links of people in a study of their own."""
    study = launch(make_study(items=2, title="Ordinary", by=make_user("ordinary")))
    return [mint_link(make_annotator(study)) for _ in range(people)]


def serve_ordinary_requests(number: int = 1_000) -> None:
    """Answer this many requests in this process, from 250 networks.

    None of them joins a study, saves an answer or signs in.
    """
    client = Client()
    for count, (method, path, fields) in enumerate(_list_requests(number, make_ordinary_people())):
        origin = f"198.51.{count % 250}.7"
        if method == "POST":
            response = client.post(path, fields, REMOTE_ADDR=origin)
        else:
            response = client.get(path, REMOTE_ADDR=origin)
        assert response.status_code in _EXPECTED, (method, path, response.status_code)


def send_ordinary_requests(port: int, links: list[str], number: int = 1_000) -> None:
    """Send these requests to a real server on this port, with the links of ordinary people.

    Over many connections, so that each of its processes serves some of them.
    """
    requests = _list_requests(number, links)
    while batch := list(islice(requests, _PER_CONNECTION)):
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            for method, path, fields in batch:
                body = urlencode(fields) if method == "POST" else None
                connection.request(method, path, body, _FORM if body else {})
                response = connection.getresponse()
                response.read()
                assert response.status in _EXPECTED, (method, path, response.status)


def _list_requests(number: int, links: list[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield method, path and fields: cheap pages and posts that change nothing, by turns."""
    ways = [
        request
        for link in links
        for request in (
            ("GET", link, {}),
            ("POST", f"{link}finish/", {"feedback": "Thank you."}),
            ("GET", f"{link}no-work/", {}),
            ("POST", f"{link}closed/", {"go": "back"}),
            ("GET", "/account/login/", {}),
        )
    ]
    return islice(cycle(ways), number)
