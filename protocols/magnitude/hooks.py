"""What data can't express: the standard of an item."""

from collections.abc import Mapping
from typing import Any


def item_context(options: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"standard": _find_standard(options, inputs)}


def standard_score(options: Mapping[str, Any], inputs: Mapping[str, Any]) -> int:
    return int(_find_standard(options, inputs)["score"])


def _find_standard(options: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the standard of this item: the study's, unless the item's columns give their own."""
    return {
        part: inputs.get(f"standard_{part}") or options[f"standard_{part}"]
        for part in ("mr", "utterance", "score")
    }
