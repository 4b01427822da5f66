"""Every sentence that a report can print: a study that has it and, beside it, one that must not.

A code without an entry in CASES fails. Studies are small, and each is analysed once a run; those
that few sentences share are for `make torture`.
"""

import ast
import csv
import io
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from evalsite.analysis.__main__ import main
from evalsite.analysis.behaviour import describe_pace
from evalsite.analysis.figure import Figure
from evalsite.analysis.plan import Hypothesis, Margin, Plan
from evalsite.analysis.ratings import Ratings, make_table, read_scores
from evalsite.analysis.report import Settings, make_reports, warn_of_criterion
from evalsite.analysis.report.raters import (
    Flag,
    Scale,
    check_gold,
    check_raters,
    check_tie_use,
    count_chosen_places,
    count_circles,
    flag_answers,
    flag_changes,
    flag_sameness,
    see_speed,
)
from evalsite.analysis.report.replication import warn_of_both
from evalsite.analysis.thresholds import START
from evalsite.command_line.main import run_command
from evalsite.data.tables.mqm import COLUMNS, write_line
from evalsite.results.analysis_plan.wording import warn_of_plan
from evalsite.results.document.blocks import Sentence
from evalsite.results.people.flags import describe_unseen
from evalsite.results.replication.comparison import compare_versions, warn_of_texts
from evalsite.results.replication.tables import NOTES as NOTES_OF_TWO
from evalsite.results.replication.tables import write_note
from evalsite.results.report import sections
from evalsite.results.report.bare import make_bare_document
from evalsite.results.report.computation import Look, has_gone_on, withdraw_claims
from evalsite.results.report.sections.words import FLAGS, NOTES
from evalsite.studies.models import Study
from tests.analysis.compared import compare_systems
from tests.support.emptying import made_once

Row = dict[str, Any]
POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
YES_NO = [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]


# --- rows -----------------------------------------------------------------------------


def rate(
    value: Callable[[int, int, int], float],
    *,
    raters: int = 6,
    inputs: int = 12,
    systems: str = "AB",
    criterion: str = "fit",
) -> list[Row]:
    """Ratings of every system by every rater on every input: of rater, input and system."""
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}", "system": system,
            "criterion": criterion, "value": value(rater, item, place),
        }
        for rater in range(raters)
        for item in range(inputs)
        for place, system in enumerate(systems)
    ]  # fmt: skip


def spread(shift: float = 0.0, *, seed: int = 1, noise: float = 1.0) -> Callable[..., int]:
    """Points from 1 to 7, noisy, the later systems higher by `shift` each."""
    chance = random.Random(seed)
    return lambda rater, item, place: min(
        7, max(1, round(4 + shift * place + (item % 3) - 1 + chance.gauss(0, noise)))
    )


def prefer(pairs: Iterable[tuple[str, str, float]], *, raters: int = 6, seed: int = 1) -> list[Row]:
    """Preferences on pairs: first, second, and how often the first is preferred."""
    chance = random.Random(seed)
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}-{place}", "group": f"i{item}",
            "criterion": "fit", "preferred": first if wins else second,
            "outcome": "1" if wins else "2", "system_1": first, "system_2": second,
            "shown_first": (first, second)[item % 2],
        }
        for item in range(12)
        for place, (first, second, better) in enumerate(pairs)
        for rater in range(raters)
        if (wins := chance.random() < better) is not None
    ]  # fmt: skip


def mark_passages() -> list[list[str]]:
    """Errors in the columns of WMT: six raters mark the first word of A, and nothing of B."""
    errors = {
        "A": ["<v>Halb</v> acht.", "Accuracy/Mistranslation", "Major"],
        "B": ["Um halb acht.", "No-error", "No-error"],
    }
    return [
        [system, "doc", f"{item}", f"{item}", f"p{rater}", "Half past seven.", *errors[system], ""]
        for rater in range(6)
        for item in range(12)
        for system in "AB"
    ]


# --- analyses -------------------------------------------------------------------------


def write_csv(path: Path, rows: list[Row]) -> Path:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def find_notes(found: Any) -> Iterator[dict[str, Any]]:
    if isinstance(found, dict):
        if {"code", "facts"} <= found.keys() or found.keys() == {"code", "text"}:
            yield found
        for part in found.values():
            yield from find_notes(part)
    elif isinstance(found, list):
        for part in found:
            yield from find_notes(part)


def analyse(
    rows: list[Row],
    *,
    kind: str = "likert",
    plan: Plan | None = None,
    more: dict[str, list[Row]] | None = None,
    labels: dict[str, dict[str, Any]] | None = None,
    raters_known: bool = True,
) -> dict[str, Any]:
    """The report of these rows, as a site makes it; `more`: other files that it exports."""
    rows = rows if raters_known else [row | {"person": "no"} for row in rows]
    answers = {"likert": POINTS, "decision": YES_NO}.get(kind, [])
    instrument = [
        {"key": key, "label": key.title(), "kind": kind, "answers": answers}
        | (labels or {}).get(key, {})
        for key in dict.fromkeys(row["criterion"] for row in rows)
    ]
    with TemporaryDirectory() as folder:
        paths = {"ratings": write_csv(Path(folder) / "ratings.csv", rows)}
        for name, part in (more or {}).items():
            paths[name] = write_csv(Path(folder) / f"{name}.csv", part)
        made = make_reports(paths, Settings(instrument=instrument, seed=1, plan=plan or Plan()))
    kept: dict[str, Any] = made["kept"]
    return kept


