"""Addresses that let people in: out of logs and caches, here and in the proxies of our examples."""

import logging
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import resolve

from evalsite.core.log_safety import HideTokens, find_secret_prefixes

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "WyJqYW5lIl0:1vSgqT:x-9_secret"
# written down here once: a new address with a token has to be named, masked and documented
PREFIXES = [
    "/account/email/",
    "/account/first/",
    "/account/password/new/",
    "/invitation/",
    "/p/",
    "/pilot/",
]
LONE_PLACES = {"/account/password/new/": f"2s-{TOKEN}/"}


@pytest.fixture(autouse=True)
def pages() -> None:
    """Load all addresses, as the first request does."""
    resolve("/")


def list_addresses() -> list[str]:
    """Return one address for each route with a token, and for what is below it."""
    firsts = [prefix + LONE_PLACES.get(prefix, f"{TOKEN}/") for prefix in find_secret_prefixes()]
    return [*firsts, f"/p/{TOKEN}/sets/1/items/2/"]


def read_examples(mark: str) -> list[str]:
    """Return the configurations of proxies in our docs and in deploy/ that contain this text."""
    docs = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    blocks = [
        block
        for path in docs
        for block in re.findall(r"^```\w*\n(.*?)^```", path.read_text(), re.M | re.S)
    ]
    files = [path.read_text() for path in (ROOT / "deploy").rglob("*") if path.is_file()]
    return [text for text in [*blocks, *files] if mark in text]


def test_every_address_with_a_token_or_key_is_known_from_the_url_conf():
    assert find_secret_prefixes() == PREFIXES


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        '192.0.2.1 "GET {} HTTP/1.1" 200',
        '"GET /admin/login/?next={} HTTP/1.1" 302',
        "Internal Server Error: {}",
    ],
)
def test_no_token_reaches_a_log(served_before, line):
    for address in list_addresses():
        for shown in (address, address.replace("/", "%2F")):
            record = logging.LogRecord("x", logging.INFO, "", 0, line.format(shown), (), None)

            HideTokens().filter(record)

            assert "secret" not in record.getMessage()
            assert "…" in record.getMessage()


def test_process_that_has_loaded_no_pages_hides_every_long_part(monkeypatch, settings):
    settings.ROOT_URLCONF = "not.loaded"
    for address in (f"{prefix}{TOKEN}/" for prefix in PREFIXES):
        record = logging.LogRecord("x", logging.INFO, "", 0, f"GET {address}", (), None)

        HideTokens().filter(record)

        assert "secret" not in record.getMessage()


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.parametrize("method", ["get", "post"])
def test_pages_behind_a_token_are_stored_nowhere(served_before, method):
    for address in list_addresses():
        response = getattr(Client(), method)(address)

        assert "no-store" in response.headers.get("Cache-Control", ""), address


def test_nginx_in_our_examples_logs_no_token():
    examples = read_examples("proxy_pass")
    assert examples
    for example in examples:
        (body,) = re.findall(r"map \$uri \$evalsite_path \{(.*?)\n\}", example, re.S)
        rules = re.findall(r'"~([^"]+)"\s+(\S+);', body)
        assert "$evalsite_path" in re.search(r"log_format evalsite (.*);", example)[1]
        for address in list_addresses():
            assert "secret" not in map_path(rules, address), address


def map_path(rules: list[tuple[str, str]], address: str) -> str:
    """Return what nginx's map makes of a path."""
    for pattern, value in rules:
        match = re.search(pattern.replace("(?<", "(?P<"), address)
        if match:
            return match.expand(re.sub(r"\$(\w+)", r"\\g<\1>", value))
    return address


def test_caddy_in_our_examples_logs_no_token():
    examples = read_examples("reverse_proxy")
    assert examples
    for example in examples:
        # its messages about single requests name the whole address
        assert "exclude http.log.error" in example
        # without `log` in the site, Caddy writes no access log
        if not re.search(r"^\tlog\b", example.split("\n}\n", 1)[-1], re.M):
            continue
        (pattern,) = re.findall(r"request>uri regexp `(.*)` \"\$\{1\}-\"", example)
        for address in [*list_addresses(), f"/join/x/?PROLIFIC_PID={TOKEN}"]:
            logged = re.sub(pattern, lambda match: f"{match[1] or ''}-", address)
            assert "secret" not in logged, address
        # they may hold cookies, and addresses that a page leads to or was reached from
        assert {"request>headers delete", "resp_headers delete"} <= set(
            map(str.strip, example.splitlines())
        )
