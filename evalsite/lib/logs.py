"""What may stand in a log line."""

import logging
import re

TOKEN = re.compile(r"(/p/)[^/\s\"']+")


class HideTokens(logging.Filter):
    """Personal links are secrets: their tokens never reach a log."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "/p/" in message:
            record.msg, record.args = TOKEN.sub(r"\1…", message), ()
        return True
