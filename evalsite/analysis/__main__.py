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

import pandas as pd

from evalsite.analysis.as_printed import add_printed, correlate_in_file_order, select_ratings
from evalsite.analysis.direction import SIGN, Better
from evalsite.analysis.families import (
    KNOWN_KINDS,
    NAMES,
    find_family,
    get_numbers,
    guess_family,
    name_kind,
)
from evalsite.analysis.families.decision import DECISION
from evalsite.analysis.families.numbers import Ends, find_scale
from evalsite.analysis.families.turns import TURNS
from evalsite.analysis.figure import make_note
from evalsite.analysis.findings import MODEL_MEANS
from evalsite.analysis.gate import FAULTY, add_gate, decide_gate, read_gate
from evalsite.analysis.plan import Margin, Plan
from evalsite.analysis.report import Material, Settings, list_systems, make_report
from evalsite.analysis.report.answer_parts import COMMENT, drop_turns, split_parts
from evalsite.analysis.report.metrics import read_metrics
from evalsite.analysis.report.replication import Side, make_repetition
from evalsite.analysis.resample import SEED
from evalsite.analysis.table import Table, read_bare_table, read_texts
from evalsite.analysis.to_json import to_plain
from evalsite.lib.bare_scales import BareScale, read_scale
from evalsite.lib.cluster_guess import guess_clusters
from evalsite.lib.words import count_of
from evalsite.results.document.figures import REASONS
from evalsite.results.document.methods import (
    TESTS,
    explain_none,
    write_interval_method,
    write_method,
)
from evalsite.results.report.sentences import write_p, write_sentence


# --- arguments ------------------------------------------------------------------------
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


# --- plain text -----------------------------------------------------------------------
# words for what was counted that differ from the keys of the report
_COUNTED = {"items": "inputs", "groups": "inputs", "rater_pairs": "pairs of raters"}
_LEFT_OUT = {
    "no_value": "without a value",
    "rated_twice": "of an output that the same participant has rated before (the first counts)",
    "excluded_ratings": "excluded",
    "not_main": "of practice, checks or repeats",
    "not_counted": "that do not count (their status says so)",
}


def write_report(report: Mapping[str, Any], *, has_other_papers: bool = False) -> str:
    """Return the main figures of a report as plain text.

    `has_other_papers`: with the figures that other papers print.
    """
    lines = _write_data(report)
    for criterion in report["criteria"]:
        lines += _write_criterion(criterion)
        if has_other_papers:
            lines += _write_figures("As other papers print it", criterion["other_papers"])
        lines += _write_metrics(criterion["metrics"])
    lines += ["", f"Seed {report['seed']}, methods {report['methods_version']}."]
    return "\n".join(lines) + "\n"


def _write_data(report: Mapping[str, Any]) -> list[str]:
    """Return what was counted, what was left out, and the warnings."""
    data, left_out = report["data"], report["data"]["left_out"]
    inputs = "" if data["groups"] == data["items"] else f" of {count_of(data['groups'], 'input')}"
    lines = [
        f"{count_of(data['ratings'], 'rating')}, {count_of(data['participants'], 'participant')}, "
        f"{count_of(data['items'], 'item')}{inputs}"
    ]
    phrases = [f"{left_out[key]:,} {words}" for key, words in _LEFT_OUT.items() if left_out[key]]
    lines += [f"Rows left out: {'; '.join(phrases)}."] if phrases else []
    labels = {criterion["key"]: criterion["label"] for criterion in report["criteria"]}
    for warning in report["warnings"]:
        label = labels.get(warning.get("criterion"), "")
        lines.append(f"Warning{f' ({label})' if label else ''}: {write_sentence(warning)}")
    return [*lines, *map(write_sentence, data["notes"])]


