"""A finished plan in words: its designs, what they find and take, and what to know of them."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, exp
from typing import Any

from evalsite.analysis.families import Planner, find_planned, list_planners
from evalsite.core.jobs.models import Job
from evalsite.instruments.schema import Instrument
from evalsite.results.document.figures import hold_together
from evalsite.results.power.design_search import FEW_RATERS, TARGET, count_times_wider, find_source
from evalsite.results.power.words import PLANNERS, SOURCES
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of, format_money

_PARTS = {
    "rater": "people",
    "item": "inputs",
    "item_system": "inputs by system",
    "rater_system": "people by system",
    "residual": "residual",
}
_RAISE = "Plan with more people, or raise the limit."
_WIDTHS: dict[str, Callable[[float], str]] = {
    "factor": lambda half: f"×/÷ {exp(half):.2f}",
    "share": lambda half: f"± {_percent(half)}",
    "units": lambda half: f"± {half:.2f}",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One design: what it finds, and what it takes."""

    items: str
    raters: str
    per_output: str
    power: str
    alone: str
    best: str
    width: str
    sign_error: str
    exaggeration: str
    answers: str
    sets: str
    cost: str
    is_chosen: bool  # the smallest that finds the difference often enough


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a design takes of people and money."""

    answers: int
    sets: int
    cost: Decimal | None


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A finished plan in words."""

    asked: str
    sentence: str
    rows: list[Row]
    cautions: list[str]
    notes: list[str]
    has_cost: bool
    has_several: bool  # comparisons, so that correction makes a difference


def show_plan(study: Study, job: Job) -> Planned:
    """Return the plan of a job that is done."""
    choice, result = job.params, job.result
    planner = list_planners()[choice["scale"]]
    works = [estimate_design(study, choice, row) for row in result["rows"]]
    chosen = find_smallest(result["rows"], works)
    return Planned(
        asked=hold_together(_describe_difference(study, choice)),
        sentence=hold_together(_describe_finding(study, choice, result, works, chosen)),
        rows=[
            _show_row(study, planner, row, work, number == chosen)
            for number, (row, work) in enumerate(zip(result["rows"], works, strict=True))
        ],
        cautions=_list_cautions(study, choice, result),
        notes=list(map(hold_together, _list_notes(choice, result))),
        has_cost=choice["price"] is not None,
        has_several=choice.get("comparisons", 1) + choice.get("further_tests", 0) > 1,
    )


def list_plan(study: Study, job: Job) -> list[list[Any]]:
    """Return a head and a row for each design of a plan that is done, with every digit."""
    choice, result = job.params, job.result
    known = {
        "criterion": choice["criterion"], "asked": choice["asked"], "source": choice["source"],
        "draws": result["draws"], "alpha": result["alpha"], "seed": result["seed"],
    }  # fmt: skip
    rows = []
    for row in result["rows"]:
        work = estimate_design(study, choice, row)
        power, low, high = row["power"]
        rows.append(
            {key: row[key] for key in ("items", "raters", "per_output")}
            | {"power": power, "power_low": low, "power_high": high, "interval_width": row["width"]}
            | {"power_alone": row.get("alone"), "power_best": row.get("best")}
            | {key: row[key] for key in ("sign_error", "exaggeration", "difference")}
            | {"answers": work.answers, "sets": work.sets, "cost": work.cost}
            | known
        )
    head = list(rows[0]) if rows else ["items"]
    return [head, *(["" if row[key] is None else row[key] for key in head] for row in rows)]


def estimate_design(study: Study, choice: dict[str, Any], row: dict[str, Any]) -> Work:
    """Return the answers, sets and cost of a design, for all systems of the study."""
    answers = row["items"] * _items_per_input(study.config, choice) * row["per_output"]
    # everyone takes a set at least
    sets = max(row["raters"], ceil(answers / study.set_size))
    price = choice["price"]
    return Work(answers=answers, sets=sets, cost=None if price is None else sets * Decimal(price))


def _items_per_input(config: Instrument, choice: dict[str, Any]) -> int:
    """Return how many items show the outputs of all systems for one input."""
    systems = int(choice["systems"])
    if find_planned(choice["scale"]).compares:
        return systems * (systems - 1) // 2
    return ceil(systems / config.item.outputs.most)


def find_smallest(rows: list[dict[str, Any]], works: list[Work]) -> int | None:
    """The place of the design that takes the least of those that find the difference enough."""
    enough = [
        (work.cost or 0, work.answers, work.sets, number)
        for number, (row, work) in enumerate(zip(rows, works, strict=True))
        if row["power"][0] >= TARGET
    ]
    return min(enough)[-1] if enough else None


# --- sentences ----------------------------------------------------------------------


def _describe_difference(study: Study, choice: dict[str, Any]) -> str:
    asked = choice["asked"]
    label = study.config.criterion_by_key[choice["criterion"]].label
    words = PLANNERS[choice["scale"]].difference
    return words.format(asked=asked, label=label)


