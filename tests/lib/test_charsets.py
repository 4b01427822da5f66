"""Everything that is sent is read as UTF-8; what names another charset isn't read at all."""

import codecs
import encodings
from encodings.aliases import aliases
from http.client import HTTPConnection
from itertools import product
from pkgutil import iter_modules

import pytest
from django.test import RequestFactory
from django.urls import reverse

from evalsite.command_line.site import HOST
from evalsite.handout.models import Draft
from evalsite.instruments.installed import installed_protocols
from evalsite.lib.charsets import is_in_utf8, is_utf8
from evalsite.participation.forms import ReportForm, read_entered
from evalsite.people.forms import EntryForm, FeedbackForm
from evalsite.people.models import Answer
from tests.lib.test_body_limits import Unread
from tests.support.factories import make_participant, make_study, mint_link
from tests.support.instruments import ask
from tests.support.tabs import make_live, open_tab
from tests.support.webserver import WebServer
from tests.support.wsgi import FORM, Site

MULTIPART = "multipart/form-data; boundary=X"
CODECS = sorted(
    {*aliases, *aliases.values(), *(one.name for one in iter_modules(encodings.__path__))}
)


def is_utf8_to_python(name: str) -> bool:
    try:
        return codecs.lookup(name).name == "utf-8"
    except (LookupError, ValueError):
        return False


@pytest.fixture
def site(db) -> Site:
    return Site()


@pytest.fixture
def pages() -> list[str]:
    """Pages for strangers, participants and staff, one that is not there and one that redirects."""
    study = make_live()
    home = mint_link(make_participant(study))
    return [
        *("/", home, f"{home}draft/", f"{home}questions/", "/nowhere/", reverse("admin:login")),
        reverse("study-join", args=[study.pk]),
        reverse("admin:study-overview", args=[study.pk]),
    ]


def part(headers: str, value: bytes = b"x") -> bytes:
    return b"--X\r\n" + headers.encode() + b"\r\n\r\n" + value + b"\r\n--X--\r\n"


# --- which names are UTF-8 -------------------------------------------------------------------


def test_a_name_is_utf8_exactly_if_python_says_so():
    for name in CODECS:
        for spelled in (name, name.upper(), name.replace("_", "-"), name.replace("_", " ")):
            assert is_utf8(spelled) == is_utf8_to_python(spelled), spelled


def test_python_knows_several_names_of_utf8():
    assert sum(map(is_utf8, CODECS)) > 5


@pytest.mark.parametrize(
    "content_type",
    [
        *("", "text/plain", "text/plain;", "charset=latin-1", f"{FORM}; charset=UTF-8", MULTIPART),
        *('text/plain; charset="utf-8"', "text/plain;charset=utf8 ; x=y", "a/b; CHARSET=Utf_8"),
        *(
            "a/b; charset='u8'",
            'a/b; x="a;b"; charset=u8',
            'multipart/form-data; boundary="charset=latin-1"',
        ),
    ],
)
def test_a_content_type_without_another_charset_is_read(content_type):
    assert is_in_utf8(content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        *(
            "a/b; charset=latin-1",
            "a/b; CHARSET=punycode",
            'a/b; charset="latin-1"',
            "a/b;charset=",
        ),
        *("a/b; charset=utf-8; charset=latin-1", "a/b; charset=latin-1; charset=utf-8"),
        *(
            "a/b; charset = zlib",
            "a/b; x=y; charset=hex",
            "a/b; charset=utf-8, c/d",
            ";charset=idna",
        ),
        *(
            "a/b; charset=utf-8-sig",
            "a/b; charset=utf-16",
            "a/b; charset=bogus",
        ),
        # extended parameters, continued ones, and some that Python's parser stumbles over
        *("a/b; charset*=utf-8''punycode", "a/b; charset*0=puny; charset*1=code"),
        *("a/b; x*=zlib''y", "a/b; x*=undefined''y", "a/b; charset*=x; charset*0=y"),
        *("a/b; boundary*=punycode''X", "a/b; charset=\xfctf-8", 'a/b; charset="utf\\-16"'),
    ],
)
def test_a_content_type_with_another_charset_is_not(content_type):
    assert not is_in_utf8(content_type)


# --- requests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "X"])
def test_another_charset_is_415_on_every_page_and_the_body_is_not_read(site, pages, method):
    for path in pages:
        for content_type in (f"{FORM}; charset=latin-1", f"{MULTIPART}; charset=punycode"):
            answer = site.ask(path, method=method, content_type=content_type, body=Unread())
            assert answer.status_code == 415, path
            assert "Set-Cookie" not in answer.headers
            assert "Content-Security-Policy" in answer.headers


def test_bad_80_no_codec_of_python_is_used_for_what_is_sent(site):
    for codec, method in product(CODECS, ("GET", "POST")):
        status = 200 if is_utf8_to_python(codec) else 415
        answer = site.ask(
            "/account/login/",
            method=method,
            query="%FF&next=a",
            content_type=f"{FORM}; charset={codec}",
            body=b"" if method == "GET" else b"username=%FF",
        )
        wanted = 403 if method == "POST" and status == 200 else status
        assert answer.status_code == wanted, (codec, method)


@pytest.mark.parametrize("spelled", ["utf-8", "UTF8", "u8", '"utf_8"', "cp65001"])
@pytest.mark.parametrize("form", [FORM, MULTIPART])
def test_a_form_in_utf8_is_taken_however_that_is_spelled(site, form, spelled):
    me = make_participant(make_study())
    field = (
        b"go=decline"
        if form == FORM
        else part('Content-Disposition: form-data; name="go"', b"decline")
    )

    answer = site.ask(
        f"{mint_link(me)}consent/",
        method="POST",
        content_type=f"{form}; charset={spelled}",
        body=field,
    )

    assert answer.status_code == 302
    assert me.consents.get().is_given is False


