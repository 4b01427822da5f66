"""A human evaluation datasheet, answered as far as the study knows, open where only people do.

It follows the sections and topics of HEDS 3.0 (Belz and Thomson 2024), in words of its own: the
official form is what is filled in and handed over.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from evalsite.results.analysis_plan.wording import describe_comparisons, describe_rule
from evalsite.results.models import Report
from evalsite.results.report.study_facts import (
    Asked,
    Facts,
    collect_facts,
    describe_caps,
    describe_checks,
    describe_collection,
    describe_dates,
    describe_exclusions,
    describe_left_out,
    describe_origins,
    describe_pay,
    describe_practice,
    describe_repeats,
)
from evalsite.results.report.wording import label_warnings, name_figure, write_interval, write_value
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of, list_of

FORM = "https://nlp-heds.github.io"
_ABOUT = (
    "Pre-filled for the Human Evaluation Datasheet HEDS 3.0 (Belz and Thomson 2024, arXiv "
    "2412.07940). The topics are worded by this software: use the official form, and take the "
    "answers from here."
)
# of Markdown, and of the HTML that may stand in it
_MARKUP = re.compile(r"([\\`*_{}\[\]#!|<>&~])")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Entry:
    """A topic, and its answer; None where only people know it."""

    topic: str
    answer: str | None = None


@dataclass(frozen=True)
class Chapter:
    """A section of the form."""

    number: str
    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Datasheet:
    """All sections, and what has to be told with them."""

    title: str
    about: str
    form: str
    ratings_sha256: str
    cautions: tuple[str, ...]
    chapters: tuple[Chapter, ...]


def fill_datasheet(study: Study, report: Report) -> Datasheet:
    """Every topic of the form, with what the study and its report know."""
    facts, found = collect_facts(study, report), report.content["kept"]
    return Datasheet(
        title=facts.title,
        about=_ABOUT,
        form=FORM,
        ratings_sha256=facts.sha256,
        cautions=tuple(label_warnings(found)),
        chapters=(
            Chapter("1", "Main reference and supplementary resources", _list_resources(facts)),
            Chapter("2", "Evaluated systems", _list_systems(study, facts)),
            Chapter("3.1", "Sample of system outputs", tuple(_list_outputs(facts, found))),
            Chapter("3.2", "Evaluators", tuple(_list_evaluators(facts))),
            Chapter("3.3", "Experimental design", tuple(_list_design(facts))),
            *(_describe_criterion(asked, found, facts) for asked in facts.criteria),
            Chapter("5", "Ethics", tuple(_list_ethics(facts))),
        ),
    )


# --- sections -----------------------------------------------------------------------------


def _list_resources(facts: Facts) -> tuple[Entry, ...]:
    return (
        Entry("Main reference of the evaluation"),
        Entry("Resources of the evaluation (data, code, interface)",
              f"Collected or analysed with {facts.software}; SHA-256 of ratings.csv: "
              f"{facts.sha256}. The bundle of the study holds data, design and analysis plan; "
              "where it is published is for people to say."),
        Entry("Who fills in this sheet, and whom to write to"),
    )  # fmt: skip


def _list_systems(study: Study, facts: Facts) -> tuple[Entry, ...]:
    kinds = list(dict.fromkeys(f"{one.label} ({one.kind})" for one in study.config.inputs))
    return (
        Entry("Systems", list_of(list(facts.data["systems"]))),
        Entry("Type of input", f"as raters saw it: {list_of(kinds)}" if kinds else None),
        Entry("Type of output", "text"),
        Entry("Task of the systems"),
        Entry("Language of inputs"),
        Entry("Language of outputs"),
    )


def _list_outputs(facts: Facts, found: dict[str, Any]) -> Iterator[Entry]:
    data = facts.data
    yield Entry(
        "Number of outputs evaluated",
        f"{count_of(data['groups'], 'input')} in {count_of(data['items'], 'item')}, of "
        f"{count_of(len(data['systems']), 'system')}; {data['ratings']:,} ratings in "
        f"{count_of(data['annotations'], 'annotation')}",
    )
    if facts.import_notes:
        yield Entry("Changes to the files at import", " ".join(facts.import_notes))
    yield Entry("How outputs were selected")
    yield Entry("Statistical power of the sample", _describe_power(found))


_UNITS = {
    "difference": "{} points",
    "ratio": "a ratio of {}",
    "risk_difference": "{} percentage points",
    "net_win_share": "{} percentage points",
}


def _describe_size(pair: dict[str, Any]) -> str:
    """The smallest effect that the design would find, in its unit and with its interval."""
    name = pair["effect"]["name"]
    figure = pair["detectable"] | {"name": name}
    interval = write_interval(figure)
    phrases = _UNITS.get(name, "{}").format(write_value(figure))
    return f"{phrases} (95 % interval {interval})" if interval else phrases


def _describe_power(found: dict[str, Any]) -> str | None:
    """What the design could have found, where the report holds it."""
    phrases = [
        f"{criterion['label']}: {pair['system_1']} and {pair['system_2']}, {_describe_size(pair)}"
        for criterion in found["criteria"]
        for pair in criterion["pairs"]
        if pair["detectable"] and pair["detectable"]["value"] is not None
    ]
    if not phrases:
        return None
    return f"True effect that four of five such studies would find. {'; '.join(phrases)}"


def _list_evaluators(facts: Facts) -> Iterator[Entry]:
    data = facts.data
    kind = "single persons, under pseudonyms" if data["raters_known"] else "not single persons"
    yield Entry(
        "Number of evaluators", f"{data['participants']:,}, {kind}; {describe_origins(facts)}"
    )
    yield Entry("Kind of evaluators (expertise, relation to the authors)")
    yield Entry("How evaluators were recruited")
    if facts.is_collected_here:
        yield Entry("Payment", describe_pay(facts) or None)
        yield Entry("Training, practice and qualification", describe_practice(facts))
    else:
        yield Entry("Payment")
        yield Entry("Training, practice and qualification")
    yield Entry("Other facts of the evaluators (languages, age, region)")


def _list_design(facts: Facts) -> Iterator[Entry]:
    yield Entry("Preregistration")
    if not facts.is_collected_here:
        phrases = list_of(
            [f"{name.lower()}: {words}" for name, words in describe_collection(facts)]
        )
        yield Entry("How responses were collected", phrases)
        yield Entry("Quality assurance", _describe_left_out(facts))
        yield Entry("What evaluators saw and were told")
        yield Entry("How free evaluators were in when and how fast they worked")
        yield Entry("Where and in which conditions evaluators worked")
        return
    settings = facts.settings
    yield Entry(
        "How responses were collected",
        f"on web pages of {facts.software}, {describe_dates(facts)}; "
        f"{count_of(settings['k'], 'participant')} wanted for an item, sets of "
        f"{count_of(settings['set_size'], 'item')}, a participant gives {describe_caps(facts)}; "
        f"the hand-out is drawn from the seed {settings['seed']}",
    )
    yield Entry(
        "Quality assurance",
        f"checks: {describe_checks(facts)}; repeats: {describe_repeats(facts)}; "
        f"{_describe_left_out(facts)}",
    )
    yield Entry("What evaluators saw and were told (instructions)", facts.texts["instructions"])
    yield Entry(
        "How free evaluators were in when and how fast they worked",
        f"whenever they wished while the study was open; an item that was dealt was kept for "
        f"{count_of(settings['lease_minutes'], 'minute')}",
    )
    yield Entry("Whether evaluators could ask questions", _describe_contact(facts))
    yield Entry("Where and in which conditions evaluators worked")


def _describe_left_out(facts: Facts) -> str:
    """What was left out, and by which rule: when that was worded says whether data were seen."""
    words = f"left out of the analysis: {describe_left_out(facts)}"
    if reasons := describe_exclusions(facts):
        words += f"; reasons of the exclusions: {reasons}"
    return f"{words}; rule of exclusions: {describe_rule(facts.plan)}" if facts.plan else words


def _describe_contact(facts: Facts) -> str | None:
    contact = facts.texts["contact_email"]
    return f"a contact was named to them: {contact}" if contact else None


def _describe_criterion(asked: Asked, found: dict[str, Any], facts: Facts) -> Chapter:
    criterion = next(one for one in found["criteria"] if one["key"] == asked.key)
    size = f"{len(asked.answers)}" if asked.answers else "open: any whole number that is allowed"
    entries = (
        Entry("Properties of the criterion (4.1: type of quality, aspect, frame of reference)"),
        Entry("Mode of evaluation (4.2: objective or subjective, absolute or relative, extrinsic "
              "or intrinsic)"),
        Entry("Name of the criterion", asked.label),
        Entry("Definition given to evaluators", asked.definition or None),
        Entry("Question put to evaluators", asked.question or None),
        Entry("Size of the scale", size),
        Entry("Possible answers", "; ".join(asked.answers) or asked.scale),
        Entry("Form of response elicitation", asked.scale),
        Entry("How responses were aggregated and analysed", " ".join(criterion["notes"])),
        Entry("Comparisons", _describe_comparisons(criterion, facts)),
        Entry("Agreement between evaluators", _describe_figures(criterion["agreement"])),
        Entry(
            "Agreement of evaluators with themselves", _describe_repeats(asked.label, found, facts)
        ),
    )  # fmt: skip
    return Chapter("4", f"Quality criterion: {asked.label}", entries)


def _describe_comparisons(criterion: dict[str, Any], facts: Facts) -> str | None:
    findings = [pair["finding"]["text"] for pair in criterion["pairs"]]
    if findings and facts.plan:
        findings.insert(0, f"Compared: {describe_comparisons(facts.plan)}.")
    return " ".join(findings) or None


def _describe_figures(figures: list[dict[str, Any]]) -> str | None:
    phrases = []
    for figure in figures:
        if figure["value"] is not None:
            interval = write_interval(figure)
            known = f" (95 % interval {interval})" if interval else ""
            phrases.append(f"{name_figure(figure)} {write_value(figure)}{known}")
    return "; ".join(phrases) or None


def _describe_repeats(label: str, found: dict[str, Any], facts: Facts) -> str | None:
    """What both passes of the same raters say; open only where this site can't know."""
    figures = [
        figure | {"name": figure["name"].removeprefix(f"{label}: ")}
        for figure in found["together"].get("repeats") or ()
        if figure["name"].startswith(f"{label}: ")
    ]
    if phrases := _describe_figures(figures):
        return phrases
    return "not measured: nothing was shown twice" if facts.is_collected_here else None