def run(rows: list[Row], *options: str, beside: list[Row] | None = None) -> dict[str, Any]:
    """What the command makes of a file, or of two."""
    with TemporaryDirectory() as folder:
        first = write_csv(Path(folder) / "ratings.csv", rows)
        out = Path(folder) / "out.json"
        words = ["report", str(first)]
        if beside is not None:
            words = ["compare", str(first), str(write_csv(Path(folder) / "repeat.csv", beside))]
        main([*words, "--json", "-o", str(out), *options])
        made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if gate := made.get("gate"):
        made["gate"] = {"code": "gate", "facts": gate}
    return made


def report_tsv(rows: list[list[str]]) -> dict[str, Any]:
    """What `evalsite report` makes of a file of errors."""
    printed = io.StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(printed):
        path = Path(folder) / "mqm.tsv"
        path.write_text("".join(map(write_line, [COLUMNS, *rows])), encoding="utf-8")
        assert run_command(["report", str(path), "--json"]) == 0
    report: dict[str, Any] = json.loads(printed.getvalue())["report"]
    return report


def doubt(name: str, at: str = "2026-05-03T10:00:00+00:00") -> list[dict[str, Any]]:
    """The warnings of a plan of which this part was fixed after seven answers."""
    plan = {
        "primary": "fit", "margins": [1], "exclusion_rule": "Too fast",
        "moments": {name: {"at": at, "answers": 7}},
    }  # fmt: skip
    return warn_of_plan(plan, has_excluded=True)


LOOK = Look(at=datetime(2026, 5, 12, 10, 42, tzinfo=UTC), answers=2, asked_later=0)
PLAN = {"primary": {"at": "2026-05-03T10:00:00+00:00", "answers": 0}}
PLANNED_FACTS: dict[str, Any] = {
    "exclusion_rule": "",
    "moments": PLAN | {"exclusion_rule": PLAN["primary"]},
    "has_imported": False,
}
SIZE = {"criterion": "fit", "words": "50 inputs: 80% power", "at": "2026-05-19T10:00:00+00:00"}
CHAIN = [("A", "B", 0.6), ("B", "C", 0.6)]


def rate_singly(*, own: bool = False) -> list[Row]:
    """Each rater rates one system only; `own`: each input has one system only, too."""
    return [
        row
        for row in rate(spread(0.5), inputs=12)
        if (int(row["participant"][1:]) % 2 == 0) == (row["system"] == "A")
        and (not own or (int(row["item"][1:]) % 2 == 0) == (row["system"] == "A"))
    ]


def rate_divisive() -> list[Row]:
    """Raters differ about C, and agree about A and B, which differ a little."""
    chance = random.Random(2)
    taste = [-3, 3, -2, 2, -3, 3]
    return rate(
        lambda rater, item, place: 5 + (0, 0.45, taste[rater])[place] + chance.gauss(0, 0.4),
        systems="ABC",
        inputs=20,
    )


def rate_apart(apart: list[list[int]]) -> list[Row]:
    """Of each rater how far A is above B on each input."""
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}-{system}", "group": f"i{item}",
            "criterion": "fit", "system": system, "value": max(1, 1 + sign * by),
        }
        for rater, ways in enumerate(apart)
        for item, by in enumerate(ways)
        for system, sign in (("A", 1), ("B", -1))
    ]  # fmt: skip


def skip_low(share: float, *, below: int = 5) -> list[Row]:
    chance = random.Random(1)
    return [
        row
        for row in rate(spread(0), inputs=30)
        if not (row["system"] == "A" and row["value"] < below and chance.random() < share)
    ]


def ignore(number: int) -> dict[str, list[Row]]:
    """Of the first item so many of six raters say that it can't be rated."""
    return {
        "annotations": [
            {
                "annotation": f"a{rater}-{item}", "participant": f"p{rater}", "item": f"i{item}",
                "kind": "main", "status": "counted",
                "outcome": "ignored" if item == 0 and rater < number else "rated",
                "excluded": "", "gold_agrees": "", "attention_passed": "", "seconds": 60,
            }
            for rater in range(6)
            for item in range(12)
        ]
    }  # fmt: skip


def score(systems: str = "AB", metrics: tuple[str, ...] = ("BLEU",)) -> dict[str, list[Row]]:
    chance = random.Random(3)
    return {
        "metrics": [
            {"item": f"i{item}", "system": system, "metric": metric, "value": chance.random()}
            for metric in metrics
            for item in range(12)
            for system in systems
        ]
    }


