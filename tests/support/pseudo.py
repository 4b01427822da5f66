"""A language that shows what was translated: every sentence comes back longer, in brackets."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from gettext import NullTranslations
from html.parser import HTMLParser
from typing import Any

from django.conf import settings
from django.test import override_settings
from django.utils.translation import trans_real

# languages that Django knows, written to the right and to the left; their words stay unused
LONGER, RIGHT_TO_LEFT = "eo", "he"
OPENS, CLOSES = "⟦", "⟧"
_PADDING = " ~~~~~~"
_SHOWN = ("aria-label", "title", "alt", "placeholder")
_UNSEEN = ("script", "style", "title", "kbd")


class Pseudo(NullTranslations):
    """Answer every message with itself, some 40% longer and in brackets."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self.name = language

    def language(self) -> str:
        return self.name

    def to_language(self) -> str:
        return self.name

    def gettext(self, message: str) -> str:
        padding = _PADDING * (1 + len(message) // 15)
        return f"{OPENS}{message}{padding}{CLOSES}" if message else ""

    def ngettext(self, one: str, several: str, number: int) -> str:
        return self.gettext(one if number == 1 else several)

    def pgettext(self, context: str, message: str) -> str:
        return self.gettext(message)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Let the site know this language, and speak it in studies that are in it."""
    with override_settings(LANGUAGES=[*settings.LANGUAGES, (language, language)]):
        # the change of settings has emptied it, and will once more
        trans_real._translations[language] = Pseudo(language)
        yield


class _Texts(HTMLParser):
    """The texts of a page, and of the attributes that people hear or see."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.unseen += tag in _UNSEEN
        self.found += [value for name, value in attrs if name in _SHOWN and value]

    def handle_endtag(self, tag: str) -> None:
        self.unseen -= tag in _UNSEEN

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.found.append(data)


def untranslated(html: str, known: str) -> list[str]:
    """Return the texts of a page that did not go through the translation, nor are in `known`."""
    parser = _Texts()
    parser.feed(html)
    # brackets may open in one text and close in another, around an element
    texts = "\0".join(parser.found)
    # one sentence may hold another, such as a bonus with its amount
    inmost = f"{OPENS}[^{OPENS}{CLOSES}]*{CLOSES}"
    while re.search(inmost, texts):
        texts = re.sub(inmost, " ", texts)
    parts = (_plain(part) for part in texts.replace("\0", "\n").split("\n"))
    # a long text may be cut
    shown = (_unnamed(part).rstrip("…").strip() for part in parts)
    return [part for part in shown if re.search("[A-Za-z]{2}", part) and part not in known]


def _unnamed(text: str) -> str:
    """Return a text without addresses, codes and times, which no language changes."""
    return re.sub(r"https?://\S+|\b[A-Z0-9]{1,4}(-[A-Z0-9]{3,10})+\b|\d\d:\d\d UTC", "", text)


def known_text(*sources: Any) -> str:
    """Return all strings inside plain data as one text, without the marks of Markdown."""
    return _plain("\n".join(_strings(sources)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _strings(part)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[*`>#\\]|^- ", "", text, flags=re.MULTILINE)).strip(
        " .,:;()"
    )