def _write_criterion(criterion: Mapping[str, Any]) -> list[str]:
    """Return the results of a criterion."""
    lines = ["", f"== {criterion['label']} ({criterion['kind']}) =="]
    lines += [write_sentence(criterion["reading"])] if "reading" in criterion else []
    # the mean by the mixed model is shown where comparisons are by it
    averages = MODEL_MEANS if criterion.get("estimator") == "model" else ()
    for system in criterion["systems"]:
        tier = f", tier {system['cluster']}" if system["cluster"] else ""
        lines.append(f"{system['system']}  n = {system['n']}{_write_rank(system['rank'])}{tier}")
        means = [mean for mean in system.get("averages", ()) if mean["name"] in averages]
        lines += map(_write_figure, [system["headline"], *means, *system["others"]])
    baseline = criterion["baseline"]
    lines.append(f"Comparisons with {baseline}" if baseline else "Comparisons")
    for pair in criterion["pairs"]:
        lines.append(f"  {write_sentence(pair['finding'])}")
        if counts := pair.get("counts"):
            phrases = ", ".join(f"{name} {number}" for name, number in counts.items())
            lines.append(f"    {pair['system_1']} and {pair['system_2']}: {phrases}")
        lines += _write_checks(pair)
    lines += [f"  {write_sentence(note)}" for note in criterion["conclusions"]]
    lines += [f"  {write_sentence(criterion['weighing'])}"] if criterion["weighing"] else []
    lines += _write_order(criterion.get("order") or [])
    lines += _write_figures("Tests", criterion["tests"])
    lines += _write_fit(criterion.get("fit"))
    lines += _write_figures("Agreement", criterion["agreement"])
    return lines + [f"  {write_sentence(note)}" for note in criterion["agreement_notes"]]


def write_comparison(comparison: Mapping[str, Any]) -> str:
    """Return the main figures of a comparison of a study with its replication as plain text."""
    lines = [
        f"{name}: {count_of(comparison[side]['ratings'], 'rating')}, "
        f"{count_of(comparison[side]['participants'], 'participant')}, "
        f"{count_of(comparison[side]['outputs'], 'output')}"
        for name, side in (("First study", "first"), ("Repeat", "second"))
    ]
    lines += [f"Warning: {write_sentence(warning)}" for warning in comparison["warnings"]]
    for criterion in comparison["criteria"]:
        lines += ["", f"== {criterion['label']} ({criterion['kind']}) =="]
        lines.append(write_sentence(criterion["finding"]))
        lines.append(_write_figure(criterion["upheld"]))
        for system in criterion["systems"]:
            lines.append(system["system"])
            for key, name in (("first", "first study"), ("second", "repeat")):
                figure = system[key]
                lines.append(_write_figure({**figure, "name": f"{name}, {figure['name']}"}))
            lines += [_write_figure(system[key]) for key in ("moved", "cv_star")]
        for title, key in (("Scores of systems", "correlations"), ("Agreement", "agreement")):
            lines += [title, *map(_write_figure, criterion[key])]
    lines += ["", f"Seed {comparison['seed']}, methods {comparison['methods_version']}."]
    return "\n".join(lines) + "\n"


def _write_figures(title: str, figures: Sequence[Mapping[str, Any]]) -> list[str]:
    return [title, *map(_write_figure, figures)] if figures else []


def _write_rank(rank: Mapping[str, int] | None) -> str:
    """Return ", rank 1 to 2", or "" where there is no rank."""
    if rank is None:
        return ""
    low, high = rank["low"], rank["high"]
    return f", rank {low}" if low == high else f", rank {low} to {high}"


def _write_checks(pair: Mapping[str, Any]) -> list[str]:
    """Return the p values of other tests of the pair."""
    phrases = [
        f"{check['name']} p {write_p(check['details']['p'])}"
        for check in pair["checks"]
        if check["details"].get("p") is not None
    ]
    return [f"    other tests, not corrected: {', '.join(phrases)}"] if phrases else []


def _write_fit(fit: Mapping[str, Any] | None) -> list[str]:
    """Return the observed counts of each pair beside those that the model expects."""
    if fit is None:
        return []
    lines = ["Counts, and in brackets those that the model expects"]
    for pair in fit["pairs"]:
        phrases = [
            f"{name} {pair['observed'][name]:.0f} ({pair['expected'][name]:.1f})"
            for name in ("wins", "ties", "losses")
        ]
        lines.append(f"  {pair['system_1']} and {pair['system_2']}: {', '.join(phrases)}")
    return lines + [
        f"  {first} and {second}: never compared directly"
        for first, second in fit["through_others"]
    ]