def write_preferences(items: int) -> list[Row]:
    """Preferences of a file that names no pairs, but by the endings of ids; some are ties."""
    names = {"1": ("A", "B"), "2": ("A", "C")}
    return [
        {"participant": f"p{rater}", "item": f"x{item}-{end}", "criterion": "fit",
         "preferred": "tie" if item < 2 else pair[(item + rater) % 2]}
        for rater in range(2)
        for item in range(items)
        for end, pair in names.items()
    ]  # fmt: skip


def caution(systems: int) -> list[dict[str, Any]]:
    """What is warned of where there are so many systems, from the comparison alone."""
    rows = rate(spread(0.1), raters=3, inputs=3, systems="".join(map(chr, range(65, 65 + systems))))
    columns = [[row[name] for row in rows] for name in ("item", "system", "value", "participant")]
    data = read_scores(
        Ratings(group=columns[0], system=columns[1], value=columns[2], rater=columns[3])
    )
    return warn_of_criterion("fit", compare_systems(data, draws=20).cautions)


def on_days(rows: list[Row], day: int) -> list[Row]:
    return [row | {"submitted_at": f"2026-01-{day:02}"} for row in rows]


def copy_answers(rows: list[Row]) -> list[Row]:
    """The last rater gives what the first gives."""
    first = [row["value"] for row in rows if row["participant"] == "p0"]
    kept = [row for row in rows if row["participant"] != "p5"]
    copied = [row for row in rows if row["participant"] == "p5"]
    return kept + [row | {"value": value} for row, value in zip(copied, first, strict=True)]


def explain_copies(**known: Any) -> list[dict[str, Any]]:
    """What the page of people says of copies that can't be seen."""
    copied = {
        "raters": 5,
        "can_be_seen": True,
        "most_shared": 6,
        "pairs": [],
        "alike": None,
    } | known
    report: Any = SimpleNamespace(content={"kept": {"copied": copied}})
    note = {"code": "copies_unseen", "facts": {"most_shared": 6}}
    return [note] if describe_unseen(report) == NOTES.write(note) else []


def warn_of_versions(number: int) -> list[dict[str, Any]]:
    study: Any = SimpleNamespace(versions=SimpleNamespace(count=lambda: number))
    return list(compare_versions(study, study))


def flag_scores(
    value: Callable[[int, int, int], float],
    *,
    reserved: tuple[float, ...] = (),
    seconds: float = 9,
) -> list[dict[str, Any]]:
    """The flags of six raters who score 60 outputs, in sets of 12; `seconds`: of the first rater,
    for an output."""
    rows = [
        row
        | {
            "trial": item,
            "place_in_set": item % 12,
            "seconds": seconds if row["participant"] == "p0" else 9,
        }
        for row in rate(value, inputs=60, systems="A")
        for item in [int(row["item"][1:])]
    ]
    table = make_table(pd.DataFrame(rows)).results()
    described = check_raters(table, Scale(reserved=reserved))
    answers = {row.rater: 60 for row in described}
    pace = describe_pace(rater=table.rows.participant, seconds=table.rows.seconds)
    flags = [flag for row in described for flag in row.flags]
    flags += [
        flag for raised in flag_answers([described], answers, START).values() for flag in raised
    ]
    return write_flags([*flags, *(see_speed(figures, 60, START) for figures in pace.values())])


def write_flags(flags: Iterable[Flag | None]) -> list[dict[str, Any]]:
    return [{"code": flag.code, "facts": dict(flag.facts)} for flag in flags if flag is not None]


def score_alike(rater: int, item: int, place: int) -> int:
    """Scores on which raters agree, but for a point here and there."""
    return item * 5 % 7 + random.Random(f"{rater} {item}").randrange(2)


def flag_two_criteria(*, alike: bool) -> list[dict[str, Any]]:
    """The flags of raters of whom the first gives both criteria one value, if alike."""
    first = rate(score_alike, systems="A")
    second = rate(
        lambda rater, item, place: score_alike(rater, item, place)
        + (0 if alike and rater == 0 else 2),
        systems="A", criterion="fun",
    )  # fmt: skip
    return write_flags(flag_sameness(make_table(pd.DataFrame(first + second)).results()).values())


def flag_repeats(last: float) -> list[dict[str, Any]]:
    """The flags of five raters by how much their answers change, the last by so much."""
    changes = [0.2, 0.2, 0.2, 0.2, last]
    return write_flags(
        flag_changes(
            {
                f"p{rater}": {"change": Figure(name="change", method="", value=change)}
                for rater, change in enumerate(changes)
            },
            name="change",
        ).values()
    )


def flag_choices(outcomes: Callable[[int, int], int]) -> list[dict[str, Any]]:
    """The flags of five raters who answer 60 times three pairs: -1 is the first, 0 a tie, 1 the
    second, as `outcomes` of rater and number says."""
    pairs = ["AB", "BC", "CA", "BA", "CB", "AC"]
    rows = [
        (f"p{rater}", f"u{number // 3}", *pairs[number % 6], outcomes(rater, number))
        for rater in range(5)
        for number in range(180)
    ]
    rater, unit, first, second, outcome = (list(column) for column in zip(*rows, strict=True))
    looked = [
        check_tie_use(rater=rater, outcome=outcome),
        count_chosen_places(rater=rater, outcome=outcome, first=[-1] * len(rows)),
        count_circles(rater=rater, unit=unit, first=first, second=second, outcome=outcome),
    ]
    return write_flags(flag for each in looked for _, flag in each.values())


