"""The tables that name raters or single answers: they are for staff, and leave no site."""

from typing import Any

from django.urls import reverse
from django.utils.text import slugify

from evalsite.results.report.criterion_tables import Table, because
from evalsite.results.report.figure_details import Entry, entry, order_counts
from evalsite.results.report.wording import name_figure, write_interval, write_number, write_value

# rows that a page shows of a list whose file holds all
_SHOWN, _MOST_ITEMS = 100, 20
# figures that count decisions against their scores begin so
_AGAINST = ("rejected, ", "accepted, ")

_MOST_COLUMNS = 6  # beside the participant
_ALL_RATERS = "All raters"
_WORDS = {
    "Use of the scale": "Order beside others is Spearman’s ρ with the mean of the others.",
    "Points meant to be rare": "The share of a rater’s ratings on points that the instructions "
    "keep for difficult cases, with the number of ratings.",
    "Magnitudes": "How each rater uses numbers. Round numbers are no fault.",
    "Preferences": "Ties of all answers, the first place of decided ones, and circles (A over B, "
    "B over C, C over A) of the triples that were decided.",
    "Problems reported": "Items that a rater reported instead of rating them. Reports are shown "
    "only: they are often right.",
}
# what columns mean, where they are there
_OF_COLUMNS = {
    "speed_ratio": "Pace beside others is a rater’s median time over that of the median rater.",
    "share_under_floor": "Too fast to read is the share of pages left within less than a second "
    "for every 8 words.",
    "offset": "Above others by is in points of the scale, of magnitudes in natural logarithms.",
}


def tabulate_kappas(criterion: dict[str, Any]) -> Table:
    """The weighted kappa of each two raters, to find one who rates unlike all others."""
    raters = criterion["kappas"]["raters"]
    return Table(
        "Weighted κ of two raters",
        ("Participant", *raters),
        [
            (rater, *("" if value is None else write_number(value) for value in values))
            for rater, values in zip(raters, criterion["kappas"]["values"], strict=True)
        ],
        words="Quadratic weights; only of two who share at least 5 outputs.",
        name=f"{criterion['key']}-kappas",
        names_people=True,
        entries=_enter_kappas(criterion["kappas"]),
    )


def _enter_kappas(kappas: dict[str, Any]) -> list[Entry]:
    """Each two raters once."""
    figure = {
        "name": "weighted_kappa",
        "n": {},
        "details": {"weights": "quadratic", "interval": "none: shown to find the odd rater"},
        "method": "Cohen's kappa of two raters who share at least 5 outputs",
    }
    raters = kappas["raters"]
    return [
        entry(figure | {"value": value}, rater_1=one, rater_2=two)
        for place, (one, values) in enumerate(zip(raters, kappas["values"], strict=True))
        for two, value in list(zip(raters, values, strict=True))[place + 1 :]
        if value is not None
    ]  # fmt: skip


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
    return Table(
        "Raters",
        ("Participant", "Ratings", "Flags", *(one["label"] for one in columns)),
        [
            (row["participant"], f"{row['n']:,}", _list_flags(row["flags"]),
             *(_write_cell(row["figures"].get(one["key"]), one) for one in columns))
            for row in raters["rows"]
        ],
        prose=2,
        words=_explain(
            "A flag is a reason to look, never a verdict; nothing is left out by itself.", columns
        ),
        name="raters",
        names_people=True,
        entries=_enter(raters, columns),
    )  # fmt: skip


def _tabulate_part(caption: str, raters: dict[str, Any], columns: list[dict[str, Any]]) -> Table:
    """Raters who have a figure there, and last what all of them did, where that is known."""
    keys = [column["key"] for column in columns]
    shown = [row for row in raters["rows"] if any(key in row["figures"] for key in keys)]
    pool = raters.get("pool", {})
    if any(key in pool for key in keys):
        shown = [*shown, {"participant": _ALL_RATERS, "figures": pool}]
    return Table(
        caption,
        ("Participant", *(one["label"] for one in columns)),
        [
            (row["participant"], *(_write_cell(row["figures"].get(one["key"]), one)
                                   for one in columns))
            for row in shown
        ],
        words=_explain(_WORDS.get(caption.partition(":")[0], ""), columns),
        name=f"raters-{slugify(caption)}",
        names_people=True,
        entries=_enter({"rows": shown}, columns),
    )  # fmt: skip


def _explain(words: str, columns: list[dict[str, Any]]) -> str:
    """The words of a table with those of its columns."""
    phrases = [_OF_COLUMNS[one["key"]] for one in columns if one["key"] in _OF_COLUMNS]
    return " ".join(filter(None, [words, *phrases]))


def _enter(raters: dict[str, Any], columns: list[dict[str, Any]]) -> list[Entry]:
    return [
        entry(row["figures"][column["key"]], participant=row["participant"], column=column["key"])
        for row in raters["rows"]
        for column in columns
        if column["key"] in row["figures"]
    ]


def _write_cell(figure: dict[str, Any] | None, column: dict[str, Any]) -> str:
    if figure is None:
        return ""
    counts = [figure["n"][key] for key in order_counts(figure["n"])]
    number = counts[0] if counts and column.get("has_n") else 0
    return write_value(figure) + because(figure) + (f" of {number:,}" if number else "")


