"""What answers hold beside one number: several parts, ignored items, comments and reasons.

A choice becomes a criterion for each option: chosen or not. The statements of a checklist become
the share of yes among those that apply. Ratings of turns become their mean. Comments and texts are
left out, and counted.

A rater who ignores an item gives it no rating. Results leave an item out if more than half of those
who rated or ignored it ignored it; each criterion then also has its results with all items.
Exports keep everything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import alpha, count_units
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.families import find_family
from evalsite.analysis.figure import Figure, make_note
from evalsite.analysis.intervals import drawn_figure, draws_for, two_way_sums
from evalsite.analysis.ratings import COUNTED, Ratings, Table, read_texts
from evalsite.analysis.report.across_criteria import find_majority
from evalsite.lib.rating_columns import name_option

# --- parts

Instrument = Sequence[Mapping[str, Any]]
COMMENT = "comment"
# the system of a criterion that is asked about the item as a whole
OF_ITEM = "all outputs together"


def split_parts(table: Table, instrument: Instrument) -> tuple[Table, list[Mapping[str, Any]]]:
    """Return table and instrument with a criterion for each number that was asked for."""
    if not any(_has_parts(criterion) for criterion in instrument):
        return table, list(instrument)
    criteria: list[Mapping[str, Any]] = []
    rows = table.rows[table.rows.part != COMMENT]
    parts = [rows[~rows.criterion.isin([str(criterion["key"]) for criterion in instrument])]]
    for criterion in instrument:
        answers = rows[rows.criterion == str(criterion["key"])]
        if criterion.get("per") == "item":
            answers = answers.assign(system=answers.system.where(answers.system != "", OF_ITEM))
        family = find_family(criterion)
        if family.averages and criterion.get("options"):
            # the share of turns that have the option
            options = list(criterion["options"])
            of_family = {"family": family.name}
            criteria += [_describe_option(criterion, option) | of_family for option in options]
            parts += map(_average, _take_options(answers, str(criterion["key"]), options))
        elif family.splits:
            options = list(criterion.get("options", ()))
            criteria += [_describe_option(criterion, option) | _AS_DECISION for option in options]
            parts += list(_take_options(answers, str(criterion["key"]), options))
        elif family.averages:
            criteria.append(criterion)
            parts.append(_average(answers))
        elif family.has_marks:
            criteria.append(criterion)
            # beside the score, a row may say that there are no errors
            parts.append(answers[answers.part == ""])
        elif family.is_analysed:
            criteria.append(criterion)
            parts.append(answers)
    kept = pd.concat([part for part in parts if len(part)]) if any(map(len, parts)) else rows
    return replace(table, rows=kept.sort_values("row", kind="stable")), criteria


def _has_parts(criterion: Mapping[str, Any]) -> bool:
    """Return whether answers to the criterion aren't one plain number for each output."""
    family = find_family(criterion)
    is_plain = family.is_analysed and not family.splits and not family.averages
    return not is_plain or family.has_marks or criterion.get("per") == "item"


_AS_DECISION = {
    "family": "decision",
    "answers": [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}],
}


def _describe_option(choice: Mapping[str, Any], option: Mapping[str, str]) -> dict[str, Any]:
    return {
        **choice,
        "key": name_option(str(choice["key"]), option["key"]),
        "of": choice["key"],
        "label": f"{choice['label']}: {option['label']}",
        "answers": [],
        "minimum": 0,
        "maximum": 1,
    }


