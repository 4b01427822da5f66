"""What is computed while results are hidden: agreement, precision and balance, without systems."""

from collections.abc import Mapping
from typing import Any

from evalsite.results.report.source import Criterion

Stored = dict[str, Any]
# of a report: everything else says something about systems, or may
_OF_A_REPORT = {
    "methods_version", "seed", "draws", "level", "plan", "family", "data", "raters", "copied",
}  # fmt: skip
_OF_A_QUESTION = {
    "key", "of", "label", "kind", "family", "better", "role", "answers", "standard", "range", "per",
    "estimator", "model", "agreement_notes", "kappas", "slips",
}  # fmt: skip
_WARNINGS = {"simulated", "few_raters", "one_rater", "copied", "few_clusters"}


def hide_systems(content: Stored) -> Stored:
    """Return the report with what may be seen before the study closes, and nothing else."""
    hidden = {name: content[name] and _hide(content[name]) for name in ("kept", "all")}
    return content | hidden | {"is_hidden": True}


def _hide(report: Mapping[str, Any]) -> Stored:
    hidden = {name: _empty(part, name, _OF_A_REPORT) for name, part in report.items()}
    return hidden | {
        "criteria": [_hide_question(stored) for stored in report["criteria"]],
        "warnings": [note for note in report["warnings"] if note["code"] in _WARNINGS],
        "design": [figure for figure in report["design"] if not figure.get("group")],
        **({"comments": report["comments"] | {"systems": {}}} if report.get("comments") else {}),
    }


def _hide_question(stored: Mapping[str, Any]) -> Stored:
    criterion = Criterion(stored)
    hidden = {name: _empty(part, name, _OF_A_QUESTION) for name, part in stored.items()}
    precision = criterion.precision
    return hidden | {
        "agreement": [figure for figure in stored["agreement"] if not figure.get("group")],
        **_hide_spans(stored.get("spans")),
        "precision": {"half": precision.value, "unit": precision.unit} if precision else None,
    }


def _hide_spans(spans: Mapping[str, Any] | None) -> Stored:
    """Return how far people mark the same places."""
    if not spans:
        return {}
    empty = {name: _empty(part, name, {"agreement", "labels"}) for name, part in spans.items()}
    return {"spans": empty}


def _empty(part: Any, name: str, shown: set[str]) -> Any:
    """Return the part if it may be shown, or an empty one of its kind."""
    if name in shown:
        return part
    return type(part)() if isinstance(part, list | dict) else None
