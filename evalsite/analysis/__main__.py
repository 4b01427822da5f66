"""Report and compare bare files, without site or database: `python -m evalsite.analysis --help`."""

import json
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.agreement import icc_in_file_order
from evalsite.analysis.families import (
    DECISION,
    KNOWN_KINDS,
    NAMES,
    TURNS,
    find_family,
    get_numbers,
    guess_family,
    name_kind,
)
from evalsite.analysis.families.numbers import Ends, find_scale
from evalsite.analysis.figure import make_note, to_plain
from evalsite.analysis.gate import FAULTY, add_gate, decide_gate, read_gate
from evalsite.analysis.intervals import SEED
from evalsite.analysis.plan import SIGN, Better, Margin, Plan
from evalsite.analysis.ratings import Table, read_bare_table, read_texts
from evalsite.analysis.report import Material, Settings, list_systems, make_report
from evalsite.analysis.report.answers import COMMENT, drop_turns, split_parts
from evalsite.analysis.report.judges import read_labels
from evalsite.analysis.report.metrics import read_metrics
from evalsite.analysis.report.replication import Side, make_repetition
from evalsite.lib.bare_scales import read_scale
from evalsite.lib.cluster_guess import guess_clusters
from evalsite.lib.mqm_weights import list_exceptions, list_severities
from evalsite.results.report.bare import write_comparison, write_gate, write_report

# --- options for comparison with other papers

# a rating of one output by one rater
_RATING = ["participant", "output", "criterion", "part", "turn"]


