"""What data can't express: who may take part, and the standard of an item."""

import re
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

_SEPARATORS = re.compile(r"[,;/&+]|\band\b")
_WORDS = re.compile(r"[^\W\d_]+")
_WAYS_TO_SAY_ENGLISH = frozenset({
    "english", "british", "american", "scottish", "uk", "us", "usa", "gb", "great", "britain",
    "united", "kingdom", "states", "of", "america", "england", "scotland",
    "the", "my", "native", "first", "language", "mother", "tongue", "is", "standard",
})  # fmt: skip


def check_entry(answers: Mapping[str, str]) -> None:
    """Ask about a slip of the pen; it doesn't decide who may take part."""
    grew_up_with_english = answers["variety"] != "none"
    if grew_up_with_english == _is_english(answers["first_language"]):
        return
    raise ValidationError(
        {
            "first_language": (
                "This doesn’t go with your answer below. Check both: is your first language "
                "English?"
            )
        }
    )


def is_eligible(answers: Mapping[str, str]) -> bool:
    """Accept people whose first language is English, learned as British or American English."""
    return answers.get("variety") in ("british", "american") and _is_english(
        answers.get("first_language", "")
    )


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


def _is_english(text: str) -> bool:
    """Whether the first language named is English; nothing but other languages may follow.

    Strict, for a guess in favour would let in "not English" and "Spanish, then English".
    """
    first, *others = _SEPARATORS.split(text.casefold().replace(".", ""))
    words = set(_WORDS.findall(first))
    return (
        "english" in words
        and words <= _WAYS_TO_SAY_ENGLISH
        and all(len(_WORDS.findall(other)) <= 1 for other in others)
    )