def choose_in_order(rater: int, number: int) -> int:
    """A is above B, and B above C; each rater says every fifth time that two are equal."""
    return 0 if number % 5 == rater else (-1, -1, 1, 1, 1, -1)[number % 6]


PLANNED = Plan(
    margins=(Margin(criterion="fit", system="B", relation="not_worse", other="A", margin=0.5),),
    hypotheses=(Hypothesis(criterion="fit", system="B", relation="better", other="A"),),
)

STUDIES: dict[str, Callable[[], Any]] = {
    # one criterion, two systems, six raters, twelve inputs, unless it says otherwise
    "no difference": lambda: analyse(rate(spread(0.1))),
    "difference": lambda: analyse(rate(spread(1.5))),
    "baseline unrated": lambda: analyse(rate(spread(1.5)), plan=Plan(baseline="Z")),
    "hypothesis and margin": lambda: analyse(rate(spread(1.5)), plan=PLANNED),
    "one between two": lambda: analyse(
        rate(spread(0.4, seed=2, noise=1.5), systems="ABC", inputs=8)
    ),
    "two criteria": lambda: analyse(
        rate(spread(1)) + rate(spread(1, seed=9, noise=2), criterion="fun")
    ),
    "two alike criteria": lambda: analyse(rate(spread(1)) + rate(spread(1), criterion="fun")),
    "primary": lambda: analyse(
        rate(spread(1)) + rate(spread(0.2, seed=3), criterion="fun"), plan=Plan(primary="fit")
    ),
    "simulated": lambda: analyse([row | {"origin": "simulated"} for row in rate(spread())]),
    "imported": lambda: analyse([row | {"origin": "imported"} for row in rate(spread())]),
    "unknown raters": lambda: analyse(rate(spread()), raters_known=False),
    "three raters": lambda: analyse(rate(spread(), raters=3)),
    "three raters, simulated": lambda: analyse(
        [row | {"origin": "simulated"} for row in rate(spread(), raters=3)]
    ),
    "two raters": lambda: analyse(rate(spread(), raters=2)),
    "four raters, divisive system": lambda: analyse(
        [row for row in rate_divisive() if row["participant"] < "p4"], kind="slider"
    ),
    "four raters, low ratings skipped": lambda: analyse(
        [row for row in skip_low(0.8) if row["participant"] < "p4"]
    ),
    "three raters, no model": lambda: analyse(rate(lambda rater, item, place: 3 + place, raters=3)),
    "four raters": lambda: analyse(rate(spread(), raters=4)),
    "one rater": lambda: analyse(rate(spread(1), raters=1)),
    "five inputs": lambda: analyse(rate(spread(), inputs=5)),
    "one input": lambda: analyse(rate(spread(), inputs=1)),
    "equal ratings": lambda: analyse(rate(lambda rater, item, place: 4)),
    "narrow": lambda: analyse(rate(spread(0, noise=0.4))),
    "unlinked raters": lambda: analyse(
        rate(spread(), raters=3)
        + [
            row | {"participant": f"q{row['participant']}", "item": f"j{row['item']}"}
            for row in rate(spread(), raters=3)
        ]
    ),
    "nested raters": lambda: analyse(rate_singly()),
    "inputs of one system": lambda: analyse(rate_singly(own=True)),
    "square": lambda: analyse(
        [
            {
                "participant": f"p{rater}",
                "item": f"i{item}",
                "system": system,
                "value": value,
                "criterion": "fit",
            }
            for rater, item, system, value in (
                (0, 0, "A", 1),
                (1, 1, "A", 2),
                (0, 1, "B", 4),
                (1, 0, "B", 4),
            )
        ]
    ),
    "thin system": lambda: analyse(rate(spread()) + rate(spread(), systems="C", raters=1)),
    "gaps": lambda: analyse([row for row in rate(spread()) if random.random() < 2][5:]),
    "few answers": lambda: analyse(
        rate(lambda rater, item, place: (rater + item + place) % 2 * 6 + 1, raters=2, inputs=3)
    ),
    "ranks part": lambda: analyse(rate_apart([[1] * 11 + [-6]] * 6)),
    "raters part": lambda: analyse(rate_apart([[2] * 12, [1] * 12, [0] * 12, [0] * 12])),
    "copied": lambda: analyse(copy_answers(rate(spread(noise=2), inputs=40))),
    "two who agree": lambda: analyse(
        rate(lambda rater, item, place: (item * 5 + place) % 7 + 1, raters=2, inputs=40)
    ),
    "most ignore an item": lambda: analyse(rate(spread()), more=ignore(4)),
    "few ignore an item": lambda: analyse(rate(spread()), more=ignore(1)),
    "magnitudes": lambda: analyse(
        [row | {"standard": 100, "value": row["value"] * 20} for row in rate(spread(1))],
        kind="magnitude",
    ),
    "magnitudes with a slip": lambda: analyse(
        [
            row | {"standard": 100, "value": 90000 if n == 7 else row["value"] * 20}
            for n, row in enumerate(rate(spread(1)))
        ],
        kind="magnitude",
    ),
    "decisions": lambda: analyse(
        rate(lambda rater, item, place: int((rater + item + 2 * place) % 4 > 1)), kind="decision"
    ),
    "numbers": lambda: analyse(rate(spread()), kind="number"),
    "corrected texts": lambda: analyse(rate(spread(1)), kind="post_edit"),
    "marked passages": lambda: report_tsv(mark_passages()),
    "circle": lambda: analyse(
        prefer([("A", "B", 0.8), ("B", "C", 0.8), ("C", "A", 0.8)]), kind="preference"
    ),
    "chain": lambda: analyse(prefer(CHAIN), kind="preference"),
    "order": lambda: analyse(
        prefer([("A", "B", 0.7), ("B", "C", 0.7), ("A", "C", 0.8)]), kind="preference"
    ),
    "always": lambda: analyse(
        prefer([("A", "B", 1), ("B", "C", 1), ("A", "C", 1)]), kind="preference"
    ),
    "apart": lambda: analyse(prefer([("A", "B", 0.6), ("C", "D", 0.6)]), kind="preference"),
    "pair of one rater": lambda: analyse(
        prefer([("A", "B", 0.6)])
        + [row | {"item": f"j{row['item']}"} for row in prefer([("A", "C", 0.6)], raters=1)],
        kind="preference",
    ),
    "inputs of A alone": lambda: analyse(
        [
            {
                "participant": "p0",
                "item": f"i{item}",
                "system": system,
                "criterion": "fit",
                "standard": 100,
                "value": start + step * item,
            }
            for system, number, start, step in (("A", 12, 60, 5), ("B", 6, 40, 1))
            for item in range(number)
        ],
        kind="magnitude",
    ),
    "metric": lambda: analyse(rate(spread()), more=score()),
    "46 systems": lambda: caution(46),
    "4 systems": lambda: caution(4),
    # by the command
    "file": lambda: run(rate(spread(1))),
    "file of talks": lambda: run(
        [row | {"talk": f"t{int(row['item'][1:]) % 4}"} for row in rate(spread(1))]
    ),
    "file of clusters": lambda: run(
        [row | {"cluster": f"t{int(row['item'][1:]) % 4}"} for row in rate(spread(1))]
    ),
    "file of decisions": lambda: run(
        rate(lambda rater, item, place: int((rater + item + 2 * place) % 4 > 1))
    ),
    "file of a slider": lambda: run(
        rate(lambda rater, item, place: (rater * 17 + item * 7 + place) % 100), "--scale", "0-100"
    ),
    "file of numbers": lambda: run(
        rate(lambda rater, item, place: (rater * 17 + item * 7 + place) / 7 - 3)
    ),
    "file of an unknown kind": lambda: run(
        [row | {"scale": "no_such_kind"} for row in rate(spread(1))]
    ),
    "repeat": lambda: run(on_days(rate(spread(1)), 1), beside=on_days(rate(spread(1)), 2)),
    "copy": lambda: run(on_days(rate(spread(1)), 1), beside=on_days(rate(spread(1)), 1)),
    "repeat by few people": lambda: run(
        rate(spread(1)), beside=on_days(rate(spread(1), raters=3), 2)
    ),
    "repeat of other items": lambda: run(
        rate(spread(1)),
        beside=[row | {"item": f"j{row['item']}"} for row in rate(spread(1))],
    ),
    "repeat of more items": lambda: run(rate(spread(1)), beside=rate(spread(1), inputs=14)),
    "repeat of other systems": lambda: run(
        rate(spread(1), systems="ABC"), beside=rate(spread(1), systems="ABD")
    ),
    "repeat of no pair": lambda: run(
        rate(spread(1), systems="AB"), beside=rate(spread(1), systems="AD")
    ),
    "repeat of other criteria": lambda: run(
        rate(spread(1)) + rate(spread(1), criterion="fun"), beside=rate(spread(1))
    ),
    "repeat on another scale": lambda: run(
        [row | {"scale": "likert", "scale_min": 1, "scale_max": 7} for row in rate(spread(1))],
        beside=[
            row | {"scale": "likert", "scale_min": 0, "scale_max": 7} for row in rate(spread(1))
        ],
    ),
    "repeat with another standard": lambda: run(
        [row | {"standard": 100, "value": row["value"] * 20} for row in rate(spread(1))],
        "--protocol",
        "magnitude",
        beside=[row | {"standard": 50, "value": row["value"] * 10} for row in rate(spread(1))],
    ),
    "repeat with other texts": lambda: warn_of_both(
        {
            "first": {"outputs": 9, "criteria": []},
            "second": {"outputs": 9, "criteria": []},
            "criteria": [],
            "common": {
                "outputs": 7,
                "changed": 2,
                "same_answers": 0,
                "only_first": [],
                "only_second": [],
            },
        },
        [[], []],
    ),
    # of the plan and of collection
    "late primary": lambda: doubt("primary"),
    "late margins": lambda: doubt("margins"),
    "late rule": lambda: doubt("exclusion_rule"),
    "file of unknown pairs": lambda: run(write_preferences(3)),
    "file of pairs by ending": lambda: run(write_preferences(15)),
    "file of other columns": lambda: run(
        [{"who": row.pop("participant"), **row} for row in rate(spread(1), inputs=4, raters=3)],
        "--map",
        "who=participant",
    ),
    "file, one rater": lambda: run(rate(spread(1), inputs=4, raters=3), "--rater", "p1"),
    "file, first ratings": lambda: run(rate(spread(1), inputs=4, raters=3), "--first", "2"),
    "careful scores": lambda: flag_scores(score_alike, reserved=(3,)),
    "fast scores": lambda: flag_scores(score_alike, seconds=2),
    "one value": lambda: flag_scores(
        lambda rater, item, place: 9 if rater == 0 else score_alike(rater, item, place)
    ),
    "careless scores": lambda: flag_scores(
        lambda rater, item, place: (
            score_alike(rater, item, place) if rater else 6 + item / 10 - item % 12 * 2 / 3
        )
    ),
    "odd order": lambda: flag_scores(
        lambda rater, item, place: (
            score_alike(rater, item, place) if rater else 9 - score_alike(rater, item, place)
        )
    ),
    "rare points": lambda: flag_scores(
        lambda rater, item, place: (
            3 if rater == 0 and item % 2 else score_alike(rater, item, place)
        ),
        reserved=(3,),
    ),
    "criteria alike": lambda: flag_two_criteria(alike=True),
    "criteria apart": lambda: flag_two_criteria(alike=False),
    "gold missed": lambda: write_flags(
        [check_gold(rater=["p0"] * 5, is_right=[True] + [False] * 4)["p0"][1]]
    ),
    "gold met": lambda: write_flags([check_gold(rater=["p0"] * 5, is_right=[True] * 5)["p0"][1]]),
    "changed answers": lambda: flag_repeats(1.5),
    "steady answers": lambda: flag_repeats(0.2),
    "careful choices": lambda: flag_choices(choose_in_order),
    "ties only": lambda: flag_choices(
        lambda rater, number: choose_in_order(rater, number) if rater else 0
    ),
    "no ties": lambda: flag_choices(
        lambda rater, number: choose_in_order(rater, number if rater else number - number % 5 + 1)
    ),
    "first place": lambda: flag_choices(
        lambda rater, number: choose_in_order(rater, number) if rater else -1
    ),
    "copies unseen": lambda: explain_copies(can_be_seen=False),
    "copies would be seen": lambda: explain_copies(),
    "two versions": lambda: warn_of_versions(2),
    "one version": lambda: warn_of_versions(1),
}


