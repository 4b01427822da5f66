"""Traces of agents: steps by trace and in order, of which each trace becomes a row.

The row has `input` (the first message of the user), `messages` (all that follows: answers, calls of
tools and their results), `system`, and `error`, that of the last step. If only an agent's name
says which system it is, it is the `agent`, which runs in a `service`.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from evalsite.data.tables.formats import TracePaths
from evalsite.data.tables.paths import Branch, expand, find, find_first, open_json, parse_path
from evalsite.data.tables.texts import write_value

_OWNER = "owner"
# roles of messages of LangChain by their types
_TYPES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


@dataclass(slots=True)
class _Step:
    """One step: its data, and the service that it belongs to."""

    data: dict[str, Any]
    owner: str


def read_traces(records: Iterable[Any], paths: TracePaths) -> Iterator[dict[str, Any]]:
    """Yield a row for each trace, in the order in which traces first come."""
    traces: dict[str, list[_Step]] = {}
    for record in records:
        for step in _list_steps(record, paths):
            trace = write_value(find(step.data, paths.trace))
            traces.setdefault(trace, []).append(step)
    for trace, steps in traces.items():
        steps.sort(key=lambda step: write_value(find(step.data, paths.start)))
        yield {"trace": trace, **_read_trace(steps, paths)}


def _list_steps(record: Any, paths: TracePaths) -> Iterator[_Step]:
    if not paths.steps:
        yield _Step(record, "")
        return
    branch = Branch()
    begins = "" if "resourceSpans" in record else paths.steps.partition("[*].")[0] + "[*]."
    for name, path in (("steps", paths.steps), (_OWNER, paths.owner)):
        branch.add(name, parse_path(path.removeprefix(begins)))
    for row in expand(branch, record):
        if isinstance(row.get("steps"), dict):
            yield _Step(row["steps"], write_value(row.get(_OWNER)))


def _read_trace(steps: list[_Step], paths: TracePaths) -> dict[str, Any]:
    roots = [step for step in steps if not find(step.data, paths.parent)]
    root = roots[0] if roots else steps[0]
    answers = [step for step in steps if find(step.data, paths.kind) in paths.answers]
    asked = [
        turn
        for step in (root, *answers)
        for turn in _read_messages(find_first(step.data, paths.input), "user")
        if turn["role"] == "user"
    ]
    messages = [turn for step in steps for turn in _read_step(step, paths)]
    if not any(turn["role"] == "assistant" and turn["content"] for turn in messages):
        last = _read_messages(find_first(root.data, paths.output), "assistant")
        messages += [turn for turn in last if turn["role"] != "user"]
    names = [find_first(step.data, paths.system[:1]) for step in (root, *steps)]
    named = next((name for name in names if name), None)
    agent = None if named else find_first(root.data, paths.system[1:])
    return {
        "input": asked[0]["content"] if asked else None,
        "messages": messages,
        "system": named or agent or root.owner or None,
        "agent": agent,
        "service": root.owner,
        "error": find(steps[-1].data, paths.error) or find(root.data, paths.error),
    }


def _read_step(step: _Step, paths: TracePaths) -> list[dict[str, Any]]:
    """Return the messages of a step: an answer, or the result of a tool."""
    kind = find(step.data, paths.kind)
    if kind in paths.answers:
        turns = _read_messages(find_first(step.data, paths.output), "assistant")
        return [turn for turn in turns if turn["role"] not in ("user", "system")]
    if kind in paths.tools:
        result = find_first(step.data, paths.result)
        return [{"role": "tool", "content": write_value(result)}]
    return []


def _read_messages(value: Any, role: str) -> list[dict[str, Any]]:
    """Return messages as turns; a text is one of this role."""
    value = open_json(value)
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    values = value if isinstance(value, list) else [value]
    # as LangChain has them, a list of messages for each prompt
    values = values[0] if values and isinstance(values[0], list) else values
    return [turn for part in values if (turn := _read_message(part, role))]


def _read_message(value: Any, role: str) -> dict[str, Any] | None:
    if not value:
        return None
    if not isinstance(value, dict):
        return {"role": role, "content": write_value(value)}
    if isinstance(value.get("kwargs"), dict):
        value = value["kwargs"]
    known = value.get("role") or _TYPES.get(str(value.get("type")))
    if not known:
        return {"role": role, "content": write_value(value)}
    turn = {"role": str(known), "content": value.get("content") or ""}
    calls = value.get("tool_calls") or []
    if isinstance(calls, list):
        calls = [
            _write_call(call) if isinstance(call, dict) and "args" in call else call
            for call in calls
        ]
    if isinstance(value.get("parts"), list):
        parts = [part for part in value["parts"] if isinstance(part, dict)]
        texts = [write_value(part.get("content")) for part in parts if part.get("type") == "text"]
        turn["content"] = "\n".join(texts)
        calls = [_write_call(part) for part in parts if part.get("type") == "tool_call"]
    if not isinstance(turn["content"], list):
        turn["content"] = write_value(turn["content"])
    return turn | ({"tool_calls": calls} if calls else {})


def _write_call(part: dict[str, Any]) -> dict[str, Any]:
    arguments = part.get("arguments", part.get("args"))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": write_value(part.get("name")), "arguments": text}
    return {"id": write_value(part.get("id")), "type": "function", "function": function}
