"""The JSON Schema of an instrument file, with which editors complete and check what is written.

`python -m evalsite.instruments.json_schema` prints it; docs/instrument.schema.json holds that.
"""

import json
import sys
from typing import Any

from evalsite.instruments.schema import FORMAT, Instrument


def make_json_schema() -> dict[str, Any]:
    schema: dict[str, Any] = _leave_out_null(Instrument.model_json_schema(mode="validation"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": f"Instrument ({FORMAT})",
    }


def write_json_schema() -> str:
    return json.dumps(make_json_schema(), indent=1, ensure_ascii=False) + "\n"


def _leave_out_null(value: Any) -> Any:
    """Leave out null, which no key may have, defaults of no words, and titles that repeat a key."""
    if isinstance(value, list):
        return [_leave_out_null(part) for part in value if part != {"type": "null"}]
    if not isinstance(value, dict):
        return value
    parts = {
        name: _leave_out_null(part)
        for name, part in value.items()
        if not (name == "default" and part in (None, ""))
        and not (name == "title" and isinstance(part, str))
    }
    if len(parts.get("anyOf", ())) == 1:
        parts |= parts.pop("anyOf")[0]
    return parts


if __name__ == "__main__":
    sys.stdout.write(write_json_schema())
