"""What people wrote on questions, and the reasons that they ticked, counted from ratings.csv."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.figure import Figure
from evalsite.analysis.resample import drawn_figure, draws_for, two_way_sums
from evalsite.analysis.table import COUNTED, read_texts

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
