"""What may stand in a log line."""

import logging
import re

TOKEN = re.compile(r"(/p/)[^/\s\"'?]+")


class HideTokens(logging.Filter):
    """Personal links are secrets: their tokens never reach a log, tracebacks included."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "/p/" in message:
            record.msg, record.args = hide_tokens(message), ()
        if record.exc_info:
            # formatted here, as a formatter would; it leaves a text that is there already alone
            trace = record.exc_text or logging.Formatter().formatException(record.exc_info)
            record.exc_text = hide_tokens(trace)
        return True


def hide_tokens(text: str) -> str:
    """The text with a sign in place of each token."""
    return TOKEN.sub(r"\1…", text)
