"""One charset for everything that is sent: UTF-8.

Django decodes what it is sent with any codec of Python that a request names. Some of these take
minutes for a small body, some fail, and some give halves of characters that no database stores.
"""

import re
from email.message import Message
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import TYPE_CHECKING, Any

from django.http.multipartparser import MultiPartParserError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# in the environment of a request that named another charset
REFUSED = "evalsite.names_other_charset"
# of one part: Django refuses longer ones
LONGEST_HEADERS = 1024
_UTF_8 = {"utf_8", *(alias for alias, codec in aliases.items() if codec == "utf_8")}
# a parameter such as filename*=latin-1''..., or one that continues: charset*0=...
_EXTENDED = re.compile(rb"\*(?!=\"?utf-8')[0-9]*\*?[^!-~]*=", re.IGNORECASE)
_CHARSET = re.compile(rb"charset\s*=\s*([^;\s]*)", re.IGNORECASE)


class OtherCharset(MultiPartParserError):
    """A part of a body names a charset other than UTF-8."""


class OneCharset:
    """Mark requests whose Content-Type names another charset, before Django makes use of it."""

    def __init__(self, application: "WSGIApplication") -> None:
        self.application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> "Iterable[bytes]":
        if not is_in_utf8(environ.get("CONTENT_TYPE", "")):
            environ["CONTENT_TYPE"] = ""
            environ[REFUSED] = True
        return self.application(environ, start_response)


def is_in_utf8(content_type: str) -> bool:
    """Return whether a Content-Type names UTF-8, or no charset at all."""
    # an extended parameter (RFC 2231) has its own charset; no browser sends one here
    _, _, parameters = content_type.partition(";")
    if "*" in parameters:
        return False
    if "charset" not in parameters.lower():
        return True
    message = Message()
    message["content-type"] = content_type
    found = message.get_params(failobj=[])
    return all(is_utf8(str(value)) for name, value in found if name == "charset")


def is_utf8(name: str) -> bool:
    """Return whether Python calls this codec UTF-8.

    `codecs.lookup` would keep every name it is asked for, for good.
    """
    return name.isascii() and normalize_encoding(name).lower() in _UTF_8


class CheckedParts:
    """A multipart body that raises OtherCharset as soon as the headers of a part name one."""

    def __init__(self, body: Any, boundary: bytes) -> None:
        self._body = body
        self._separator = b"--" + boundary
        # what has been read, from a place before which everything is checked
        self._unchecked = b""

    def read(self, size: int) -> bytes:
        data: bytes = self._body.read(size)
        self._check(data)
        return data

    def _check(self, data: bytes) -> None:
        text = self._unchecked + data
        reach = len(self._separator) + LONGEST_HEADERS
        start = text.find(self._separator)
        while start >= 0:
            end = text.find(b"\r\n\r\n", start, start + reach)
            if end < 0 and len(text) - start < reach:
                self._unchecked = text[start:]  # the headers may go on in what is read next
                return
            _check_headers(text[start + len(self._separator) : end if end >= 0 else start + reach])
            start = text.find(self._separator, start + 1)
        self._unchecked = text[1 - len(self._separator) :]


def _check_headers(headers: bytes) -> None:
    if _EXTENDED.search(headers):
        raise OtherCharset("A parameter of a part is in another charset.")
    for name in _CHARSET.findall(headers):
        if not is_utf8(name.strip(b"\"'").decode("latin-1")):
            raise OtherCharset("A part is in another charset.")