# of each code a study that has it, and one that must not
CASES: dict[str, tuple[str, str]] = {
    "seed": ("repeat", "no difference"),
    "simulated": ("simulated", "no difference"),
    "imported": ("imported", "no difference"),
    "raters_unknown": ("unknown raters", "no difference"),
    "unlinked": ("unlinked raters", "gaps"),
    "few_raters": ("repeat by few people", "repeat"),
    "few_clusters": ("file of clusters", "file"),
    "clusters_not_named": ("file of talks", "file"),
    "few_items": ("five inputs", "narrow"),
    "across": ("repeat of other criteria", "repeat"),
    "ignored_by_most": ("most ignore an item", "few ignore an item"),
    "too_alike": ("two alike criteria", "primary"),
    "copied": ("copied", "no difference"),
    "both_alike": ("two who agree", "ranks part"),
    "copies_unseen": ("copies unseen", "copies would be seen"),
    "unknown_kind": ("file of an unknown kind", "difference"),
    "read_as_points": ("file", "file of numbers"),
    "read_as_slider": ("file of a slider", "file"),
    "read_as_numbers": ("file of numbers", "file"),
    "read_as_decisions": ("file of decisions", "file"),
    "late_primary": ("late primary", "late margins"),
    "late_margins": ("late margins", "late rule"),
    "late_rule": ("late rule", "late primary"),
    "nested_raters": ("nested raters", "unlinked raters"),
    "one_item": ("one input", "five inputs"),
    "no_shared_input": ("inputs of one system", "nested raters"),
    "no_baseline": ("baseline unrated", "difference"),
    "no_direction": ("numbers", "no difference"),
    "thin_systems": ("thin system", "no difference"),
    "thin_pairs": ("pair of one rater", "chain"),
    "undetermined": ("square", "few answers"),
    "many_pairs": ("46 systems", "4 systems"),
    "bootstrap_instead_of_model": ("ranks part", "narrow"),
    "models_disagree": ("ranks part", "no difference"),
    "possible_slips": ("magnitudes with a slip", "magnitudes"),
    "separated": ("always", "apart"),
    "disconnected": ("apart", "decisions"),
    "model_misfit": ("circle", "order"),
    "through_others": ("chain", "order"),
    "weighing": ("inputs of A alone", "one rater"),
    "same_answers": ("copy", "repeat"),
    "no_shared_outputs": ("repeat of other items", "repeat"),
    "other_items": ("repeat of more items", "repeat"),
    "other_texts": ("repeat with other texts", "repeat"),
    "only_first": ("repeat of other systems", "repeat of more items"),
    "only_second": ("repeat of other systems", "repeat of more items"),
    "other_criteria": ("repeat of other criteria", "repeat"),
    "other_scale": ("repeat on another scale", "repeat"),
    "other_standard": ("repeat with another standard", "repeat"),
    "versions": ("two versions", "one version"),
    "nothing_repeated": ("repeat of no pair", "repeat of other systems"),
    "upheld": ("repeat of other systems", "repeat of no pair"),
    "repeated_score": ("repeat", "no difference"),
    "repeated_cv": ("repeat", "no difference"),
    "repeated_intervals": ("repeat", "repeat on another scale"),
    "repeated_correlations": ("repeat", "no difference"),
    "repeated_agreement": ("repeat", "no difference"),
    "repeated_findings": ("repeat", "no difference"),
    "pairs_unknown": ("file of unknown pairs", "file"),
    "pairs_by_ending": ("file of pairs by ending", "file of unknown pairs"),
    "columns_read": ("file of other columns", "file"),
    "only_raters": ("file, one rater", "file"),
    "only_first_ratings": ("file, first ratings", "file"),
    "straight_lining": ("one value", "careful scores"),
    "speeder": ("fast scores", "careful scores"),
    "disagreement": ("odd order", "careful scores"),
    "offset": ("one value", "careful scores"),
    "reserved_points": ("rare points", "careful scores"),
    "drift_trial": ("careless scores", "careful scores"),
    "drift_place": ("careless scores", "careful scores"),
    "identical_criteria": ("criteria alike", "criteria apart"),
    "gold": ("gold missed", "gold met"),
    "inconsistent": ("changed answers", "steady answers"),
    "always_ties": ("ties only", "careful choices"),
    "never_ties": ("no ties", "careful choices"),
    "one_place": ("first place", "careful choices"),
    "circles": ("first place", "careful choices"),
    "agreement_in_full": ("chain", "no difference"),
    "all_equal": ("equal ratings", "no difference"),
    "ceiling": ("raters part", "no difference"),
    "ceiling_of_metrics": ("metric", "no difference"),
    "correction": ("no difference", "primary"),
    "correction_across": ("two criteria", "no difference"),
    "correction_primary": ("primary", "no difference"),
    "decision_yes": ("hypothesis and margin", "no difference"),
    "equal_spacing": ("no difference", "ranks part"),
    "few_people": ("file of unknown pairs", "no difference"),
    "finding": ("order", "no difference"),
    "finding_crossed": ("one between two", "no difference"),
    "finding_none": ("no difference", "file"),
    "finding_nothing": ("file of unknown pairs", "no difference"),
    "finding_single": ("file", "no difference"),
    "finding_untested": ("one rater", "no difference"),
    "first_place": ("chain", "no difference"),
    "ignored": ("most ignore an item", "no difference"),
    "joint": ("order", "no difference"),
    "kappas": ("no difference", "chain"),
    "missing_at_random": ("four raters, low ratings skipped", "no difference"),
    "missing_by_system": ("four raters, low ratings skipped", "no difference"),
    "model": ("no difference", "ranks part"),
    "not_equal": ("no difference", "file"),
    "other_averages": ("no difference", "chain"),
    "other_sizes": ("one rater", "no difference"),
    "other_test": ("ranks part", "no difference"),
    "own_error": ("one between two", "no difference"),
    "own_errors_agree": ("thin system", "no difference"),
    "own_errors_differ": ("one between two", "no difference"),
    "strengths": ("chain", "no difference"),
    "tests": ("no difference", "file of unknown pairs"),
    "tests_agree": ("no difference", "ranks part"),
    "tests_differ": ("ranks part", "no difference"),
    "uncorrected_only": ("chain", "no difference"),
    "variance_parts": ("no difference", "ranks part"),
    "edits_method": ("corrected texts", "marked passages"),
    "errors_in_full": ("marked passages", "corrected texts"),
    "penalties": ("marked passages", "corrected texts"),
    "penalty_method": ("marked passages", "corrected texts"),
    "places": ("marked passages", "corrected texts"),
    "places_method": ("marked passages", "corrected texts"),
}

