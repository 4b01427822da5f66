"""Whatever is sent to whatever page by whomever, the site answers, and soon."""

from collections import Counter

import pytest
from django.test import Client

from tests.support.fuzzing import BOUNDARY, CODECS, KINDS, Fuzz, Outcome
from tests.support.wsgi import Site

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
SECONDS = 1.0


@pytest.fixture
def fuzz() -> Fuzz:
    return Fuzz()


def describe_faults(outcomes: list[Outcome]) -> str:
    """Return each kind of fault once, with the first request that met it."""
    bad = [one for one in outcomes if one.status_code >= 500 or one.faults]
    kinds = Counter((one.faults or [""])[0].rstrip().rpartition("\n")[2] for one in bad)
    told = [f"{len(bad)} faults: {kinds.most_common(20)}"] if bad else []
    seen: set[str] = set()
    for one in bad:
        last = (one.faults or [""])[0].rstrip().rpartition("\n")[2]
        if last not in seen:
            seen.add(last)
            told.append(f"{one.request}\n{one.status_code} {''.join(one.faults)[-2_500:]}")
    return "\n\n".join(told)


def describe_slow(outcomes: list[Outcome]) -> list[str]:
    return [f"{one.seconds:.2f} s: {one.request}" for one in outcomes if one.seconds > SECONDS]


@pytest.mark.both_databases
def test_bad_73_a_sample_of_hostile_requests_meets_no_fault(fuzz):
    # spread over all routes and people, the same each time
    outcomes = [
        one for number in range(0, 10_000, 149) for one in fuzz.run(range(number, number + 1))
    ]

    assert {one.request.kind for one in outcomes} == set(KINDS)
    assert describe_faults(outcomes) == ""


@pytest.mark.parametrize("path", ["/nothing/", "/admin/studies/%00/"])
def test_a_broken_body_sent_to_no_page_is_not_read(path):
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "a" * 32

    response = client.generic("POST", path, b"--cut", content_type="multipart/form-data")

    assert response.status_code == 404


@pytest.mark.torture
def test_bad_73_ten_thousand_hostile_requests_meet_no_fault_and_take_a_second_at_most(fuzz):
    outcomes = list(fuzz.run(range(10_000)))

    assert describe_faults(outcomes) == ""
    assert describe_slow(outcomes) == []
    statuses = Counter(one.status_code for one in outcomes)
    assert {200, 302, 400, 403, 404, 405, 415, 422} <= set(statuses), statuses
    sent = " ".join(one.request.content_type for one in outcomes)
    assert [codec for codec in CODECS if f"charset={codec}" not in sent] == []


# --- what is known to be slow where nothing stops it ----------------------------------------

PUNYCODE = b"a" * 10 + b"-" + b"b" * 320_000


def make_heavy() -> dict[str, tuple[str, bytes]]:
    """Return bodies of a Content-Type that took a core for half a minute, or could."""
    separator = b"--" + BOUNDARY.encode()
    head = separator + b"\r\nContent-Disposition: form-data; name=username"
    field = head + b"\r\n\r\n" + PUNYCODE + b"\r\n" + separator + b"--\r\n"
    named = separator + b"\r\nContent-Disposition: form-data; name*=punycode''a-" + b"b" * 900
    return {
        "punycode": (f"{MULTIPART}; charset=punycode", field),
        "idna": (f"{MULTIPART}; charset=idna", field),
        "punycode in names": (MULTIPART, (named + b"\r\n\r\nx\r\n") * 340 + separator + b"--\r\n"),
        "separators": (MULTIPART, separator * 40_000),
        "short separators": ("multipart/form-data; boundary=x", b"--x" * 800_000),
        "quotes": (MULTIPART, head + b'; x="' + b";" * 900 + b"\r\n\r\nx\r\n" + separator + b"--"),
    }


@pytest.mark.parametrize("name", make_heavy())
def test_a_body_that_was_made_to_be_slow_is_refused(name):
    content_type, body = make_heavy()[name]

    answer = Site().ask("/account/login/", method="POST", content_type=content_type, body=body)

    assert answer.status_code in (400, 403, 415)


@pytest.mark.torture
@pytest.mark.parametrize("name", make_heavy())
def test_a_body_that_was_made_to_be_slow_takes_a_second_at_most(fuzz, name):
    content_type, body = make_heavy()[name]
    request = fuzz.make_request(0)

    for path in ("/account/login/", f"/p/{fuzz.values['token'][0]}/consent/"):
        changed = {"method": "POST", "path": path, "content_type": content_type, "body": body}
        outcome = fuzz.send(type(request)(**{**vars(request), **changed}))
        assert outcome.seconds < SECONDS
