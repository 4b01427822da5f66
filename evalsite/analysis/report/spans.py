"""The part of a report on marked passages: errors by category, and agreement on places."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from evalsite.analysis.ratings import Table
from evalsite.analysis.spans import agree_on_places, count_errors, describe_errors

# the columns of highlights.csv that only marks of a question have
_OF_QUESTION = ("criterion", "input", "turn", "category", "severity", "weight")
# marks of no question of their own
PLAIN = ("", "highlights")


def take_marks(highlights: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return the marks of one question, from a highlights.csv."""
    columns = ["annotation", "participant", "output_id", "start", "end", *_OF_QUESTION]
    frame = highlights.reindex(columns=columns, fill_value="")
    frame = frame[frame.criterion == key]
    numbers = {name: pd.to_numeric(frame[name]) for name in ("start", "end")}
    weight = pd.to_numeric(frame.weight, errors="coerce").fillna(1.0)
    place = frame.input + "/" + frame.turn
    return frame.assign(**numbers, weight=weight, place=place).rename(
        columns={"output_id": "output", "participant": "rater"}
    )


def report_spans(
    table: Table, criterion: Mapping[str, Any], highlights: pd.DataFrame, seed: int
) -> dict[str, Any]:
    """Return what the marks of a question show beside their penalties.

    `table`: a row for each person and output that was looked at. Errors are marks that weigh
    something; of the heaviest ones agreement is computed by itself as well.
    """
    looked_at = table.rows.drop_duplicates(["annotation", "participant", "output"])
    seen = pd.DataFrame({
        name: looked_at[column].to_numpy()
        for name, column in (
            ("annotation", "annotation"), ("output", "output"), ("rater", "participant"),
            ("block", "block"), ("system", "system"),
        )
    })  # fmt: skip
    marks = take_marks(highlights, str(criterion["key"])).merge(
        seen, on=["annotation", "rater", "output"]
    )
    errors = marks[marks.weight > 0]
    severities = [option["key"] for option in criterion.get("severities", ())]
    heaviest = _find_heaviest(criterion.get("severities", ()))
    agreement = []
    if table.raters_known:
        agreement = agree_on_places(seen, errors, seed=seed)
        if heaviest:
            of_heaviest = errors[errors.severity == heaviest]
            group = (("severity", heaviest),)
            agreement += agree_on_places(seen, of_heaviest, seed=seed, group=group)
    return {
        "labels": {
            name: {option["key"]: option["label"] for option in criterion.get(name, ())}
            for name in ("options", "severities")
        },
        # of severities, and of categories that have some of their own
        "weights": [
            [option["label"], option["weight"]]
            for option in (*criterion.get("severities", ()), *criterion.get("weights", ()))
        ],
        "systems": describe_errors(seen, errors, seed=seed),
        "categories": count_errors(seen, marks, "category", _list_names(criterion, marks)),
        "severities": count_errors(seen, marks, "severity", severities),
        "agreement": agreement,
    }


def _find_heaviest(severities: Sequence[Mapping[str, Any]]) -> str:
    """Return the severity that weighs most, if several weigh something."""
    weighed = {str(option["key"]): float(option["weight"]) for option in severities}
    weighed = {key: weight for key, weight in weighed.items() if weight > 0}
    most = max(weighed.values(), default=0.0)
    heaviest = [key for key, weight in weighed.items() if weight == most]
    return heaviest[0] if len(heaviest) == 1 < len(weighed) else ""


def _list_names(criterion: Mapping[str, Any], marks: pd.DataFrame) -> list[str]:
    """List the categories that were used, in the order of the instrument; others by name."""
    known = [str(option["key"]) for option in criterion.get("options", ())]
    used = {str(name) for name in marks.category.unique()}
    return [*(key for key in known if key in used), *sorted(used.difference(known))]


def list_unscored(
    table: Table,
    instrument: Iterable[Mapping[str, Any]],
    highlights: pd.DataFrame,
    seed: int,
) -> list[dict[str, Any]]:
    """Return the same of questions whose marks have no weights to add up.

    All outputs that were rated on any question count as looked at.
    """
    reports = []
    for criterion in instrument:
        marks = take_marks(highlights, str(criterion["key"]))
        if len(marks):
            known = {"key": criterion["key"], "label": criterion["label"]}
            reports.append(known | report_spans(table, criterion, highlights, seed))
    return reports
