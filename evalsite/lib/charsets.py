"""One charset for everything that is sent: UTF-8.

Django decodes what it is sent with any codec of Python that a request names. Some of these take
minutes for a small body, some fail, and some give halves of characters that no database stores.
"""

from email.message import Message
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# in the environment of a request that named another charset
REFUSED = "evalsite.names_other_charset"
_UTF_8 = {"utf_8", *(alias for alias, codec in aliases.items() if codec == "utf_8")}


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
    params = message.get_params(failobj=[])
    return all(is_utf8(str(value)) for name, value in params if name == "charset")


def is_utf8(name: str) -> bool:
    """Return whether Python calls this codec UTF-8.

    `codecs.lookup` would keep every name it is asked for, for good.
    """
    return name.isascii() and normalize_encoding(name).lower() in _UTF_8
