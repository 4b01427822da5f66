"""Weights of MQM (Freitag et al. 2021), for files of errors, which have none themselves."""

from typing import Any

CRITERION = "MQM"
MAJOR, MINOR, NEUTRAL = "major", "minor", "neutral"
SEVERITY_WEIGHTS = {MAJOR: 5.0, MINOR: 1.0, NEUTRAL: 0.0}
_NON_TRANSLATION, _PUNCTUATION = 25.0, 0.1


def list_severities() -> list[dict[str, Any]]:
    """List the severities as an instrument describes them."""
    return [
        {"key": key, "label": key.capitalize(), "weight": weight}
        for key, weight in SEVERITY_WEIGHTS.items()
    ]


def list_exceptions() -> list[dict[str, Any]]:
    """List the errors that weigh otherwise than their severity says."""
    return [
        {"label": "Minor Fluency/Punctuation", "weight": _PUNCTUATION},
        {"label": "Non-translation", "weight": _NON_TRANSLATION},
        {"label": "Source error", "weight": 0.0},
    ]


def is_non_translation(category: str) -> bool:
    """Tell whether the category is about an output as a whole, and counts once of it."""
    return _fold(category).startswith("non-translation")


def is_source_error(category: str) -> bool:
    """Tell whether the category blames the source, not the system."""
    return _fold(category).startswith(("source-error", "source-issue"))


def weigh_mqm(category: str, severity: str) -> float:
    """Return the penalty of an error by its names as files have them; KeyError: no such severity.

    Non-translation 25; major 5; minor 1, but of fluency/punctuation .1; neutral 0. An error of the
    source weighs nothing.
    """
    weight = SEVERITY_WEIGHTS[_fold(severity)]
    if is_non_translation(category):
        return _NON_TRANSLATION
    if is_source_error(category):
        return 0.0
    if weight == SEVERITY_WEIGHTS[MINOR] and _fold(category) == "fluency/punctuation":
        return _PUNCTUATION
    return weight


def _fold(name: str) -> str:
    """Spell a name alike whatever its case, and with spaces, underscores or hyphens."""
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split())