# of each code what differs between two studies on a site
SITE_CASES: dict[str, dict[str, Any]] = {
    "other_instructions": {"instructions": "Be quick."},
    "other_language": {"language": "de"},
    "other_settings": {"k": 5},
    "other_options": {"options": {"standard": 50}},
    "other_wording": {"protocol": "pairwise"},
}


@cache
def get_study(name: str) -> Any:
    """What is made of a study, analysed once by all processes of a run."""
    return json.loads(made_once(f"audit {name}", lambda: json.dumps(STUDIES[name]()).encode()))


@cache
def find_codes(study: str) -> frozenset[str]:
    """The codes of what is said of a study; each is a sentence without a gap."""
    made = get_study(study)
    if isinstance(made, dict) and "raters" in made:
        blocks = make_bare_document(made).blocks
        told = {one.code: one.text for one in blocks if isinstance(one, Sentence)}
    else:
        told = {note["code"]: _write(note) for note in find_notes(made)}
    for text in told.values():
        assert text[0] == text[0].upper() or "{" not in text, text
        assert not {"nan", "None", "inf"} & set(text.replace("(", " ").split()), text
    return frozenset(told)


def _write(note: dict[str, Any]) -> str:
    if note["code"] in FLAGS.by_code:
        return FLAGS.write(note)
    if note["code"] in NOTES_OF_TWO.by_code or "study" in note:
        return write_note(note)
    return NOTES.write(note)


