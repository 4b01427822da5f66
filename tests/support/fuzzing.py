"""Requests that nobody meant: to every address, as every kind of person, with anything in them."""

import encodings
import gc
import json
import random
import re
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from encodings.aliases import aliases
from html import unescape
from pkgutil import iter_modules
from typing import Any
from urllib.parse import quote_from_bytes
from uuid import uuid4

from django.contrib.auth.models import User
from django.core.signals import got_request_exception
from django.db import transaction
from django.test import Client

from evalsite.handout.claims import claim_set
from evalsite.instruments.installed import installed_protocols
from evalsite.people.models import Participant
from evalsite.studies.models import Membership, Study
from tests.site.test_get_is_safe import PARAMETER, fill, make_staff_pages, routes, with_object
from tests.support.answering import make_live
from tests.support.factories import make_annotator, make_user, mint_link
from tests.support.wsgi import FORM, Answer, Site

BOUNDARY = "fuzz"
CODECS = sorted(
    {*aliases, *aliases.values(), *(module.name for module in iter_modules(encodings.__path__))}
)
CSRF = "c" * 32
ROLES: dict[str, dict[str, Any]] = {
    "viewer": {"role": "viewer"},
    "editor": {"role": "editor"},
    "editor with identities": {"role": "editor", "has_identities": True},
    "owner": {"role": "owner"},
}
KINDS = ("anonymous", "participant", "other researcher", *ROLES, "administrator")