def _describe_finding(
    study: Study,
    choice: dict[str, Any],
    result: dict[str, Any],
    works: list[Work],
    chosen: int | None,
) -> str:
    asked = _describe_difference(study, choice)
    if not result["rows"]:
        most = max(row["tried"] for row in result["missing"])
        return (
            f"With so few people no number of inputs finds {asked} 8 times in 10: "
            f"{most:,} were tried. Plan with more people, or for a larger difference."
        )
    if chosen is None:
        best = max(result["rows"], key=lambda row: row["power"][0])
        return (
            f"None of these designs finds {asked} 8 times in 10. The best of them finds it in "
            f"{_percent(best['power'][0])} of studies. Plan with more inputs and people, "
            "or for a larger difference."
        )
    row, work = result["rows"][chosen], works[chosen]
    each = "" if row["per_output"] < row["raters"] else " (everyone rates everything)"
    cost = "" if work.cost is None else f", {format_money(work.cost, study.currency)}"
    takes = f"{count_of(work.answers, 'answer')} in {count_of(work.sets, 'set')}{cost}"
    return (
        f"To find {asked} 8 times in 10, plan for {count_of(row['items'], 'input')}, "
        f"{row['raters']:,} people and {count_of(row['per_output'], 'rating')} of each "
        f"output{each}: {takes}."
    )


def _list_cautions(study: Study, choice: dict[str, Any], result: dict[str, Any]) -> list[str]:
    cautions = []
    if choice["raters"][0] < FEW_RATERS:
        cautions.append(
            "With fewer than 5 people, no test says much about other people: raters who "
            "differ in taste are then too few to average over."
        )
    if result["rows"]:
        cautions += [
            f"With {entry['raters']} people and {count_of(entry['per_output'], 'rating')} of "
            f"each output even {entry['tried']:,} inputs were not enough. Only more people help."
            for entry in result["missing"]
        ]
    if simulated := (choice["model"] or {}).get("simulated"):
        cautions.append(
            f"The results hold {count_of(simulated, 'simulated rating')}: how much those vary is "
            "made up and says nothing about people. Plan with typical values, or with real ratings."
        )
    people = (choice["model"] or {}).get("raters")
    if people is not None and people < FEW_RATERS:
        cautions.append(
            f"This rests on results by {count_of(people, 'person', 'people')}. From fewer than "
            f"{FEW_RATERS} it isn't known how much people differ, so the plan may be far off. "
            "Compare it with typical values."
        )
    if (choice["model"] or {}).get("is_merged"):
        cautions.append(
            "In the results, each output has one rating, so inputs and noise can't be "
            "separated: more ratings of each output help less than shown here."
        )
    if study.config.item.outputs.most == 1 and study.groups != Study.Groups.TOGETHER:
        cautions.append(
            "This holds where everyone who rates an input rates the outputs of all systems. In "
            "this study an item shows one output: keep its groups together (Settings), or less "
            "is found than shown here."
        )
    return [
        *cautions,
        *_compare_designs(choice, result["rows"]),
        *_warn_of_limit(study, choice, result["rows"]),
    ]


