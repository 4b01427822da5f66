"""Values out of JSON that may be larger than memory; what is nested too deep is refused."""

from collections.abc import Container, Iterator, Sequence
from typing import IO, Any, NoReturn

import ijson

from evalsite.data.tables.faults import Refused
from evalsite.lib.limited import VALUES_IN_TEXT

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
    events = ijson.basic_parse(file, use_float=True, buf_size=_TOGETHER)
    event, _ = _descend(events, path)
    if event != "start_array":
        return
    for start in events:
        if start[0] == "end_array":
            return
        yield _build(start, _Limited(events), _MOST_DEEP, keys)


def read_object(file: IO[bytes], keys: Container[str] | None) -> Any:
    """Return these keys of the object that a document is."""
    events = ijson.basic_parse(file, use_float=True, buf_size=_TOGETHER)
    return _build(next(events, ("", None)), _Limited(events), _MOST_DEEP, keys)


def read_value(file: IO[bytes], path: Sequence[str]) -> Any:
    """Return the value at this path of keys; None if there is none."""
    events = ijson.basic_parse(file, use_float=True, buf_size=_TOGETHER)
    event = _descend(events, path)
    return _build(event, _Limited(events), _MOST_DEEP) if event[0] else None


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