TEXTS = [
    *(
        b"",
        b" ",
        b"\x00",
        b"a\x00b",
        b"\xff\xfe\x00",
        b"\xed\xa0\x80",
        b"\xc3",
        b"\xf4\x90\x80\x80",
    ),
    *(
        b"0",
        b"-1",
        b"1",
        b"+7",
        b"1e400",
        b"NaN",
        b"9" * 5_000,
        b"0x1F",
        b"1,5",
        b"\xd9\xa3",
        b"5_0",
    ),
    *(b"<script>alert(1)</script>", b"{{7*7}}", b"%s%n%d", b"' OR 1=1 --", b"../../etc/passwd"),
    *(b"2026-13-45", b"2026-02-30T25:61", b"0001-01-01", b"9999-12-31T23:59:59", b"12:00"),
    *(
        b"\r\n\r\n",
        b"a\r\nX-Evil: 1",
        b"\xe2\x80\xae70",
        b"\xef\xbb\xbf[]",
        b"\xf0\x9f\x98\x80" * 50,
    ),
    *(
        b"{",
        b"[]",
        b"null",
        b'"\\ud800"',
        b'{"a": "\\ud800"}',
        b'[[0, 4, "\\ud800"]]',
        b"[" * 100_000,
    ),
    *(b"[[0, " + b"9" * 5_000 + b', "a"]]', b'{"a":' * 20_000, b"a" * 100_000, b"a;" * 50_000),
    *(b"//evil.example/", b"javascript:alert(1)", b"/admin/\\evil.example", b"a@b", b"on", b"yes"),
    *(b"\xc3\xa9" * 5_000, b"\xcc\x81" * 5_000, b"\n" * 20_000, b"- " * 20_000, b"`" * 20_000),
]
NAMES = [
    *(b"", b"\x00", b"\xff", b"\xed\xa0\x80", b"state", b"note", b"go", b"next", b"action", b"q"),
    *(b"page", b"o", b"p", b"e", b"all", b"_popup", b"_to_field", b"id__exact", b"id__in", b"part"),
    *(b"state__exact", b"kind__exact", b"study__id__exact", b"user__password__startswith", b"ot"),
    *(b"participant", b"annotation", b"rule", b"plan", b"batch", b"form", b"archived", b"was"),
    *(
        b"undo",
        b"feedback",
        b"created_at__gte",
        b"is_pilot__exact",
        b"id__isnull",
        b"key__contains",
    ),
    *(
        b"username__exact",
        b"action_checkbox",
        b"_selected_action",
        b"index",
        b"file",
        b"PROLIFIC_PID",
    ),
]
METHODS = ("POST",) * 7 + ("GET",) * 5 + ("HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "X")
TYPES = (*(FORM,) * 4, *(f"multipart/form-data; boundary={BOUNDARY}",) * 4, "application/json", "")
BAD_TYPES = (
    *("multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=fuzz"),
    *(f"{FORM}; x*=zlib''y", f"{FORM}; charset*=a; charset*0=b", ";", "a/b; " + "x;" * 2_000),
    *("\xff/\xfe; charset=\xfd", "multipart/form-data; boundary=\xff", 'a/b; x="' + ";" * 4_000),
)
PART_HEADERS = (
    *(b"; filename=a.csv", b"; filename=\xff", b"; filename*=punycode''a-b", b"; x*=a; x*0=b"),
    *(b"\r\nContent-Type: text/plain; charset=utf-7", b"\r\nContent-Transfer-Encoding: base64"),
)
HOSTILE = ("0", "x", str(10**30), "-1", "\x00", "\xff", "..", "%00", "a" * 3_000, "\u00e9")
_CONTROL = re.compile(r"<(?:input|textarea|select|button)\b[^>]*>")
_NAME, _VALUE = re.compile(r'name="([^"]*)"'), re.compile(r'value="([^"]*)"')
_OPTION = re.compile(r'<option[^>]*value="([^"]*)"')


@dataclass(frozen=True)
class Request:
    """What is sent; its number says all of it once more."""

    number: int
    kind: str
    method: str
    path: str
    query: str
    content_type: str
    body: bytes
    headers: dict[str, str]

    def __str__(self) -> str:
        shown = f"{self.method} {self.path[:200]}?{self.query[:200]} [{self.content_type[:100]}]"
        return f"request {self.number}, {self.kind}: {shown} {self.body[:400]!r}"


@dataclass
class Outcome:
    request: Request
    status_code: int
    seconds: float  # of the processor
    faults: list[str] = field(default_factory=list)


class Fuzz:
    """A site with rows in every page, and a source of requests to it that is seeded."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.site = Site()
        self.values = make_staff_pages()
        self.values["token"] = [*make_tokens(self.values["study_id"][0]), "nobody"]
        self.values |= {"number": [1, 2], "place": [1, 2, 3]}
        self.sessions = make_sessions()
        self.routes = sorted(set(routes()))
        self._fields: dict[tuple[str, str], list[tuple[bytes, bytes]]] = {}

    def run(self, numbers: range) -> Iterator[Outcome]:
        for number in numbers:
            request = self.make_request(number)
            yield self.send(request)

    def send(self, request: Request) -> Outcome:
        """Return what became of the request; the database is as it was."""
        faults: list[str] = []

        def note(**told: Any) -> None:
            faults.append(traceback.format_exc())

        point = transaction.savepoint()
        got_request_exception.connect(note)
        # the log of all requests is kept: to go through it takes a second, but isn't the request's
        gc.disable()
        began = time.process_time()
        try:
            answer = self._ask(request)
        except Exception as error:
            faults.append("".join(traceback.format_exception(error)))
            answer = Answer(500, {}, b"")
        finally:
            seconds = time.process_time() - began
            gc.enable()
            got_request_exception.disconnect(note)
            transaction.set_rollback(False)
            transaction.savepoint_rollback(point)
        if b"Traceback" in answer.body:
            faults.append("a traceback on the page")
        return Outcome(request, answer.status_code, seconds, faults)

    def _ask(self, request: Request) -> Answer:
        return self.site.ask(
            request.path,
            method=request.method,
            query=request.query,
            content_type=request.content_type,
            body=request.body,
            headers=request.headers,
        )

    # --- one request --------------------------------------------------------------------

    def make_request(self, number: int) -> Request:
        chance = random.Random(f"{self.seed}/{number}")
        # every route with every kind of person, in turn
        route = self.routes[number % len(self.routes)]
        kind = KINDS[number // len(self.routes) % len(KINDS)]
        method = chance.choice(METHODS)
        path = self._choose_path(route, chance)
        fields = self._choose_fields(kind, path, chance)
        content_type = self._choose_type(number, chance)
        return Request(
            number=number,
            kind=kind,
            method=method,
            path=path,
            query=make_query(chance),
            content_type=content_type,
            body=b"" if method == "GET" else make_body(content_type, fields, chance),
            headers=self._make_headers(kind, chance),
        )

    def _choose_path(self, route: str, chance: random.Random) -> str:
        values = {name: [1, "x", uuid4()] for name in PARAMETER.findall(route)}
        values |= with_object(route, self.values)
        chosen = {
            name: [chance.choice(HOSTILE if chance.random() < 0.1 else values[name])]
            for name in PARAMETER.findall(route)
        }
        return next(fill(route, chosen)).encode().decode("latin-1")

    def _choose_fields(
        self, kind: str, path: str, chance: random.Random
    ) -> list[tuple[bytes, bytes]]:
        """Return the fields of the page's own forms, some of them with something else in them."""
        key = (kind, path)
        if key not in self._fields:
            page = self.send(Request(-1, kind, "GET", path, "", "", b"", self._cookies(kind)))
            shown = self._ask(page.request) if page.status_code == 200 else None
            html = shown.body.decode("utf-8", "replace") if shown else ""
            self._fields[key] = list(read_controls(html))
        share = chance.choice((0.0, 0.1, 0.5, 1.0))
        fields = [
            (name, chance.choice(TEXTS) if chance.random() < share else value)
            for name, value in self._fields[key][:300]
            if chance.random() < 0.9
        ]
        more = chance.choice((0, 0, 1, 5))
        return fields + [(chance.choice(NAMES), chance.choice(TEXTS)) for _ in range(more)]

    def _choose_type(self, number: int, chance: random.Random) -> str:
        if chance.random() < 0.05:
            return chance.choice(BAD_TYPES)
        content_type = chance.choice(TYPES)
        if number % 5 == 0:  # every codec in turn
            return f"{content_type}; charset={CODECS[number // 5 % len(CODECS)]}"
        return content_type

    def _make_headers(self, kind: str, chance: random.Random) -> dict[str, str]:
        headers = self._cookies(kind)
        if chance.random() < 0.1:
            text = chance.choice(TEXTS)[:4_000].decode("latin-1")
            odd = ("Accept-Language", "User-Agent", "Accept", "Referer", "Cookie", "If-None-Match")
            headers[chance.choice(odd)] = re.sub(r"[\x00\r\n]", "", text)
        return headers

    def _cookies(self, kind: str) -> dict[str, str]:
        session = self.sessions.get(kind)
        cookie = f"csrftoken={CSRF}" + (f"; sessionid={session}" if session else "")
        return {"Cookie": cookie, "X-CSRFToken": CSRF, "Host": "testserver"}


def make_tokens(live: Any) -> list[str]:
    """Return links of all kinds of people in a study, and of one at work in each protocol."""
    people = [*Participant.objects.filter(study=live)]
    for config in installed_protocols().values():
        study = make_live(config)
        people.append(make_annotator(study))
        claim_set(people[-1])
    return [mint_link(one).split("/")[2] for one in people]


def make_sessions() -> dict[str, str]:
    """Return the session of one person of each kind who signs in."""
    people = {kind: make_user(kind.replace(" ", "-")) for kind in ("other researcher", *ROLES)}
    for kind, rights in ROLES.items():
        for study in Study.objects.all():
            Membership.objects.create(study=study, user=people[kind], **rights)
    people["administrator"] = make_user("administrator", is_superuser=True)
    return {kind: sign_in(user) for kind, user in people.items()}


def sign_in(user: User) -> str:
    client = Client()
    client.force_login(user, backend="evalsite.core.accounts.backend.AccountBackend")
    return client.cookies["sessionid"].value


def read_controls(html: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names of what a page's forms send, with values that they offer."""
    for control in _CONTROL.finditer(html):
        name = _NAME.search(control[0])
        if name is None:
            continue
        value = _VALUE.search(control[0])
        if control[0].startswith("<select"):
            value = _OPTION.search(html, control.end(), html.find("</select>", control.end()))
        yield unescape(name[1]).encode(), unescape(value[1] if value else "").encode()


def make_query(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return ""
    pairs = [
        (chance.choice(NAMES), chance.choice(TEXTS)[:2_000]) for _ in range(chance.choice((1, 3)))
    ]
    if chance.random() < 0.2:
        return b"&".join(name + b"=" + text for name, text in pairs).decode("latin-1")
    return "&".join(f"{quote_from_bytes(name)}={quote_from_bytes(text)}" for name, text in pairs)


def make_body(content_type: str, fields: list[tuple[bytes, bytes]], chance: random.Random) -> bytes:
    draw = chance.random()
    if draw < 0.05:
        return chance.randbytes(chance.choice((1, 100, 10_000)))
    if "multipart" in content_type:
        body = make_parts(fields, chance)
    elif "json" in content_type:
        body = json.dumps({name.decode("latin-1"): str(text) for name, text in fields}).encode()
    elif draw < 0.15:
        body = b"&".join(name + b"=" + text for name, text in fields)
    else:
        pairs = (f"{quote_from_bytes(name)}={quote_from_bytes(text)}" for name, text in fields)
        body = "&".join(pairs).encode()
    return body[: chance.randrange(len(body) + 1)] if draw > 0.95 else body


def make_parts(fields: list[tuple[bytes, bytes]], chance: random.Random) -> bytes:
    parts = []
    for name, text in fields:
        odd = chance.choice(PART_HEADERS) if chance.random() < 0.03 else b""
        parts.append(
            b'--%s\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
            % (BOUNDARY.encode(), name, odd, text)
        )
    return b"".join(parts) + b"--%s--\r\n" % BOUNDARY.encode()
