"""What a command gives back: an exit code, text for people, one JSON document for programs."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from evalsite import __version__

# Exit codes. Tests, workflows and docs/ci.md rely on them.
DONE = 0  # done; passes; nothing is wrong
NO = 1  # the answer is no: faults in a file, a gate that fails, a bundle that isn't sound
UNDECIDED = 2
WRONG_USE = 3  # an option, the installation or a file that can't be read
STOPPED = 4  # stopped before the end; the same command goes on


class Refused(Exception):
    """A command can't do what was asked. The message says what is wrong and what to do."""

    def __init__(self, message: str, code: int = WRONG_USE) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Result:
    """How a command ended: `text` is for people, `facts` are keys of the JSON document."""

    code: int = DONE
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


class Output:
    """Standard output of one command. With --json it holds JSON only; all else is on stderr."""

    def __init__(self, command: str, *, is_json: bool) -> None:
        self.command = command
        self.is_json = is_json
        self._stream = sys.stdout

    def say(self, sentence: str) -> None:
        """Write a line for people at once, also into a pipe or a log."""
        self._write(sys.stderr if self.is_json else self._stream, escape_controls(sentence))

    def write_event(self, event: str, **facts: Any) -> None:
        """Write a line of JSON about something that happened, if JSON is asked for."""
        if self.is_json:
            self._write_document({"event": event, **facts})

    def write_result(self, result: Result) -> None:
        if self.is_json:
            self._write_document({"exit": result.code, **result.facts})
        elif result.text:
            self._write(self._stream, escape_controls(result.text.removesuffix("\n")))

    def _write_document(self, content: Mapping[str, Any]) -> None:
        document = {"evalsite": __version__, "command": self.command, **content}
        self._write(self._stream, json.dumps(document, allow_nan=False))

    def _write(self, stream: TextIO, line: str) -> None:
        stream.write(f"{line}\n")
        stream.flush()


# what a terminal obeys instead of showing it, from a bundle or a file of anyone's
_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}


def escape_controls(text: str) -> str:
    """Show control characters as \\x1b; line breaks and tabs stay."""
    return text.translate(_CONTROLS)