def _list_ethics(facts: Facts) -> Iterator[Entry]:
    yield Entry("Approval by an ethics committee")
    consent = facts.texts["consent"] if facts.is_collected_here else ""
    yield Entry("Consent text given to evaluators", consent or None)
    yield Entry(
        "Personal data",
        "ratings are kept under pseudonyms; what else is personal is for people to say"
        if facts.is_collected_here
        else None,
    )
    yield Entry("Special categories of personal data")
    yield Entry("Assessment of impact")


# --- files --------------------------------------------------------------------------------


def list_open(sheet: Datasheet) -> list[str]:
    """The topics that nobody has answered yet, each with its section."""
    return [
        f"{chapter.number} {chapter.title}: {entry.topic}"
        for chapter in sheet.chapters
        for entry in chapter.entries
        if entry.answer is None
    ]


def write_json(sheet: Datasheet) -> str:
    """The sheet for a program; an open answer is null."""
    data = asdict(sheet) | {"open": list_open(sheet)}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write_markdown(sheet: Datasheet) -> str:
    """The sheet for people; open topics stand in their places and once more at the end."""
    lines = [f"# Human evaluation datasheet: {quote(sheet.title)}", sheet.about,
             f"Form: <{sheet.form}>"]  # fmt: skip
    lines += [f"**{quote(text)}**" for text in sheet.cautions]
    for chapter in sheet.chapters:
        lines.append(f"## {chapter.number} {quote(chapter.title)}")
        lines += [_write_entry(entry) for entry in chapter.entries]
    lines += ["## Still open", "\n".join(f"- {quote(topic)}" for topic in list_open(sheet))]
    return "\n\n".join(lines) + "\n"


def _write_entry(entry: Entry) -> str:
    if entry.answer is None:
        return f"**{entry.topic}.** *Open.*"
    if "\n" in entry.answer.strip():
        # a text of several lines stands as it is
        quoted = "\n".join(f"    {line}" for line in entry.answer.strip().splitlines())
        return f"**{entry.topic}.**\n\n{quoted}"
    return f"**{entry.topic}.** {quote(entry.answer)}"


def quote(text: str) -> str:
    """The text as one line of Markdown that shows it as it is."""
    return _MARKUP.sub(r"\\\1", _SPACES.sub(" ", text).strip())
