"""A human evaluation datasheet, answered as far as the study knows, open where only people do.

It follows the sections and topics of HEDS 3.0 (Belz and Thomson 2024), in words of its own: the
official form is what is filled in and handed over.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from evalsite.lib.rating_columns import name_option
from evalsite.results.analysis_plan.wording import (
    describe_deviation,
    describe_rules,
    describe_size,
    plan_in_words,
)
from evalsite.results.models import Report
from evalsite.results.report.prose import list_entries, render_prose, write_prose
from evalsite.results.report.sentences import write_direction, write_sentence
from evalsite.results.report.study_facts import Asked, Facts, collect_facts, make_context
from evalsite.results.report.wording import (
    is_about_pairs,
    label_warnings,
    name_figure,
    write_interval,
    write_value,
)
from evalsite.studies.models import Study

FORM = "https://nlp-heds.github.io"
_OF_QUALITY = ("Exclusion rules", "Exclusion rule", "Deviations")


@dataclass(frozen=True)
class Entry:
    """A topic, and its answer; None where only people know it."""

    topic: str
    answer: str | None = None

    @property
    def lines(self) -> list[str]:
        """Return the lines of an answer of several; [] of any other."""
        lines = (self.answer or "").strip().splitlines()
        return lines if len(lines) > 1 else []


@dataclass(frozen=True)
class Chapter:
    """A section of the form."""

    number: str
    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Datasheet:
    """Return all sections, and what belongs with them."""

    title: str
    about: str
    form: str
    ratings_sha256: str
    cautions: tuple[str, ...]
    chapters: tuple[Chapter, ...]


def fill_datasheet(study: Study, report: Report) -> Datasheet:
    """Return every topic of the form, with what the study and its report know."""
    facts, found = collect_facts(study, report), report.content["kept"]
    rule = describe_rules(facts.plan) if facts.plan else ""
    deviations = " ".join(map(describe_deviation, (facts.plan or {}).get("deviations") or ()))
    shared = make_context(facts) | {"rule": rule, "deviations": deviations.rstrip(".")}
    # the rest of the plan; rules and departures are under quality assurance
    planned = [
        f"{name}: {words}"
        for name, words in plan_in_words(facts.plan, criteria=len(facts.criteria))
        if facts.plan.get("frozen_at") and name not in _OF_QUALITY
    ]
    options = {one.key: one.scale.list_options() for one in study.config.criteria}
    inputs = list(dict.fromkeys(f"{one.heading} ({one.kind})" for one in study.config.columns))

    def fill(number: str, title: str, name: str, **known: Any) -> Chapter:
        entries = list_entries(f"datasheet/{name}.txt", shared | known)
        answers = tuple(Entry(topic, words or None) for topic, words in entries)
        return Chapter(number, title, answers)

    return Datasheet(
        title=facts.title,
        about=write_prose("datasheet/about.txt", {}),
        form=FORM,
        ratings_sha256=facts.sha256,
        cautions=tuple(label_warnings(found)),
        chapters=(
            fill("1", "Main reference and supplementary resources", "resources",
                 description=study.description),
            fill("2", "Evaluated systems", "systems", inputs=inputs),
            fill("3.1", "Sample of system outputs", "outputs", power=_list_power(found),
                 units=_count_units(found), is_about_pairs=is_about_pairs(found),
                 size=describe_size(facts.plan) if facts.plan.get("size") else ""),
            fill("3.2", "Evaluators", "evaluators"),
            fill("3.3", "Experimental design", "design", planned=planned),
            *(
                fill(
                    "4", f"Quality criterion: {asked.label}", "criterion",
                    has_words=not study.is_collected_elsewhere,
                    **collect_criterion(asked, options.get(asked.key, ()), found, facts),
                )
                for asked in facts.criteria
            ),
            fill("5", "Ethics", "ethics"),
        ),
    )  # fmt: skip


# --- facts of sections --------------------------------------------------------------------


def _count_units(found: dict[str, Any]) -> int | None:
    """Count the outputs, or the comparisons, that were rated; None if that isn't known."""
    known = (one["n"] for one in found["design"] if one["name"] == "ratings_per_output")
    return next((count["outputs"] for count in known if "outputs" in count), None)


def _list_power(found: dict[str, Any]) -> list[str]:
    """List what a new study like this one would find on each criterion."""
    return [
        f"{criterion['label']}: {write_sentence(note)}"
        for criterion in found["criteria"]
        for note in criterion.get("conclusions", ())
        if note["code"] in ("detectable", "nothing_detectable")
    ]


def collect_criterion(
    asked: Asked, options: Iterable[tuple[str, str]], found: dict[str, Any], facts: Facts
) -> dict[str, Any]:
    """Describe one criterion for the sheet: of a choice each option; of texts there is nothing."""
    starts = {asked.key: ""}
    starts |= {name_option(asked.key, key): f"{label}: " for key, label in options}
    parts = [(starts[one["key"]], one) for one in found["criteria"] if one["key"] in starts]
    # what both passes of the same raters say
    repeats = [
        figure
        for figure in found["together"].get("repeats") or ()
        if figure["group"]["criterion"] == asked.key
    ]
    return {
        "asked": asked,
        "direction": write_direction(asked.better),
        "notes": list(
            dict.fromkeys(write_sentence(note) for _, one in parts for note in one["notes"])
        ),
        "findings": [
            f"{of}{write_sentence(pair['finding'])}" for of, one in parts for pair in one["pairs"]
        ],
        "comparisons": "all pairs of systems" if facts.plan else "",
        "agreement": [
            _write_figure(figure) | {"name": f"{of}{name_figure(figure)}"}
            for of, one in parts
            for figure in one["agreement"]
            if figure["value"] is not None
        ],
        "repeats": _write_figures(repeats),
    }


def _write_figures(figures: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [_write_figure(figure) for figure in figures if figure["value"] is not None]


def _write_figure(figure: dict[str, Any]) -> dict[str, str]:
    return {
        "name": name_figure(figure),
        "value": write_value(figure),
        "interval": write_interval(figure),
    }


# --- files --------------------------------------------------------------------------------


def list_open(sheet: Datasheet) -> list[str]:
    """Return the unanswered topics, each with its section."""
    return [
        f"{chapter.number} {chapter.title}: {entry.topic}"
        for chapter in sheet.chapters
        for entry in chapter.entries
        if entry.answer is None
    ]


def write_json(sheet: Datasheet) -> str:
    """Return the sheet for a program; an open answer is null."""
    data = asdict(sheet) | {"open": list_open(sheet)}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write_markdown(sheet: Datasheet) -> str:
    """Return the sheet for people; open topics are in their places and again at the end."""
    text = render_prose("datasheet/sheet.md", {"sheet": sheet, "open": list_open(sheet)})
    return text.strip() + "\n"
