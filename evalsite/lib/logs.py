"""What may stand in a log line."""

import logging
import re

TOKEN = re.compile(r"(/(?:p|invitation)/)[^/\s\"'?]+")


class HideTokens(logging.Filter):
    """Keep the tokens of personal links and invitations out of every log, tracebacks included."""

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
    """The text with a sign in place of each token."""
    return TOKEN.sub(r"\1…", text)
