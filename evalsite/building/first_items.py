"""The first item of an uploaded file or of a draft, as instruments are chosen by it."""

from collections.abc import Mapping
from typing import Any

from evalsite.building.fitting import FileInput, FirstItem

# above this share of outputs with marks, outputs are Markdown
_OFTEN = 0.05


def read_file(summary: Mapping[str, Any]) -> FirstItem:
    """Return the first item of a file by what was found when it was checked on its own."""
    example = summary["examples"][0]
    inputs = {
        found["name"]: FileInput(found["kind"], str(example["inputs"].get(found["name"], "")))
        for found in summary["inputs"]
    }
    is_marked = summary["markdown"] > _OFTEN and summary["output_kind"] == "text"
    return FirstItem(
        inputs=inputs,
        outputs=dict(example["outputs"]),
        sizes=_spread(summary["outputs"], summary["groups"]),
        output_kind="markdown" if is_marked else summary["output_kind"],
        words=summary["words"] + 2 * summary["output_words"],
    )


def _spread(outputs: int, items: int) -> dict[int, int]:
    """Return the number of items by their number of outputs, as even as it can be."""
    size, more = divmod(outputs, max(1, items))
    return {number: count for number, count in ((size + 1, more), (size, items - more)) if count}
