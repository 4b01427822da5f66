"""Make text safe for a log line."""

import logging
import re

TOKEN = re.compile(r"(/(?:p|pilot|invitation)/)[^/\s\"'?]+")
# a platform's ids; quotes at the end may close the address, and stay
JOIN_QUERY = re.compile(r"(/join\b[^\s?]{0,80}\?)\S*[^\s\"'>]")


class HideTokens(logging.Filter):
    """Keep personal links, invitations and the ids in join links out of logs and tracebacks."""

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
    return JOIN_QUERY.sub(r"\1…", TOKEN.sub(r"\1…", text))