# of every report
ALWAYS = {"agreement", "agreement_method", "counted", "scope", "software"}
# what needs a study on a site, a plan or labels of a judge; each has a test of its section
ON_SITES = {
    "comments", "comments_by_system", "comparisons_of_options", "computed", "copied",
    "counts", "data_hash", "deviations_none", "exclusions", "exclusions_none",
    "finding_of_everybody", "fine", "imports", "instrument_changed", "looked", "low_alpha",
    "method", "metrics", "no_plan", "no_rule", "notes", "order", "own_examples",
    "judge_methods", "judge_not_used", "judge_used", "plan_frozen", "planned", "preference",
    "raters_met", "reasons", "shown_unknown",
    "simulated", "unfinished", "verdict_changes", "verify",
}  # fmt: skip
SECTIONS = Path(sections.__file__).parent


def list_codes() -> set[str]:
    """The codes of sentences that sections of a report name."""
    calls = (
        node
        for path in SECTIONS.glob("*.py")
        if path.name != "judges.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Sentence", "_warn")
    )
    return {one.args[0].value for one in calls if isinstance(one.args[0], ast.Constant)}


def test_every_sentence_has_a_study_that_has_it() -> None:
    registered = {*NOTES.by_code, *FLAGS.by_code, *NOTES_OF_TWO.by_code}
    seen = {*CASES, *SITE_CASES, *ALWAYS}

    assert registered - seen == set()
    assert list_codes() - seen == ON_SITES - seen


