"""Make text safe for a log line."""

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.urls import URLPattern, URLResolver

# parameters of addresses that anyone who reads them could use; keys of questions are no secret
_SECRETS = re.compile(r"<(?:\w+:)?token>|<(?!slug:)(?:\w+:)?key>")
# tokens of processes that serve no pages
_LONG_PART = re.compile(r"(/)[\w:=~-]{20,}")
# a platform's ids; quotes at the end may close the address, and stay
JOIN_QUERY = re.compile(r"(/join\b[^\s?]{0,80}\?)\S*[^\s\"'>]")
# asked every few seconds, and a failure is the answer
LIVE, READY = "/health/live/", "/health/ready/"


class LeaveOutRoutine(logging.Filter):
    """Keep requests of monitoring out of the log, and forms that came back with their problems."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        is_health = getattr(request, "path_info", "") in (LIVE, READY)
        return not is_health and getattr(record, "status_code", None) != 422


class HideTokens(logging.Filter):
    """Keep links that let people in, and the ids in join links, out of logs and tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        hidden = hide_tokens(message)
        if hidden != message:
            record.msg, record.args = hidden, ()
        if record.exc_info:
            # formatted here, as a formatter would; it leaves a text that is there already alone
            trace = record.exc_text or logging.Formatter().formatException(record.exc_info)
            record.exc_text = hide_tokens(trace)
        return True


def hide_tokens(text: str) -> str:
    """Return the text with “…” in place of each token and of the query of each join link."""
    urls = sys.modules.get(settings.ROOT_URLCONF)
    tokens = _make_pattern() if hasattr(urls, "urlpatterns") else _LONG_PART
    return JOIN_QUERY.sub(r"\1…", tokens.sub(r"\1…", text))


def holds_secret(captured: Mapping[str, Any]) -> bool:
    """Return whether the address of a page that captured these holds a secret."""
    return not captured.keys().isdisjoint({"token", "key"})


def find_secret_prefixes() -> list[str]:
    """Return what stands before each token or key in the addresses of this site: /p/ ..."""
    patterns = sys.modules[settings.ROOT_URLCONF].urlpatterns
    prefixes = set()
    for route in _list_routes(patterns, "/"):
        for match in _SECRETS.finditer(route):
            prefixes.add(route[: route.rindex("/", 0, match.start()) + 1])
    return sorted(prefixes)


@cache
def _make_pattern() -> re.Pattern[str]:
    """Return a pattern for every token after its prefix, also inside the query of an address."""
    prefixes = [
        # what is captured before a token may be anything
        re.sub(r"<[^>]+>", "[^/]+", re.escape(prefix)).replace("/", "(?:/|%2[Ff])")
        for prefix in find_secret_prefixes()
    ]
    return re.compile(rf"({'|'.join(prefixes)})(?:(?!%2[Ff])[^/\s\"'?&])+")


def _list_routes(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for pattern in patterns:
        route = before + re.sub(r"\(\?P(<\w+>)[^)]*\)", r"\1", str(pattern.pattern)).lstrip("^")
        if isinstance(pattern, URLResolver):
            yield from _list_routes(pattern.url_patterns, route)
        else:
            yield route