def _compare_designs(choice: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """Return what correction costs, and where more people find more with fewer ratings."""
    notes = []
    compared = choice.get("comparisons", 1) + choice.get("further_tests", 0)
    best = max(rows, key=lambda row: row["power"][0], default=None)
    if best is not None and compared > 1 and best.get("alone", 0) - best["power"][0] >= 0.1:
        notes.append(
            f"You compare {compared} pairs: after correction the power for one pair falls from "
            f"{_percent(best['alone'])} to {_percent(best['power'][0])}. Naming fewer "
            "questions or a main one in the analysis plan keeps more of it."
        )
    for more in rows:
        for fewer in rows:
            saves = more["items"] * more["per_output"] < fewer["items"] * fewer["per_output"]
            if saves and more["raters"] > fewer["raters"] and more["power"][0] > fewer["power"][0]:
                notes.append(
                    f"{more['raters']} people with {_count_ratings(more)} have "
                    f"{_percent(more['power'][0])} power; {fewer['raters']} people with "
                    f"{_count_ratings(fewer)} have {_percent(fewer['power'][0])}. Spread the same "
                    "work over more people."
                )
                return notes
    return notes


def _count_ratings(row: dict[str, Any]) -> str:
    return f"{count_of(row['items'] * row['per_output'], 'rating')} of each system"


def _warn_of_limit(study: Study, choice: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """Return which designs ask for more sets of a person than the study allows, if any do."""
    if not study.max_sets:
        return []
    most = study.max_sets * study.set_size
    above = [
        row for row in rows if estimate_design(study, choice, row).answers > row["raters"] * most
    ]
    if not above:
        return []
    named = "; ".join(
        f"{count_of(row['items'], 'input')} with {row['raters']:,} people and "
        f"{count_of(row['per_output'], 'rating')} of each output"
        for row in above
    )
    limit = f"more than the {count_of(study.max_sets, 'set')} that one person may take here"
    if len(above) == len(rows) > 1:
        return [f"All of these designs need {limit}. {_RAISE}"]
    return [f"Some designs need {limit}: {named}. {_RAISE}"]


def _list_notes(choice: dict[str, Any], result: dict[str, Any]) -> list[str]:
    planner = list_planners()[choice["scale"]]
    spread = ", ".join(
        f"{words} {result['parts'][key]:.2f}"
        for key, words in _PARTS.items()
        if key in planner.parts
    )
    return [
        f"Each design was simulated {result['draws']:,} times (seed {result['seed']}): one system "
        "differs from all others, which are equal. Tested at the "
        f"{_percent(result['alpha'])} level as results are, raters and inputs both as samples. "
        f"{_describe_correction(choice)}",
        f"Standard deviations in {PLANNERS[planner.simulation].unit}: {spread}. "
        f"From: {_describe_source(choice)}.",
        "Found in: the share of studies that find this system's difference from one other, after "
        "correction (power), in brackets the 95% interval that so many simulations leave. Before "
        "correction: the same for that comparison by itself. Above all: the share in which the "
        "system is above every other. Interval: how far the 95% interval of a "
        "difference reaches on either side, on average. Wrong sign: of the significant studies, "
        "those that favour the wrong system. Overstated: how many times the true difference the "
        "significant ones show on average (Gelman and Carlin 2014).",
        "Everyone who rates an input rates the outputs of both systems. Answers are for all "
        "systems of the study. Sets are full, and everyone takes one or more. The cost is without "
        "bonus and without the fee of a platform.",
        *_describe_scale(choice, result),
    ]


def _describe_correction(choice: dict[str, Any]) -> str:
    """Return how many comparisons there are, and how p values are corrected."""
    compared = choice.get("comparisons", 1)
    further = choice.get("further_tests", 0)
    if compared + further == 1:
        return "One comparison, so nothing is corrected."
    pairs = "that the analysis plan names" if choice.get("named") else "of all pairs"
    words = f"Holm's correction covers {count_of(compared, 'comparison')} {pairs}"
    if further:
        words += (
            f" and {further} on the other criteria, because the analysis plan names no primary "
            "criterion"
        )
    return f"{words}."


def _describe_source(choice: dict[str, Any]) -> str:
    """Return where the standard deviations are from."""
    source = find_source(choice["scale"], choice["source"])
    if source is None:
        return "the newest results of this study"
    wider = count_times_wider(choice, source)
    times = "" if wider == 1 else f"; multiplied by {wider:.1f}, as this scale is wider"
    return f"{SOURCES[choice['scale'], source.key][1]}{times}"


def _describe_scale(choice: dict[str, Any], result: dict[str, Any]) -> list[str]:
    words = PLANNERS[choice["scale"]]
    notes = []
    if words.note:
        notes.append(words.note.format(ties=_percent(choice["tie_share"])))
    if words.note_on_design and result["rows"]:
        shown = result["rows"][0]["difference"]
        notes.append(words.note_on_design.format(points=choice["points"], difference=shown))
    return notes


# --- cells --------------------------------------------------------------------------


def _show_row(
    study: Study, planner: Planner, row: dict[str, Any], work: Work, is_chosen: bool
) -> Row:
    power, low, high = row["power"]
    much = row["exaggeration"]
    return Row(
        items=count_of(row["items"], "input"),
        raters=f"{row['raters']:,}",
        per_output=f"{row['per_output']:,}",
        power=f"{_percent(power)} ({low * 100:.0f} to {high * 100:.0f})",
        alone=_percent_if_known(row.get("alone")),
        best=_percent_if_known(row.get("best")),
        width=_WIDTHS[planner.width](row["width"] / 2),
        sign_error="none found" if row["sign_error"] is None else _percent(row["sign_error"]),
        exaggeration="none found" if much is None else f"× {much:.2f}",
        answers=f"{work.answers:,}",
        sets=f"{work.sets:,}",
        cost="" if work.cost is None else format_money(work.cost, study.currency),
        is_chosen=is_chosen,
    )


def _percent_if_known(share: float | None) -> str:
    return "" if share is None else _percent(share)


def _percent(share: float) -> str:
    return hold_together(f"{share * 100:.0f}%" if share == 0 or share >= 0.01 else "< 1%")


def describe_size(study: Study, choice: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return the size as plain data, with the words that reports print."""
    compared = choice.get("comparisons", 1) + choice.get("further_tests", 0)
    correction = f", after correction for {compared} comparisons" if compared > 1 else ""
    words = (
        f"{count_of(row['items'], 'input')}, {row['raters']:,} people, "
        f"{count_of(row['per_output'], 'rating')} of each output: "
        f"{row['power'][0] * 100:.0f}% power to find {_describe_difference(study, choice)}"
        f"{correction}"
    )
    known = ("items", "raters", "per_output", "power", "alone", "best", "width")
    return {
        "words": words,
        "criterion": choice["criterion"],
        "asked": choice["asked"],
        "systems": choice["systems"],
        "comparisons": compared,
        **{key: row[key] for key in known if key in row},
    }
