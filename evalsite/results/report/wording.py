"""Figures in words: numbers, intervals and p values as a paper prints them, and their names."""

from typing import Any

from evalsite.analysis.families import find_family
from evalsite.results.document.figures import CODES, REASONS, hold_together, let_go
from evalsite.results.document.figures import write_number as write_by_unit
from evalsite.results.report.sentences import write_sentence
from evalsite.studies.summary_lines import list_of

__all__ = ["hold_together", "let_go"]

THESE_RATERS = "for these raters"


def name_figure(figure: dict[str, Any]) -> str:
    """Return what a figure is called on pages, and what it is of.

    The name says where the interval takes inputs as samples, but not raters.
    """
    code = str(figure["name"])
    name = CODES[code][1] if code in CODES else code.replace("_", " ").capitalize()
    # "of A : B": a figure of these two systems
    if group := figure.get("group"):
        name += f", {' : '.join(map(str, group.values()))}"
    return f"{name}, {THESE_RATERS}" if is_for_these_raters(figure) else name


def is_for_these_raters(figure: dict[str, Any]) -> bool:
    """Return whether the interval takes inputs as samples, but not raters."""
    return figure.get("details", {}).get("over") == "inputs"


def explain_reason(reason: str | None) -> str:
    return "" if reason is None else REASONS.get(reason, reason.replace("_", " "))


def write_value(figure: dict[str, Any]) -> str:
    """Return the value as a page shows it, or a dash."""
    return _write(figure["value"], figure["name"])


def write_interval(figure: dict[str, Any]) -> str:
    """ "0.12 to 0.45", "0.12 or more" where an end is open, or "" where there is no interval."""
    low, high = (
        None if figure[end] is None else _write(figure[end], figure["name"])
        for end in ("low", "high")
    )
    if low is None:
        return "" if high is None else f"{high} or less"
    return f"{low} or more" if high is None else f"{low} to {high}"


def write_p(p: float | None) -> str:
    """Return a p value as APA prints it: ".012", "< .001"."""
    if p is None:
        return ""
    if p > 0.9994:
        return "> .999"
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0")


def is_share(figure: dict[str, Any]) -> bool:
    """Return whether the figure is read in percent."""
    return CODES.get(figure["name"], (None,))[0] == "share"


def _write(value: float | None, name: str) -> str:
    return write_by_unit(value, CODES.get(name, (None,))[0])


def write_number(value: float) -> str:
    """A number with as many decimals as it bears: two, one from 10 on, none from 1,000 on."""
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    # a zero has no sign: what rounds to it does not either
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def is_about_pairs(found: dict[str, Any]) -> bool:
    """Whether all that was asked is which of two is preferred: then no output is rated alone."""
    return bool(found["criteria"]) and all(map(is_compared, found["criteria"]))


def is_compared(criterion: dict[str, Any]) -> bool:
    """Return whether each answer compares two outputs, and so counts for both."""
    return find_family(criterion).compares


def label_warnings(found: dict[str, Any]) -> list[str]:
    """Return the warnings of a report on all criteria together: what holds for some of them
    begins with their labels."""
    labels = {one["key"]: one["label"] for one in found["criteria"]}
    phrases: dict[str, list[Any]] = {}
    for one in found["warnings"]:
        phrases.setdefault(write_sentence(one), []).append(one["criterion"])
    return [
        # what is about criteria together, or raters, names them itself
        text
        if None in keys or not (known := [labels[key] for key in keys if key in labels])
        else f"{list_of(known)}: {text}"
        for text, keys in phrases.items()
    ]
