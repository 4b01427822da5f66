"""Values out of JSON that may be larger than memory; what is nested too deep is refused."""

import re
from collections.abc import Container, Iterator, Sequence
from typing import IO, Any, NoReturn

import ijson

from evalsite.data.tables.table import Refused
from evalsite.lib.limited import VALUES_IN_TEXT

_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|(?P<open>))|(?P<nan>NaN)', re.DOTALL)

Event = tuple[str, Any]
Events = Iterator[Event]

_MOST_DEEP = 100
# A text that goes on is read again from its beginning with each further part.
_TOGETHER = 1024 * 1024
_STARTS = {"start_map", "start_array"}
_ENDS = {"end_map", "end_array"}
_NO_VALUES = {*_ENDS, "map_key"}


def read_items(
    file: IO[bytes], path: Sequence[str], keys: Container[str] | None = None
) -> Iterator[Any]:
    """Yield the values of the list at this path of keys; none if there is no list.

    Of objects in it, only these keys are read.
    """
    events = read_events(file)
    event, _ = _descend(events, path)
    if event != "start_array":
        return
    for start in events:
        if start[0] == "end_array":
            return
        yield _build(start, _Limited(events), _MOST_DEEP, keys)


def read_object(file: IO[bytes], keys: Container[str] | None) -> Any:
    """Return these keys of the object that a document is."""
    events = read_events(file)
    return _build(next(events, ("", None)), _Limited(events), _MOST_DEEP, keys)


def read_value(file: IO[bytes], path: Sequence[str]) -> Any:
    """Return the value at this path of keys; None if there is none."""
    events = read_events(file)
    event = _descend(events, path)
    return _build(event, _Limited(events), _MOST_DEEP) if event[0] else None


def read_events(file: IO[bytes]) -> Events:
    """Yield the events of a document; NaN, which programs write for a missing value, is null."""
    start = file.tell()
    has_nan = _holds_nan(file)
    file.seek(start)
    source = WithoutNaN(file) if has_nan else file
    return ijson.basic_parse(source, use_float=True, buf_size=_TOGETHER)


def _holds_nan(file: IO[bytes]) -> bool:
    kept = b""
    while chunk := file.read(_TOGETHER):
        if b"NaN" in kept + chunk:
            return True
        kept = chunk[-2:]
    return False


class WithoutNaN:
    """A document in which null stands for every NaN outside of its texts."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        if not size:
            return b""
        while True:
            chunk = self._file.read(size)
            content = self._rest + chunk
            parts, at, end, last = [], 0, len(content), 0
            for match in _NAN.finditer(content):
                last = match.end()
                if match["open"] is not None:
                    # a text that goes on, which is looked at with what follows
                    end = match.start() if chunk else end
                    break
                if match["nan"]:
                    parts.append(content[at : match.start()] + b"null")
                    at = match.end()
            else:
                # the last letters may begin one
                begun = 2 if content.endswith(b"Na") else 1 if content.endswith(b"N") else 0
                end -= begun if chunk and end - begun >= last else 0
            parts.append(content[at:end])
            self._rest = content[end:]
            if (done := b"".join(parts)) or not chunk:
                return done


class _Limited:
    """Events of one value, which are refused when too many of them were kept."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self._kept = 0

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Event:
        event = next(self.events)
        self._kept += event[0] not in _NO_VALUES
        if self._kept > VALUES_IN_TEXT:
            message = (
                f"An entry has more than {VALUES_IN_TEXT:,} values. Leave out what people don't "
                "rate."
            )
            raise Refused("too_large", message)
        return event


def _descend(events: Events, path: Sequence[str]) -> Event:
    """Return the event with which the value at this path begins; ("", None) if there is none."""
    event = next(events, ("", None))
    for key in path:
        if event[0] != "start_map" or not _find_key(events, key):
            return "", None
        event = next(events)
    return event


def _find_key(events: Events, key: str) -> bool:
    for event, value in events:
        if event == "end_map":
            return False
        if value == key:
            return True
        _skip(next(events), events)
    return False


def _skip(first: Event, events: Events) -> None:
    depth = 1 if first[0] in _STARTS else 0
    while depth:
        event, _ = next(events)
        depth += (event in _STARTS) - (event in _ENDS)
        if depth > _MOST_DEEP:
            # or a file of nothing but brackets would be looked through to its end
            _refuse_depth()


def _refuse_depth() -> NoReturn:
    raise Refused("json_depth", f"A value is nested more than {_MOST_DEEP} deep. Flatten it.")


def _build(first: Event, events: "_Limited", left: int, keys: Container[str] | None = None) -> Any:
    event, value = first
    if event not in _STARTS:
        return value
    if not left:
        _refuse_depth()
    if event == "start_array":
        return [_build(item, events, left - 1) for item in iter(lambda: next(events), _END_OF_LIST)]
    built: dict[str, Any] = {}
    for event, key in events:
        if event == "end_map":
            break
        if key in built:
            raise Refused("file_damaged", "A key occurs twice in one object.")
        if keys is not None and key not in keys:
            _skip(next(events.events), events.events)
            continue
        built[key] = _build(next(events), events, left - 1)
    return built


_END_OF_LIST: Event = ("end_array", None)