def _write_order(order: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ranking by the order within a page, one line for each system."""
    lines = ["Order within a page"] if order else []
    for system in order:
        figure = {**system["strength"], "name": system["system"]}
        lines.append(_write_figure(figure) + _write_rank(system["rank"]))
    return lines


def _write_metrics(part: Mapping[str, Any] | None) -> list[str]:
    if part is None:
        return []
    figures = [
        {**figure, "name": f"{metric['metric']}, {level.replace('_', ' ')} {figure['name']}"}
        for metric in part["metrics"]
        for level, figures in metric["levels"].items()
        for figure in figures
    ]
    figures += [part["ceiling"]] if part["ceiling"] else []
    return _write_figures("Automatic metrics", figures + part["ceiling_within"])


def _write_figure(figure: Mapping[str, Any]) -> str:
    """Return "name: value (low to high), method", or the reason why there is no value."""
    name = "  " + ", ".join([figure["name"], *(figure.get("group") or {}).values()])
    if figure["value"] is None:
        why = REASONS.get(figure["reason"], str(figure["reason"]).replace("_", " "))
        return f"{name}: undefined ({why})"
    bounds = ""
    if figure["low"] is not None and figure["high"] is not None:
        bounds = f" ({figure['low']:.4g} to {figure['high']:.4g})"
    words = _COUNTED | {"units": f"{figure['details'].get('unit', 'output')}s"}
    counts = ", ".join(
        f"{words.get(unit, unit).replace('_', ' ')} {count:,}"
        for unit, count in figure["n"].items()
    )
    n = f"; n: {counts}" if counts else ""
    value = f"{figure['value']:.4f}{bounds}{_write_test(figure['details'])}"
    return (
        f"{name}: {value}, {write_method(figure['method'])}{n}{_write_interval(figure['details'])}"
    )


def _write_test(details: Mapping[str, Any]) -> str:
    """Return ", df 2, p = .210", or "" where the figure has no p value."""
    p, df = details.get("p"), details.get("df")
    if p is None:
        return ""
    freedom = [] if df is None else df if isinstance(df, list) else [df]
    phrases = f", df {' and '.join(f'{value:.4g}' for value in freedom)}" if freedom else ""
    code = details.get("test")
    test = f" ({TESTS.get(code, code)})" if code else ""
    return f"{phrases}, p {write_p(p)}{test}"


def _write_interval(details: Mapping[str, Any]) -> str:
    """Return how the interval was made or why there is none; "" for tests, which need none."""
    code = str(details.get("interval", ""))
    if not code or code == "test":
        return ""
    how = write_interval_method(code)
    return f"; interval: {how}" if how else f"; no interval: {explain_none(code)}"


# --- the command ----------------------------------------------------------------------
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


def _analyse(options: Namespace) -> tuple[str, int]:
    """Return the results of a file of ratings as text or JSON, and the exit status."""
    report, decision = analyse_ratings(options)
    if decision is not None:
        sys.stderr.write(f"{write_sentence({'code': 'gate', 'facts': decision})}\n")
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
    if not family.has_points:
        return known | {"answers": _YES_NO if family.decides else []}
    chosen = kind or (protocol or "")
    scale = read_scale(key, rows.value, ends=ends, kind=chosen)
    if not is_named:
        known["reading"] = _describe_reading(scale, key)
    if scale.decides:
        return known | {"kind": "decision", "family": DECISION.name, "answers": _YES_NO}
    if scale.ends is not None:
        known |= {"minimum": scale.ends[0], "maximum": scale.ends[1]}
    answers = [
        {"value": int(point) if point.is_integer() else point, "label": f"{point:g}"}
        for point in scale.list_points()
    ]
    return known | {"kind": kind or scale.kind, "answers": answers}


def _describe_reading(scale: BareScale, key: str) -> dict[str, Any]:
    """Return a note on how the values were read."""
    code, facts = scale.describe_reading()
    return make_note(code, key, **facts)


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