def _list_flags(flags: list[dict[str, Any]]) -> str:
    """Each flag once, with the criteria that it was raised on."""
    raised: dict[str, list[str]] = {}
    for flag in flags:
        raised.setdefault(flag["text"].rstrip("."), []).append(flag.get("criterion", ""))
    phrases = [
        f"{text} ({', '.join(criteria)})" if any(criteria) else text
        for text, criteria in raised.items()
    ]
    return ". ".join(phrases) + "." if phrases else "none"


def tabulate_flags_of(raters: dict[str, Any]) -> Table | None:
    """Each flag with its figure and the line that this crosses; None where nobody has one."""
    rows: list[tuple[str, ...]] = [
        (
            row["participant"],
            _name_flag(flag),
            name_figure(flag["figure"]),
            write_value(flag["figure"]),
            write_value(flag["figure"] | {"value": flag["threshold"]}),
            "this study" if flag.get("is_own") else "the software",
        )
        for row in raters["rows"]
        for flag in row["flags"]
    ]
    columns = ("Participant", "Flag", "Figure", "Value", "Threshold", "Threshold set by")
    entries = [
        entry(
            flag["figure"],
            participant=row["participant"],
            flag=flag["code"],
            criterion=flag.get("criterion", ""),
            threshold=str(flag["threshold"]),
        )
        for row in raters["rows"]
        for flag in row["flags"]
    ]
    if not rows:
        return None
    return Table("Flags", columns, rows, name="flags", prose=1, entries=entries, names_people=True)


def _name_flag(flag: dict[str, Any]) -> str:
    words = str(flag["text"]).rstrip(".")
    return f"{words} ({flag['criterion']})" if flag.get("criterion") else words


def tabulate_contradictions(content: dict[str, Any], study_id: Any) -> Table:
    """Decisions that go against all scores of the same answer, to look at again."""
    listed = content["together"]["contradictions"]
    labels = {criterion["key"]: criterion["label"] for criterion in content["criteria"]}
    # PostgreSQL keeps what JSON holds in an order of its own
    keys = [key for key in labels if key in listed[0]["scores"]]
    rows = [
        (
            one.get("participant", ""),
            one["item"],
            one["system"],
            one["why"].capitalize() + ".",
            *(f"{one['scores'][key]:g}" for key in keys),
            one["annotation"],
        )
        for one in listed
    ]
    people = [row[0] for row in rows[:_SHOWN]]
    # a bare file, or a report from before, does not say who it was
    links = [reverse("admin:study-person", args=[study_id, who]) if who else "" for who in people]
    head = ("Participant", "Item", "System", "Why", *(labels[key] for key in keys))
    return Table(
        "Decisions against their scores",
        (*head, "Annotation"),
        rows[:_SHOWN],
        words=f"{_describe_contradictions(content['together'])}. They count all the same.",
        name="contradictions",
        names_people=True,
        prose=3,
        links=links,
        unshown=rows[_SHOWN:],
    )


def _describe_contradictions(together: dict[str, Any]) -> str:
    """How many there are, and how many of them stand here and in the file."""
    listed = len(together["contradictions"])
    counts = [
        round(figure["value"])
        for figure in together.get("decision") or ()
        if figure["name"].startswith(_AGAINST)
    ]
    # the report lists no more than so many
    number = max(sum(counts), listed)
    phrases = f"{number:,} to look at again"
    if listed > _SHOWN:
        in_file = f"the first {listed:,}" if listed < number else "all"
        phrases += f", the first {_SHOWN} shown here, {in_file} in the file"
    return phrases


def tabulate_ignored_by(content: dict[str, Any], study_id: Any) -> Table:
    """Who ignored which share of what they answered, the largest share first."""
    found = [(one["participant"], one["share"]) for one in content["together"]["ignored_raters"]]
    return Table(
        "Ignored, by participant",
        ("Participant", "Ignored", "95 % interval", "Items ignored", "Items rated or ignored"),
        [(who, *_write_ignored(share)) for who, share in found],
        words="Ignoring is an answer that the study offers; a share is a reason to look at what "
        "was ignored, never a verdict.",
        name="ignored-raters",
        names_people=True,
        entries=[entry(share, participant=who) for who, share in found],
        links=[reverse("admin:study-person", args=[study_id, who]) for who, _ in found],
    )


def tabulate_ignored_items(content: dict[str, Any]) -> Table:
    """Which items were ignored by somebody, and which of them most ignored."""
    listed = content["together"]["ignored_items"]
    dropped = sum(one["is_dropped"] for one in listed)
    more = f" Shown are the first {_MOST_ITEMS}; all are in the file." * (len(listed) > _MOST_ITEMS)
    rule = (
        "An item is left out of results where more than half of those who rated or ignored it "
        f"ignored it: {dropped:,} of {len(listed):,} here. Files of ratings keep all."
    )
    phrases = {True: "yes", False: "no"}
    return Table(
        "Ignored, by item",
        ("Item", "Ignored", "95 % interval", "Times ignored", "Times rated or ignored", "Left out"),
        [
            (one["item"], *_write_ignored(one["share"]), phrases[one["is_dropped"]])
            for one in listed[:_MOST_ITEMS]
        ],
        words=rule + more,
        name="ignored-items",
        entries=[
            entry(one["share"], item=one["item"], left_out=phrases[one["is_dropped"]])
            for one in listed
        ],
    )


def _write_ignored(share: dict[str, Any]) -> tuple[str, ...]:
    """The share, its interval, and the two counts."""
    counts = (f"{share['n'][key]:,}" for key in ("hits", "answers"))
    return (write_value(share), write_interval(share), *counts)
