"""The tables that name raters or single answers: they are for staff, and leave no site."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils.text import slugify

from evalsite.results.report.figure_details import Figure, order_counts
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.table import (
    INTERVAL,
    Column,
    Table,
    because,
    fill_table,
    name_column,
)
from evalsite.results.report.wording import name_figure, write_interval, write_number, write_value

# rows that a page shows of a list whose file holds all
_SHOWN, _MOST_ITEMS = 100, 20
# figures that count decisions against their scores begin so
_AGAINST = ("rejected_against_scores", "accepted_against_scores")
_WHY = {
    "rejected": "Rejected, though every score is good.",
    "accepted": "Accepted, though a score is bad.",
}

_MOST_COLUMNS = 6  # beside the participant
_ALL_RATERS = "All raters"
# what columns mean, where they are there
_OF_COLUMNS = {
    "speed_ratio": "Pace compared with others is a rater’s median time over that of the median "
    "rater.",
    "share_under_floor": "Too fast to read is the share of pages left within less than a second "
    "for every 10 words.",
    "offset": "Above others by is in points of the scale, of magnitudes in natural logarithms.",
}


def tabulate_kappas(criterion: dict[str, Any]) -> Table:
    """Return the weighted kappa of each two raters, to find one who rates unlike all others."""
    raters = criterion["kappas"]["raters"]
    return fill_table(
        "Weighted κ of two raters",
        [
            name_column("Participant", lambda row: raters[row[0]]),
            *(_make_kappa_column(rater, place) for place, rater in enumerate(raters)),
        ],
        list(enumerate(criterion["kappas"]["values"])),
        row_names=lambda row: {"rater_1": raters[row[0]]},
        words=write_prose("tables/kappas.txt", {}),
        name=f"{criterion['key']}-kappas",
        names_people=True,
    )


def _make_kappa_column(rater: str, place: int) -> Column:
    """Return the column of a rater; the file has each two raters once."""

    def list_figures(row: tuple[int, list[float | None]]) -> list[Figure]:
        number, values = row
        if place <= number or values[place] is None:
            return []
        return [{
            "name": "weighted_kappa",
            "n": {},
            "details": {"weights": "quadratic", "interval": "none: shown to find the odd rater"},
            "method": "Cohen's kappa of two raters who share at least 5 outputs",
            "value": values[place],
        }]  # fmt: skip

    return Column(
        heading=rater,
        write=lambda row: "" if row[1][place] is None else write_number(row[1][place]),
        figures=list_figures,
        names={"rater_2": rater},
    )


def tabulate_raters(raters: dict[str, Any]) -> list[Table]:
    """Each rater with flags and what is known of all studies, then a table for each further part
    of what they did, none too wide to be read."""
    columns = raters["columns"]
    parts = dict.fromkeys(column.get("part", "") for column in columns)
    tables = [_tabulate_main(raters, [one for one in columns if not one.get("part", "")])]
    for part in filter(None, parts):
        mine = [column for column in columns if column["part"] == part]
        for start in range(0, len(mine), _MOST_COLUMNS):
            number = start // _MOST_COLUMNS + 1
            caption = part if number == 1 else f"{part}, {number}"
            some = mine[start : start + _MOST_COLUMNS]
            tables.append(_tabulate_part(caption, raters, some))
    return tables


def _tabulate_main(raters: dict[str, Any], columns: list[dict[str, Any]]) -> Table:
    return fill_table(
        "Raters",
        [
            PARTICIPANT,
            name_column("Ratings", lambda row: f"{row['n']:,}"),
            Column(heading="Flags", write=lambda row: _list_flags(row["flags"]), is_prose=True),
            *map(_make_rater_column, columns),
        ],
        raters["rows"],
        row_names=_name_participant,
        words=write_prose("tables/raters.txt", {}),
        name="raters",
        names_people=True,
    )


def _tabulate_part(caption: str, raters: dict[str, Any], columns: list[dict[str, Any]]) -> Table:
    """Raters who have a figure there, and last what all of them did, where that is known."""
    keys = [column["key"] for column in columns]
    shown = [row for row in raters["rows"] if any(key in row["figures"] for key in keys)]
    pool = raters.get("pool", {})
    if any(key in pool for key in keys):
        shown = [*shown, {"participant": _ALL_RATERS, "figures": pool}]
    return fill_table(
        caption,
        [PARTICIPANT, *map(_make_rater_column, columns)],
        shown,
        row_names=_name_participant,
        words=write_prose("tables/rater_part.txt", {"part": caption.partition(":")[0]}),
        name=f"raters-{slugify(caption)}",
        names_people=True,
    )


def _make_rater_column(column: dict[str, Any]) -> Column:
    """Return the column of one figure of raters."""
    key = column["key"]
    return Column(
        heading=column["label"],
        write=lambda row: _write_cell(row["figures"].get(key), column),
        figures=lambda row: [row["figures"][key]] if key in row["figures"] else [],
        names={"column": key},
        meaning=_OF_COLUMNS.get(key, ""),
    )


def _name_participant(row: dict[str, Any]) -> dict[str, str]:
    return {"participant": row["participant"]}


PARTICIPANT = name_column("Participant", lambda row: str(row["participant"]))


def _write_cell(figure: dict[str, Any] | None, column: dict[str, Any]) -> str:
    if figure is None:
        return ""
    counts = [figure["n"][key] for key in order_counts(figure["n"])]
    number = counts[0] if counts and column.get("has_n") else 0
    return write_value(figure) + because(figure) + (f" of {number:,}" if number else "")


def name_flag(flag: Mapping[str, Any]) -> str:
    """Return the sentence of a flag without its full stop, to go on or to be counted."""
    return write_sentence(flag).removesuffix(".")


def _list_flags(flags: list[dict[str, Any]]) -> str:
    """Return each flag once, with the criteria that it was raised on."""
    raised: dict[str, list[str]] = {}
    for flag in flags:
        raised.setdefault(name_flag(flag), []).append(flag.get("criterion", ""))
    phrases = [
        f"{text} ({', '.join(criteria)})" if any(criteria) else text
        for text, criteria in raised.items()
    ]
    return ". ".join(phrases) + "." if phrases else "none"


def tabulate_flags_of(raters: dict[str, Any]) -> Table | None:
    """Return each flag with its figure and threshold; None where nobody has one."""
    rows = [
        {"participant": row["participant"], **flag}
        for row in raters["rows"]
        for flag in row["flags"]
    ]
    if not rows:
        return None
    return fill_table(
        "Flags",
        [
            PARTICIPANT,
            Column(heading="Flag", write=_name_flag, is_prose=True),
            name_column("Figure", lambda flag: name_figure(flag["figure"])),
            Column(
                heading="Value",
                write=lambda flag: write_value(flag["figure"]),
                figures=lambda flag: [flag["figure"]],
            ),
            name_column(
                "Threshold",
                lambda flag: write_value(flag["figure"] | {"value": flag["threshold"]}),
            ),
            name_column(
                "Threshold set by",
                lambda flag: "this study" if flag.get("is_own") else "the software",
            ),
        ],
        rows,
        row_names=lambda flag: {
            "participant": flag["participant"],
            "flag": flag["code"],
            "criterion": flag.get("criterion", ""),
            "threshold": str(flag["threshold"]),
        },
        name="flags",
        names_people=True,
    )


def _name_flag(flag: dict[str, Any]) -> str:
    words = name_flag(flag)
    return f"{words} ({flag['criterion']})" if flag.get("criterion") else words


def tabulate_contradictions(content: dict[str, Any], study_id: Any) -> Table:
    """Decisions that go against all scores of the same answer, to look at again."""
    listed = content["together"]["contradictions"]
    labels = {criterion["key"]: criterion["label"] for criterion in content["criteria"]}
    # PostgreSQL keeps what JSON holds in an order of its own
    keys = [key for key in labels if key in listed[0]["scores"]]
    people = [one.get("participant", "") for one in listed[:_SHOWN]]
    # a bare file, or a report from before, does not say who it was
    links = [reverse("admin:study-person", args=[study_id, who]) if who else "" for who in people]
    return fill_table(
        "Decisions against their scores",
        [
            name_column("Participant", lambda one: one.get("participant", "")),
            name_column("Item", lambda one: one["item"]),
            name_column("System", lambda one: one["system"]),
            Column(heading="Why", write=lambda one: _WHY[one["why"]], is_prose=True),
            *(_make_score_column(labels[key], key) for key in keys),
            name_column("Annotation", lambda one: one["annotation"]),
        ],
        listed,
        words=_describe_contradictions(content["together"]),
        shown=_SHOWN,
        name="contradictions",
        names_people=True,
        links=links,
    )


def _make_score_column(heading: str, key: str) -> Column:
    return name_column(heading, lambda one: f"{one['scores'][key]:g}")


def _describe_contradictions(together: dict[str, Any]) -> str:
    """Say how many there are, and how many are shown here and in the file."""
    listed = together["contradictions"]
    counts = [
        round(figure["value"])
        for figure in together.get("decision") or ()
        if figure["name"] in _AGAINST
    ]
    # the report lists no more than so many
    number = max(sum(counts), len(listed))
    return write_prose(
        "tables/contradictions.txt", {"total": number, "listed": len(listed), "shown": _SHOWN}
    )  # fmt: skip


def tabulate_ignored_by(content: dict[str, Any], study_id: Any) -> Table:
    """Return who ignored which share of what they answered, the largest share first."""
    rows = content["together"]["ignored_raters"]
    return fill_table(
        "Ignored, by participant",
        [PARTICIPANT, *_list_ignored("Items ignored", "Items rated or ignored")],
        rows,
        row_names=_name_participant,
        words=write_prose("tables/ignored_raters.txt", {}),
        name="ignored-raters",
        names_people=True,
        links=[reverse("admin:study-person", args=[study_id, one["participant"]]) for one in rows],
    )


def tabulate_ignored_items(content: dict[str, Any]) -> Table:
    """List the items that were ignored, the most ignored first."""
    listed = content["together"]["ignored_items"]
    dropped = sum(one["is_dropped"] for one in listed)
    words = write_prose("tables/ignored_items.txt", {
        "dropped": dropped, "listed": len(listed), "shown": _MOST_ITEMS,
    })  # fmt: skip
    phrases = {True: "yes", False: "no"}
    return fill_table(
        "Ignored, by item",
        [
            name_column("Item", lambda one: one["item"]),
            *_list_ignored("Times ignored", "Times rated or ignored"),
            name_column("Left out", lambda one: phrases[one["is_dropped"]]),
        ],
        listed,
        row_names=lambda one: {"item": one["item"], "left_out": phrases[one["is_dropped"]]},
        words=words,
        shown=_MOST_ITEMS,
        name="ignored-items",
    )


def _list_ignored(hits: str, answers: str) -> list[Column]:
    """List the columns of the share of what was ignored: value, interval, and the two counts."""
    return [
        Column(
            heading="Ignored",
            write=lambda one: write_value(one["share"]),
            figures=lambda one: [one["share"]],
        ),
        name_column(INTERVAL, lambda one: write_interval(one["share"])),
        name_column(hits, lambda one: f"{one['share']['n']['hits']:,}"),
        name_column(answers, lambda one: f"{one['share']['n']['answers']:,}"),
    ]
