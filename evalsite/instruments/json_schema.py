"""The JSON Schema of an instrument file, with which editors complete and check what is written.

`python -m evalsite.instruments.json_schema` prints it; docs/instrument.schema.json holds that.
"""

import json
import sys
from typing import Any

from evalsite.instruments.schema import FORMAT, Instrument

# for the builder's form: nothing that an editor of files knows
_FORM_HINTS = frozenset({
    "column", "is_in_box", "is_in_sight", "is_mirrored", "is_offered", "noun", "rows",
    "when_empty", "words",
})  # fmt: skip


def make_json_schema() -> dict[str, Any]:
    schema: dict[str, Any] = _clean(Instrument.model_json_schema(mode="validation"), "")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": f"Instrument ({FORMAT})",
    }


def write_json_schema() -> str:
    return json.dumps(make_json_schema(), indent=1, ensure_ascii=False) + "\n"


def _clean(value: Any, key: str) -> Any:
    """Leave out null, which no key may have, titles that only repeat a key, and hints for forms.

    Of a description the first paragraph is for editors; the rest is for programmers.
    """
    if isinstance(value, list):
        return [_clean(part, "") for part in value if part != {"type": "null"}]
    if not isinstance(value, dict):
        return value
    if key == "properties":
        return {name: _clean(part, name) for name, part in value.items()}
    repeated = ("", key.replace("_", " ").title())
    parts = {
        name: _clean(part, name if name == "properties" else "")
        for name, part in value.items()
        if not (name == "default" and part in (None, ""))
        and not (name == "title" and (not key or part in repeated))
        and name not in _FORM_HINTS
    }
    if isinstance(parts.get("description"), str):
        parts["description"] = parts["description"].partition("\n\n")[0]
    if len(parts.get("anyOf", ())) == 1:
        parts |= parts.pop("anyOf")[0]
    return parts


if __name__ == "__main__":
    sys.stdout.write(write_json_schema())