def add_printed(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(
        "as other papers print it", "For comparison with other papers; the results don't need them."
    )
    add = group.add_argument
    add("--other-papers", action="store_true", help="also show raw means and those of ln and "
        "ln(1 + x) of magnitudes, linear kappa, Pearson's r of raters, Dawid-Skene; JSON always "
        "has them")  # fmt: skip
    add("--file-order", action="store_true", help="also show the intraclass correlations of "
        "columns in file order; of magnitudes those of ln and ln(1 + x) too")  # fmt: skip
    add("--first", type=_parse_count, metavar="K", help="analyse the first K ratings of each "
        "output, in the order of the file")  # fmt: skip
    add("--rater", action="append", default=[], metavar="NAME", help="analyse the ratings of this "
        "participant only; give it twice for a pair")  # fmt: skip


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ArgumentTypeError("Write a whole number from 1.")
    return int(text)


def select_ratings(table: Table, options: Namespace) -> Table:
    """Return the ratings that the options name; ValueError if a rater has none."""
    if options.rater:
        table = _keep_raters(table, options.rater)
    return _keep_first(table, options.first, options.with_excluded) if options.first else table


def _keep_raters(table: Table, names: list[str]) -> Table:
    known = sorted(set(table.rows.participant))
    if unknown := [name for name in names if name not in known]:
        shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
        raise ValueError(f"No participant is called {unknown[0]}. There are: {shown}.")
    rows, silent = table.rows, table.silent
    rows = rows[rows.participant.isin(names)]
    if silent is not None:
        silent = silent[silent.participant.isin(names)]
    note = make_note("only_raters", raters=[*names])
    return replace(table, rows=rows, silent=silent, notes=(*table.notes, note))


def _keep_first(table: Table, first: int, with_excluded: bool) -> Table:
    """Return the first ratings of each output that count; a rater's later ones go as well."""
    counted = table.results(with_excluded=with_excluded).rows
    later = counted[counted.groupby(_RATING[1:]).cumcount() >= first]
    rows = table.rows
    gone = pd.MultiIndex.from_frame(rows[_RATING]).isin(pd.MultiIndex.from_frame(later[_RATING]))
    kept = replace(table, rows=rows[~(gone & (rows.kind == "main"))])
    note = make_note("only_first_ratings", first=first, left_out=len(later))
    return replace(kept, notes=(*kept.notes, note))


def correlate_in_file_order(table: Table, *, is_log: bool) -> list[dict[str, Any]]:
    """Return the correlations of the 1st, 2nd, ... rating of each output.

    `is_log`: the values are magnitudes, so the correlations of ln and ln(1 + x) follow.
    """
    rows = table.rows[table.rows.value.notna()]
    value = rows.value.to_numpy(dtype=np.float64)
    forms = {"": value}
    if is_log:
        forms |= {"log": np.log(value), "log1p": np.log1p(value)}
    return [
        replace(figure, group=(*figure.group, *((("of", form),) if form else ()))).to_dict()
        for form, values in forms.items()
        for figure in icc_in_file_order(unit=rows.output, value=values).values()
    ]


# --- arguments


def make_parser() -> ArgumentParser:
    """Return the parser; both subcommands read ratings and write results in the same way."""
    shared = ArgumentParser(add_help=False)
    add_reading(shared)
    shared.add_argument("--json", action="store_true", help="all figures, with every digit")
    shared.add_argument(
        "-o", "--output", type=Path, metavar="PATH",
        help="write to this file instead of the screen",
    )  # fmt: skip
    parser = ArgumentParser(
        prog="python -m evalsite.analysis",
        description="Analyse ratings in CSV files, without a site or a database.",
        epilog="To analyse a study of your site, use manage.py analyse STUDY.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    report = commands.add_parser(
        "report", parents=[shared], help="the results of a file of ratings",
        description="Print the results of a file of ratings.",
    )  # fmt: skip
    add_report(report)
    add_gate(report)

    compare = commands.add_parser(
        "compare", parents=[shared], help="a study and its replication",
        description="Compare the ratings of a study with those of its replication.",
    )  # fmt: skip
    compare.add_argument(
        "ratings", type=Path, metavar="FIRST", help="CSV of the first study, as for report"
    )
    compare.add_argument("repeat", type=Path, metavar="REPEAT", help="CSV of the replication")
    return parser


def add_report(parser: ArgumentParser) -> None:
    """Let a command take a file of ratings and what a report of it may hold besides."""
    add = parser.add_argument
    add("ratings", type=Path, metavar="RATINGS", help="CSV with the columns participant, item, and "
        "value or preferred; optionally criterion, system, group, cluster and others. Common "
        "other names are recognised, and so are rows with several ratings (inf1, team1, inf2, "
        "team2)")  # fmt: skip
    add("--metrics", type=Path, metavar="FILE", help="CSV of automatic metrics to compare with "
        "the ratings: item, system, metric, value; or item, system and a column per "
        "metric")  # fmt: skip
    add("--judge-labels", type=Path, metavar="FILE", help="CSV of labels that a model gave to the "
        "same inputs and to others, to see what they are worth beside people: item, system, value "
        "(of preferences preferred), and criterion and judge if there are several")  # fmt: skip
    add_printed(parser)


def add_reading(parser: ArgumentParser) -> None:
    """Let a command say how a file of ratings is read."""
    add = parser.add_argument
    add("--map", action="append", default=[], type=_parse_pair, metavar="COLUMN=FIELD",
        help="what a column holds, if its name doesn't show it: worker=participant, "
        "clear=value:clarity, s1=value1, s2=value2; COLUMN= ignores it")  # fmt: skip
    add("--protocol", choices=sorted(NAMES), help="what the values are; default: guessed from the "
        "columns")  # fmt: skip
    add("--items", type=Path, metavar="FILE", help="CSV of the items with item and system, for "
        "preferences whose ratings don't name the systems")  # fmt: skip
    add("--scale", type=_parse_scale, metavar="LOW-HIGH", help="the ends of the scale, such as 1-7 "
        "or 0-100 (--scale=-3-3 if it begins below 0); default: for whole and half points, the "
        "lowest and the highest value in the file; for other numbers, none")  # fmt: skip
    add("--better", action="append", default=[], type=_parse_better, metavar="DIRECTION",
        help="higher, lower or none, or by criterion, such as mqm=lower,esa=higher; default: the "
        "column better of the file; without it, higher, and for numbers none")  # fmt: skip
    add("--standard", type=float, metavar="SCORE", help="the score of the standard for "
        "magnitudes, such as 100")  # fmt: skip
    add(
        "--primary",
        default="",
        metavar="CRITERION",
        help="the criterion whose p values are the "
        "result; without one, p values are corrected across all criteria",
    )
    add("--baseline", default="", metavar="SYSTEM", help="compare all other systems with this one "
        "only; p values are corrected over fewer comparisons")  # fmt: skip
    add("--raters-unknown", action="store_true", help="participants are positions in a list, not "
        "persons")  # fmt: skip
    add("--independent", action="store_true", help="treat items as independent: no warning "
        "about clusters that the file doesn't name")  # fmt: skip
    add("--with-excluded", action="store_true", help="keep excluded rows")
    add("--seed", type=_parse_seed, default=SEED, metavar="NUMBER", help="seed of everything drawn "
        "at random; default: %(default)s")  # fmt: skip


def _parse_pair(text: str) -> tuple[str, str]:
    column, sign, field = text.rpartition("=")
    if not sign:
        raise ArgumentTypeError("Write COLUMN=FIELD.")
    return column.strip(), field.strip()


def _parse_seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError("Write a whole number, 0 or more.")
    return int(text)


def _parse_scale(text: str) -> Ends:
    ends = re.fullmatch(r"(-?[0-9]+(?:[.][0-9]+)?)-(-?[0-9]+(?:[.][0-9]+)?)", text.strip())
    if ends is None or not float(ends[1]) < float(ends[2]):
        raise ArgumentTypeError("Write a scale as 1-7.")
    return float(ends[1]), float(ends[2])


def _parse_better(text: str) -> dict[str, Better]:
    """Return the direction of each criterion that is named; "" stands for all others."""
    directions: dict[str, Better] = {}
    for part in text.split(","):
        criterion, _, word = part.rpartition("=")
        direction = next((known for known in SIGN if known == word.strip().casefold()), None)
        if direction is None:
            raise ArgumentTypeError("Write higher, lower or none, or mqm=lower,esa=higher.")
        directions[criterion.strip()] = direction
    return directions


# --- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the results and return 0, or the exit status of a gate.

    If a file is faulty, write a message and return 2, or 3 if there is a gate.
    """
    words = sys.argv[1:] if arguments is None else arguments
    faulty = FAULTY if any(word.partition("=")[0] == "--gate" for word in words) else 2
    try:
        options = make_parser().parse_args(words)
    except SystemExit as ended:
        # argparse ends with 2, which is an outcome of a gate
        if ended.code and faulty == FAULTY:
            return FAULTY
        raise
    try:
        text, status = _analyse(options) if options.command == "report" else (_compare(options), 0)
        if options.output is None:
            sys.stdout.write(text)
        else:
            options.output.write_text(text, encoding="utf-8")
    except OSError as fault:
        sys.stderr.write(f"{fault.filename}: {fault.strerror}. Check the path.\n")
        return faulty
    except ValueError as fault:
        sys.stderr.write(f"{fault}\n")
        return faulty
    return status


def analyse_ratings(options: Namespace) -> tuple[Mapping[str, Any], dict[str, Any] | None]:
    """Return the report of a file of ratings, and how its gate ended, if there is one."""
    table = select_ratings(_read(options.ratings, options), options)
    instrument = _describe_criteria(table, options)
    files = {"metrics": read_metrics(options.metrics)} if options.metrics else {}
    if marks := getattr(options, "marks", None):
        files["highlights"] = pd.read_csv(marks, dtype=str, keep_default_na=False)
    if labels := vars(options).get("judge_labels"):
        files["judge_labels"] = _read_labels(labels, options.items, table.criteria)
    gate = read_gate(options, table, instrument)
    side = _report(table, files, instrument, options, [gate.margin] if gate else [])
    if options.file_order:
        for criterion in side.report["criteria"]:
            part, family = side.table.of(criterion["key"]), find_family(criterion)
            criterion["agreement"] += correlate_in_file_order(part, is_log=family.is_log)
    if gate is None:
        return side.report, None
    judges = {
        criterion["key"]: get_numbers(find_family(criterion)).judge_margins
        for criterion in side.report["criteria"]
    }
    return side.report, decide_gate(gate, side.table, side.report, options, judges)


def _read_labels(path: Path, items: Path | None, criteria: Sequence[str]) -> pd.DataFrame:
    """Return labels, of the only criterion where none is named. ValueError: a cell is empty."""
    labels = read_labels(path, items)
    if (labels["item"] == "").any() or (labels["value"] + labels["preferred"] == "").any():
        raise ValueError(f"{path}: a label needs item, and value or preferred.")
    if (labels["criterion"] == "").any() and len(criteria) > 1:
        raise ValueError(f"{path}: add a column criterion. There are: {', '.join(criteria)}.")
    named = {"criterion": criteria[0] if criteria else "", "judge": "judge"}
    return labels.assign(**{name: labels[name].replace("", text) for name, text in named.items()})


def _analyse(options: Namespace) -> tuple[str, int]:
    """Return the results of a file of ratings as text or JSON, and the exit status."""
    report, decision = analyse_ratings(options)
    if decision is not None:
        sys.stderr.write(f"{write_gate(decision)}\n")
        report = {**report, "gate": to_plain(decision)}
    write = partial(write_report, has_other_papers=options.other_papers)
    return _write(report, options, write), decision["status"] if decision else 0


def _compare(options: Namespace) -> str:
    """Return the comparison of two files of ratings as text or JSON."""
    tables = [_read(path, options) for path in (options.ratings, options.repeat)]
    together = Table(rows=pd.concat([table.rows for table in tables]))
    instrument = _describe_criteria(together, options)
    first, second = (_report(table, {}, instrument, options) for table in tables)
    comparison = make_repetition((first, second), instrument=instrument, seed=options.seed)
    return _write(comparison, options, write_comparison)


def _write(
    result: Mapping[str, Any], options: Namespace, write: Callable[[Mapping[str, Any]], str]
) -> str:
    if options.json:
        return json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return write(result)


def _describe_criteria(table: Table, options: Namespace) -> list[dict[str, Any]]:
    """Describe every criterion of the files; ValueError if items or the baseline don't fit."""
    _refuse_moved_items(table)
    systems = list_systems(table)
    if options.baseline and options.baseline not in systems:
        raise ValueError(
            f"No system is called {options.baseline}. There are: {', '.join(systems) or 'none'}."
        )
    better = _find_directions(table, options)
    return [
        _describe(table.of(key), key, options.protocol, options.scale)
        | ({"better": better[key]} if key in better else {})
        for key in table.criteria
    ]


def _refuse_moved_items(table: Table) -> None:
    """Raise ValueError if an item is in two clusters or groups, in one file or between two."""
    places = table.rows[["item", "block"]].drop_duplicates()
    moved = places[places.duplicated("item")]
    if len(moved):
        item = moved["item"].iloc[0]
        first, other, *_ = places[places["item"] == item].block
        raise ValueError(
            f"The item {item} is in two groups, {first} and {other}. An item is in one cluster and "
            "one group, the same in both files; correct it there."
        )


def _read(path: Path, options: Namespace) -> Table:
    table = read_bare_table(
        path, mapping=dict(options.map), outputs=options.items,
        raters_known=not options.raters_unknown,
        has_options=options.protocol in ("choice", "choices"),
    )  # fmt: skip
    table, dropped = drop_turns(table)
    if dropped:
        sys.stderr.write(
            f"{dropped} ratings of turns of conversations are left out: answers of this kind have "
            "no mean. The report of the study has their shares.\n"
        )
        if table.rows.empty:
            raise ValueError("No other ratings are in the file.")
    if options.standard:
        table = replace(table, rows=table.rows.assign(standard=options.standard))
    return table


def _report(
    table: Table,
    files: dict[str, pd.DataFrame],
    instrument: list[dict[str, Any]],
    options: Namespace,
    margins: Sequence[Margin] = (),
) -> Side:
    guessed = [] if options.protocol else _warn_of_guesses(instrument)
    criteria = [criterion for criterion in instrument if criterion["key"] in table.criteria]
    table, parts = split_parts(table, criteria)
    kept = table.results(with_excluded=options.with_excluded)
    material = Material(
        table=kept, everything=table, files=files,
        warnings=[*_warn_of_clusters(table, options), *guessed],
    )  # fmt: skip
    plan = Plan(baseline=options.baseline, primary=options.primary, margins=margins)
    report = make_report(material, Settings(instrument=parts, seed=options.seed, plan=plan))
    readings = {
        criterion["key"]: criterion["reading"] for criterion in criteria if "reading" in criterion
    }
    for criterion in report["criteria"]:
        if reading := readings.get(criterion["key"]):
            criterion["reading"] = reading
    return Side(table=kept, report=report)


def _warn_of_clusters(table: Table, options: Namespace) -> list[dict[str, Any]]:
    """Return a warning if items seem to belong to clusters that the file doesn't name."""
    rows = table.rows
    if options.command != "report" or options.independent or (rows.cluster != "").any():
        return []
    texts = read_texts(options.ratings)
    known = texts.iloc[rows.row - 1]
    columns = {str(name): list(zip(rows.group, known[name], strict=True)) for name in texts.columns}
    guess = guess_clusters(list(rows.group), columns)
    if guess is None or not guess.is_likely:
        return []
    items = len(guess.clusters)
    return [
        make_note("clusters_not_named", items=items, clusters=guess.number, column=guess.column)
    ]


def _find_directions(table: Table, options: Namespace) -> dict[str, Better]:
    """Return the direction of each criterion for which the options or the file name one.

    ValueError: an option names no criterion, or one of preferences.
    """
    rows = table.rows
    rated = [key for key in table.criteria if (rows[rows.criterion == key].preferred == "").all()]
    known = rows[rows.better != ""].drop_duplicates("criterion").set_index("criterion").better
    directions: dict[str, Better] = {key: known[key] for key in rated if key in known}
    for chosen in options.better:
        for key, direction in chosen.items():
            if key and key not in table.criteria:
                raise ValueError(
                    f"No criterion is called {key}. There are: {', '.join(table.criteria)}."
                )
            if key and key not in rated:
                raise ValueError(
                    f"{key} holds preferences: the preferred system is better. Leave it out of "
                    "--better."
                )
            directions |= dict.fromkeys([key] if key else rated, direction)
    return directions


def _describe(table: Table, key: str, protocol: str | None, ends: Ends | None) -> dict[str, Any]:
    """Return what is known about a criterion from the file, the options or, last, its values.

    `reading` says how numbers were read, if the values decided it.
    """
    rows = table.rows
    kind = str(rows["scale"].iloc[0])
    is_named = bool(kind)
    family = KNOWN_KINDS.get(kind) or NAMES.get(protocol or "")
    if family is None:
        is_log = bool(kind) and bool(rows.standard.notna().all() and (rows.value > 0).all())
        family = guess_family(is_compared=bool((rows.preferred != "").any()), has_standard=is_log)
    known: dict[str, Any] = {"key": key, "label": key, "reserved": []}
    known["kind"] = kind or (protocol if protocol in KNOWN_KINDS else name_kind(family))
    known["family"] = family.name
    ends = find_scale(table) or ends
    bounds = {} if ends is None else {"minimum": ends[0], "maximum": ends[1]}
    if (rows.turn != "").any():
        # several turns of a conversation aren't independent: their mean is one value
        return known | {"family": TURNS.name, "answers": []} | bounds
    if family.splits:
        return known | {"answers": [], "options": _list_options(rows)}
    if kind and kind not in KNOWN_KINDS:
        # without labels, any number between the ends of the scale will do
        return known | {"answers": []} | bounds
    if family.has_marks:
        weights = {"severities": list_severities(), "weights": list_exceptions()}
        return known | {"answers": []} | weights
    if not family.has_points:
        return known | {"answers": _YES_NO if family.decides else []}
    chosen = kind or (protocol or "")
    scale = read_scale(key, rows.value, ends=ends, kind=chosen)
    if not is_named:
        code, facts = scale.describe_reading()
        known["reading"] = make_note(code, key, **facts)
    if scale.decides:
        return known | {"kind": "decision", "family": DECISION.name, "answers": _YES_NO}
    if scale.ends is not None:
        known |= {"minimum": scale.ends[0], "maximum": scale.ends[1]}
    answers = [
        {"value": int(point) if point.is_integer() else point, "label": f"{point:g}"}
        for point in scale.list_points()
    ]
    return known | {"kind": kind or scale.kind, "answers": answers}


_YES_NO = [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]


def _list_options(rows: pd.DataFrame) -> list[dict[str, str]]:
    """Return the options of a choice in order; of a choice of several, those that rows name."""
    labels = rows[rows.label != ""].drop_duplicates(["part", "value"])
    if parts := [part for part in rows.part.unique() if part not in ("", COMMENT)]:
        return [{"key": part, "label": part} for part in parts]
    by_place = dict(zip(labels.value, labels.label, strict=True))
    most = int(rows.value.max()) if len(rows) else 0
    names = [str(by_place.get(float(place), place)) for place in range(1, most + 1)]
    return [{"key": name, "label": name} for name in names]


def _warn_of_guesses(instrument: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a warning for each kind of question that only the site knows."""
    unknown = {
        criterion["kind"]: criterion
        for criterion in instrument
        if criterion["kind"] not in KNOWN_KINDS
    }
    return [
        make_note("unknown_kind", kind=kind, analysed_as=name_kind(find_family(criterion)))
        for kind, criterion in unknown.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