@pytest.mark.parametrize("codec", ["bogus", "latin-1", "punycode", "undefined", "utf-7", "zlib"])
def test_a_part_may_name_any_charset_and_the_text_in_it_is_read_as_utf8(site, codec):
    me = make_participant(make_study())
    headers = (
        f"Content-Disposition: form-data; name=go; x*={codec}''%5Cud800\r\n"
        f"Content-Type: text/plain; charset={codec}"
    )
    plain = "Content-Disposition: form-data; name=go"

    answer = site.ask(
        f"{mint_link(me)}consent/",
        method="POST",
        content_type=MULTIPART,
        body=part(headers, b"\xff")[:-7] + part(plain, b"decline"),
    )

    assert answer.status_code == 302
    assert me.consents.get().is_given is False


@pytest.mark.one_case
@pytest.mark.parametrize(
    "headers",
    [
        "content-disposition: form-data; name*={}''%5Cud800%ED%A0%80; filename*={}''%5Cud800.csv",
        "content-disposition: form-data; name*0*={}''%5Cud800; name*1=x",
        "content-disposition: form-data; name=a\r\ncontent-type: text/plain; charset={}",
    ],
)
def test_no_part_has_a_name_that_no_database_stores(headers):
    for codec in CODECS:
        body = part(headers.format(codec, codec), b"\xed\xa0\x80")
        request = RequestFactory().generic("POST", "/", body, MULTIPART)
        for text in (*request.POST, *request.POST.values(), *request.FILES):
            text.encode()
        for file in request.FILES.values():
            file.name.encode()


def test_a_file_name_in_utf8_may_say_so(site):
    headers = "Content-Disposition: form-data; name=file; filename*=UTF-8''na%C3%AFve.csv"
    body = part(f"{headers}\r\nContent-Type: text/csv; charset=utf-8")

    answer = site.ask("/account/login/", method="POST", content_type=MULTIPART, body=body)

    assert answer.status_code == 403  # read, and without a cookie


# --- what is no UTF-8, though nothing says so ---------------------------------------------------

NO_TEXT = [
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"%ED%A0%80",
    b"%FF",
    b"+2AA-",
    b"\\ud800",
    b"\x00",
    b"%00",
]


@pytest.mark.one_case
@pytest.mark.both_databases
@pytest.mark.slow
@pytest.mark.parametrize("sent", NO_TEXT)
def test_bytes_that_are_no_text_never_break_a_page_and_never_reach_the_database(site, sent):
    tab = open_tab()
    fields = tab.fields
    state = fields["state"].encode()
    for path in ("draft/", "sets/1/items/1/", "sets/1/items/1/report/", "questions/", "finish/"):
        urlencoded = b"state=" + state + b"&informativeness-1=" + sent + b"&note=" + sent
        multipart = (
            part("content-disposition: form-data; name=state", state)[:-7]
            + part("content-disposition: form-data; name=informativeness-1", sent)[:-7]
            + part("content-disposition: form-data; name=note", sent)
        )
        for content_type, body in ((FORM, urlencoded), (MULTIPART, multipart)):
            answer = site.ask(tab.home + path, method="POST", content_type=content_type, body=body)
            assert answer.status_code < 500

    for draft in Draft.objects.all():
        for text in draft.values.values():
            assert "\0" not in text
            text.encode()
    assert site.ask(tab.address_of(1)).status_code == 200


def test_a_base64_part_is_read_as_utf8(site):
    me = make_participant(make_study(protocol="rrgen"))
    headers = "Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64"

    answer = site.ask(
        f"{mint_link(me)}consent/",
        method="POST",
        content_type=MULTIPART,
        body=part(headers, b"7aCA"),
    )

    assert answer.status_code == 422
    assert not Answer.objects.exists()


@pytest.mark.both_databases
def test_nul_in_a_query_is_replaced(site):
    assert site.ask("/account/login/", query="next=%2Fadmin%00%2F&%00=%00").status_code == 200
    text = site.ask("/account/login/", query="next=%2Fadmin%00%2F").text
    assert "\0" not in text
    assert "/admin\ufffd/" in text


@pytest.mark.both_databases
@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/account/sso/%00/login/", "/p/%00/", "/%00"])
def test_address_with_a_nul_leads_nowhere(client, address):
    assert client.get(address).status_code == 404


# --- forms, whoever fills them ------------------------------------------------------------------


@pytest.mark.parametrize("half", ["\ud800", "a\udfffb", "a\x00b"])
def test_no_form_of_participants_cleans_to_what_no_database_stores(half):
    config = installed_protocols()["rrgen"]
    asked = installed_protocols()["magnitude"]
    entry = {question.key: half for question in asked.eligibility.questions}
    forms = [
        FeedbackForm({"comment": half}),
        ReportForm({"reason": "other", "note": half}),
        EntryForm(entry, config=asked, eligibility=asked.eligibility),
    ]

    assert [form.is_valid() for form in forms] == [False] * 3
    for text in read_entered(config, ask(config, 3), EveryField(half)).values():
        text.encode()
        assert "\0" not in text


class EveryField(dict):
    """Posted data in which every field holds the same text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return self.text


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_charset_other_than_utf8_is_refused_by_the_server_that_runs(database_url, tmp_path):
    with WebServer(database_url, tmp_path) as server:
        link = HTTPConnection(HOST, server.port, timeout=30)
        headers = {"Content-Type": f"{MULTIPART}; charset=punycode"}
        link.request("POST", "/account/login/", b"a" * 100_000, headers)
        status = link.getresponse().status
        link.close()

    assert status == 415