def _take_options(
    rows: pd.DataFrame, key: str, options: Sequence[Mapping[str, str]]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of each option: 1 where it was chosen."""
    for place, option in enumerate(options, start=1):
        name = name_option(key, option["key"])
        ticked = rows[rows.part == option["key"]]
        chosen = rows[rows.part == ""]
        taken = chosen.assign(value=(chosen.value == place).astype(float))
        yield pd.concat([ticked, taken]).assign(criterion=name)


def _average(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each person and output: the mean of statements or turns."""
    if not len(rows):
        return rows
    columns = ["annotation", "participant", "output", "row_group"]
    # without annotations, a person has one answer about an output
    marked = rows.assign(row_group=np.where(rows.annotation == "", rows["item"], rows.annotation))
    means = marked.groupby(columns, sort=False).value.transform("mean")
    return rows.assign(value=means)[~marked.duplicated(columns)]


# kinds of questions whose answers have a mean; an option only has a place
_WITH_MEAN = ("likert", "slider", "number", "decision", "")


def drop_turns(table: Table) -> tuple[Table, int]:
    """Return the table without ratings of turns that have no mean, and how many these are."""
    rows = table.rows
    has_mean = rows["scale"].isin(_WITH_MEAN) & (rows.part == "") & rows.value.notna()
    dropped = (rows.turn != "") & ~has_mean
    return replace(table, rows=rows[~dropped]), int(dropped.sum())


# --- what is missing by design -----------------------------------------------------------


def count_missing(table: Table, key: str) -> dict[str, dict[str, int]]:
    """Count by system the answers "not applicable", and those not asked for or not given."""
    silent = table.silent
    has_more = silent is not None and len(silent)
    rows = pd.concat([table.rows, silent]) if has_more else table.rows
    rows = rows[rows.system != ""]
    shown = rows.drop_duplicates(["annotation", "output"]).groupby("system").size()
    rows = rows[rows.criterion == key]
    answered = rows.drop_duplicates(["annotation", "output"]).groupby("system").size()
    unrated = rows[rows.value.isna() & (rows.part == "")].groupby("system").size()
    return {
        "not_applicable": {str(name): int(n) for name, n in unrated.items() if n},
        "not_answered": {
            str(name): int(n - answered.get(name, 0))
            for name, n in shown.items()
            if n > answered.get(name, 0)
        },
    }


def describe_missing(missing: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield notes on what is missing by design, by system."""
    for code in ("not_applicable", "not_answered"):
        if counts := missing.get(code):
            yield make_note(code, counts=dict(counts))


# --- ignored items

_COMPARED = ("systems", "pairs", "agreement")


@dataclass(frozen=True, kw_only=True)
class Ignored:
    """Who rated and who ignored what: a row for each main item that was rated or ignored.

    `rows`: item, participant and is_ignored. `dropped`: the items that most raters ignored.
    """

    rows: pd.DataFrame
    dropped: tuple[str, ...]


def read_ignored(annotations: pd.DataFrame | None, table: Table) -> Ignored | None:
    """Return what the raters of the table ignored; None if they ignored nothing.

    `annotations`: the exported file of that name. Excluded ones count only if the table holds
    excluded ratings.
    """
    if annotations is None:
        return None
    counted = (annotations.kind == "main") & (annotations.status == "counted")
    if "excluded" in annotations and not table.rows.is_excluded.any():
        counted &= annotations.excluded != "yes"
    rows = annotations[counted & annotations.outcome.isin(["rated", "ignored"])]
    is_ignored = rows.outcome == "ignored"
    if not is_ignored.any():
        return None
    rows = rows[["item", "participant"]].assign(is_ignored=is_ignored.astype(int))
    votes = find_majority(unit=rows["item"], value=rows.is_ignored)
    most = votes.index[votes.majority == 1]
    return Ignored(rows=rows, dropped=tuple(sorted(map(str, most))))


def drop_ignored(table: Table, ignored: Ignored | None) -> Table:
    """Return the table without the items that most raters ignored."""
    if ignored is None or not ignored.dropped:
        return table
    return replace(table, rows=table.rows[~table.rows["item"].isin(ignored.dropped)])


def warn_of_dropped(whole: Table, table: Table) -> list[dict[str, Any]]:
    """Return a warning if ratings are left out because most raters ignored their item."""
    dropped = whole.rows[~whole.rows.index.isin(table.rows.index)]
    if not len(dropped):
        return []
    items = int(dropped["item"].nunique())
    return [make_note("ignored_by_most", items=items, ratings=len(dropped))]


def keep_compared(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the results with and without dropped items are compared by."""
    return {key: criterion[key] for key in ("key", "label", *_COMPARED)}


def report_ignored(ignored: Ignored | None, table: Table, seed: int) -> dict[str, Any]:
    """Return how often items were ignored, agreement on that, which items, and by whom."""
    if ignored is None:
        return {"ignore": None, "ignored_items": None, "ignored_raters": None}
    rows, dropped = ignored.rows, set(ignored.dropped)
    items = [
        {"item": name, "share": figure, "is_dropped": name in dropped}
        for name, figure in _list_shares(rows, "item")
        if figure.value
    ]
    raters = _list_shares(rows, "participant") if table.raters_known else []
    rater = rows.participant if table.raters_known else None
    answers = Ratings(unit=rows["item"], rater=rater, value=rows.is_ignored)
    agreement = alpha(answers, "nominal", name="alpha_ignored")
    return {
        "ignore": [
            wilson_share(int(rows.is_ignored.sum()), len(rows), name="share_ignored"),
            count_units(agreement, "item"),
        ],
        "ignored_items": items,
        "ignored_raters": [{"participant": name, "share": figure} for name, figure in raters],
    }  # fmt: skip


def _list_shares(rows: pd.DataFrame, by: str) -> list[tuple[str, Figure]]:
    """Return the share ignored by item or participant with Wilson's interval, the largest first."""
    counts = rows.groupby(by).is_ignored.agg(["sum", "count"])
    shares = [
        (str(name), wilson_share(int(hits), int(n), name="share_ignored"))
        for name, hits, n in zip(counts.index, counts["sum"], counts["count"], strict=True)
    ]
    return sorted(shares, key=lambda row: (-(row[1].value or 0), -max(row[1].n.values()), row[0]))


# --- comments and reasons

# fewer answers than this that prefer a system have no interval: the count says enough
FEWEST_ANSWERS = 5
_COLUMNS = (
    "participant", "item", "group", "cluster", "system", "criterion", "kind", "status", "excluded",
    "preferred", "part", "text", "reasons", "scale",
)  # fmt: skip
_COMMENT = "comment"
# of annotations that no result uses
_GONE = ("pilot", "withdrawn")
# kinds whose text is a part of the output, no words about it
_OF_OUTPUTS = ("post_edit", "spans")


def read_remarks(paths: Mapping[str, Path]) -> pd.DataFrame:
    """Return the rows of results that have a text or prefer a system, from a ratings.csv.

    `is_written`: there is a text. `about_preferred`: the reasons for the preferred output.
    """
    frame = read_texts(paths["ratings"], usecols=lambda name: name in _COLUMNS)
    frame = frame.reindex(columns=list(_COLUMNS), fill_value="").fillna("")
    for name, default in (("kind", "main"), ("status", COUNTED[0])):
        frame[name] = frame[name].where(frame[name] != "", default)
    is_remark = (frame.part == _COMMENT) | ~frame.scale.isin(_OF_OUTPUTS)
    frame["is_written"] = is_remark & (frame.text.str.strip() != "")
    frame["is_excluded"] = frame.excluded == "yes"
    frame["block"] = frame.cluster.where(frame.cluster != "", frame.group)
    frame["block"] = frame.block.where(frame.block != "", frame["item"])
    is_counted = (frame.kind == "main") & frame.status.isin(COUNTED)
    is_answer = (frame.part == "") & ~frame.preferred.isin(["", "tie"])
    frame = frame[is_counted & (frame.is_written | is_answer)].copy()
    systems = _read_systems(paths["items"]) if "items" in paths else {}
    named = zip(frame.reasons, frame.preferred, strict=True)
    frame["about_preferred"] = [_list_named(cell, name, systems) for cell, name in named]
    return frame


def _read_systems(path: Path) -> dict[str, str]:
    frame = read_texts(path, usecols=lambda name: name in ("output_id", "system"))
    if "output_id" not in frame or "system" not in frame:
        return {}
    return dict(zip(frame.output_id, frame.system, strict=True))


def _list_named(cell: str, preferred: str, systems: Mapping[str, str]) -> frozenset[str]:
    """Return the reasons about the preferred system, and those about both outputs."""
    named: set[str] = set()
    for part in filter(None, cell.split("; ")):
        output, colon, keys = part.rpartition(": ")
        if not colon or systems.get(output) == preferred:
            named |= set(keys.split())
    return frozenset(named)


def read_notes(annotations: pd.DataFrame | None) -> pd.DataFrame:
    """Return what people did with items besides rating them: notes, skips, reports of problems."""
    columns = ["kind", "status", "outcome", "note", "excluded"]
    known = pd.DataFrame(columns=columns, dtype=str) if annotations is None else annotations
    frame = known.reindex(columns=columns, fill_value="")
    frame = frame[(frame.kind == "main") & ~frame.status.isin(_GONE)]
    return pd.DataFrame({
        "has_note": frame.note.str.strip() != "",
        "outcome": frame.outcome,
        "is_excluded": frame.excluded == "yes",
    })  # fmt: skip


def count_comments(remarks: pd.DataFrame, notes: pd.DataFrame) -> dict[str, Any]:
    """Count the texts by question and by system, and the people who wrote them; and the notes."""
    written = remarks[remarks.is_written]
    named = written[written.system != ""]
    return {
        "questions": {str(key): int(n) for key, n in written.groupby("criterion").size().items()},
        "systems": {str(name): int(n) for name, n in named.groupby("system").size().items()},
        "people": int(written.participant.nunique()),
        "notes": int(notes.has_note.sum()),
        "skipped": int((notes.outcome == "skipped").sum()),
        "reported": int((notes.outcome == "reported").sum()),
    }


def list_reasons(
    remarks: pd.DataFrame, criterion: Mapping[str, Any], *, seed: int
) -> Iterator[Figure]:
    """Yield, of the answers that prefer a system, the share that name each reason for it.

    A reason about the other output doesn't count; one about both does.
    """
    answers = remarks[(remarks.criterion == criterion["key"]) & (remarks.part == "")]
    answers = answers[~answers.preferred.isin(["", "tie"])]
    for system in sorted(set(answers.preferred)):
        rows = answers[answers.preferred == system]
        for reason in criterion["reasons"]:
            named = rows.about_preferred.map(lambda keys, key=reason["key"]: key in keys)
            group = (("reason", str(reason["key"])), ("system", str(system)))
            yield _make_share(rows, named.to_numpy(dtype=float), group, seed)


def _make_share(
    rows: pd.DataFrame, named: Any, group: tuple[tuple[str, str], ...], seed: int
) -> Figure:
    n = {
        "answers": len(rows), "named": int(named.sum()), "raters": rows.participant.nunique(),
        "items": rows.block.nunique(),
    }  # fmt: skip
    share = float(named.mean())
    if len(rows) < FEWEST_ANSWERS:
        return Figure(name="reason", method="share_of_answers", value=share, n=n, group=group)
    rater = pd.factorize(rows.participant, sort=True)[0]
    block = pd.factorize(rows.block, sort=True)[0]
    columns = np.column_stack([named, np.ones(len(rows))])
    sums = two_way_sums(rater, block, columns, draws=draws_for(len(rows)), seed=seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = sums[:, 0] / sums[:, 1]
    figure = drawn_figure("reason", share, drawn, n=n, seed=seed)
    return replace(figure, group=group)