# The suite looks at the sentences of the studies that most of them share: each study is analysed.
USES = Counter(name for names in CASES.values() for name in names)
SHARED = {name for name, _ in USES.most_common(26)}
# No other test of the suite has these.
ALONE = {
    "many_pairs", "no_baseline", "no_shared_input", "only_first", "only_second",
    "other_criteria", "too_alike", "unlinked", "upheld",
}  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            code,
            marks=[] if code in ALONE or SHARED.issuperset(names) else [pytest.mark.torture],
        )
        for code, names in CASES.items()
    ],
)
def test_a_sentence_is_printed_where_its_facts_hold_and_not_beside(code: str) -> None:
    study, beside = CASES[code]

    assert code in find_codes(study)
    assert code not in find_codes(beside)


@pytest.mark.parametrize("code", SITE_CASES)
def test_what_two_studies_differ_in_is_told(make_study: Callable[..., Study], code: str) -> None:
    known = SITE_CASES[code]
    first, same = make_study(items=1), make_study(items=1)
    if "protocol" in known:
        other = make_study(items=1, **known)
    else:
        other = make_study(items=1)
        for name, value in known.items():
            setattr(other, name, value)
        other.save()

    assert code in {note["code"] for note in warn_of_texts(first, other)}
    assert not warn_of_texts(first, same)


@pytest.mark.parametrize(
    ("study", "code", "is_claimed"),
    [
        ("three raters", "", True),
        ("four raters", "", True),
        ("two raters", "", False),
        ("three raters, simulated", "simulated", False),
        ("three raters, no model", "bootstrap_instead_of_model", False),
        ("four raters, divisive system", "own_error_differs", False),
        ("four raters, low ratings skipped", "missing_by_system", False),
    ],
)
def test_the_error_rate_is_claimed_only_where_each_condition_holds(
    study: str, code: str, is_claimed: bool
) -> None:
    notes = list(find_notes(get_study(study)))

    (few,) = [note for note in notes if note["code"] == "few_raters"]
    assert few["facts"]["keeps_error_rate"] == is_claimed
    assert not code or code in {note["code"] for note in notes}


@pytest.mark.parametrize(
    ("answers", "asked_later", "has_more"), [(2, 0, True), (4, 3, True), (4, 0, False)]
)
def test_who_looked_and_went_on_claims_no_error_rate(
    answers: int, asked_later: int, has_more: bool
) -> None:
    look = replace(LOOK, answers=answers, asked_later=asked_later)
    note = {"code": "few_raters", "facts": {"raters": 3, "keeps_error_rate": True}}

    assert has_gone_on(look, done=4) == has_more
    assert not has_gone_on(None, done=4)
    assert withdraw_claims([note])[0]["facts"] == {"raters": 3, "keeps_error_rate": False}


@pytest.mark.parametrize(
    ("code", "facts", "sentence"),
    [
        (
            "imported",
            {"ratings": 1, "total": 5},
            "1 of 5 ratings is imported, so it was collected elsewhere.",
        ),
    ],
)
def test_one_of_a_thing_is_written_in_the_singular(code, facts, sentence):
    assert NOTES.write({"code": code, "facts": facts}) == sentence
