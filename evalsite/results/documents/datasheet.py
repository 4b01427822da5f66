"""A human evaluation datasheet, answered as far as the study knows, open where only people do.

It follows the sections and topics of HEDS 3.0 (Belz and Thomson 2024), in words of its own: the
official form is what is filled in and handed over.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from evalsite.lib.rating_columns import name_option
from evalsite.lib.words import count_of, list_of
from evalsite.results.analysis_plan.wording import (
    describe_deviation,
    describe_rules,
    describe_size,
    plan_in_words,
)
from evalsite.results.document.blocks import Block, Document, Heading, Quote, Sentence, isolate
from evalsite.results.document.figures import write_figure, write_method
from evalsite.results.documents.study_context import (
    count_open,
    describe_checks,
    describe_limit,
    describe_pay,
    describe_practice,
    describe_repeats,
    list_named,
    state,
)
from evalsite.results.models import Report
from evalsite.results.report.files import make_source
from evalsite.results.report.sections.findings import describe_finding
from evalsite.results.report.sections.further import name_code, read_own
from evalsite.results.report.sections.limits import describe_detectable, list_warnings
from evalsite.results.report.sections.methods import count_outputs, make_methods
from evalsite.results.report.source import Asked, Criterion, Facts, Source, Stored
from evalsite.studies.models import Study

_FORM = "https://nlp-heds.github.io"
_OF_QUALITY = ("Exclusion rules", "Exclusion rule", "Deviations")
# of the methods, what is said of the study and not of a question
_OF_STUDY = ("instrument_changed", "own_examples", "plan_frozen", "software")
# why ratings are left out: what they are, and what was done
_LEFT_OUT = {
    "excluded": ("annotation", "excluded"),
    "ignored": ("annotation", "in which the rater ignored the item"),
    "reported": ("annotation", "in which the rater reported the item"),
    "rated_twice": ("second rating", "of an output by the same participant"),
    "no_value": ("row", "without a value"),
}
# of each kind of change, what one of them is, and what happened to it
_CHANGED = {"withdrawn": ("item", "withdrawn"), "corrected": ("output", "corrected")}
_DIRECTIONS = {
    "lower": "Lower values are better.",
    "none": "Neither high nor low values are better.",
}


def make_datasheet(study: Study, report: Report) -> Document:
    """Return every topic of the form, with what the study and its report know."""
    source = make_source(study, report)
    facts = source.facts
    blocks: list[Block] = [
        Sentence(
            "purpose",
            "Pre-filled for the Human Evaluation Datasheet HEDS 3.0 (Belz and Thomson 2024, arXiv "
            "2412.07940). The wording of the topics is this software’s own: use the official form "
            f"({_FORM}), and copy the answers from here.",
        ),
        *list_warnings(source),
        Heading("1 Main reference and supplementary resources", 2),
        *_list_resources(study, facts),
        Heading("2 Evaluated systems", 2),
        *_list_systems(study, facts),
        Heading("3.1 Sample of system outputs", 2),
        *_list_outputs(source),
        Heading("3.2 Evaluators", 2),
        *_list_evaluators(facts),
        Heading("3.3 Experimental design", 2),
        *_list_design(facts),
    ]
    options = {criterion.key: criterion.scale.list_options() for criterion in study.config.criteria}
    for asked in facts.criteria:
        blocks.append(Heading(f"4 Quality criterion: {isolate(asked.label)}", 2))
        # both texts stand in the form that was rated here
        words = [] if study.is_collected_elsewhere else _quote_question(asked)
        blocks += _list_criterion(source, asked, options.get(asked.key, ()), words)
    blocks += [Heading("5 Ethics", 2), *_list_ethics(facts)]
    return Document(f"Human evaluation datasheet: {isolate(facts.title)}", count_open(blocks))


def _quote(name: str, text: str) -> Iterator[Block]:
    """Yield a topic and the text that answers it, line by line; open without one."""
    if not text.strip():
        yield state(name)
    elif len(text.strip().splitlines()) == 1:
        yield state(name, isolate(text))
    else:
        yield Heading(name, 3)
        yield Quote(text)


def _list_resources(study: Study, facts: Facts) -> Iterator[Block]:
    yield state("Main reference of the evaluation")
    if study.description:
        yield from _quote("What the evaluation is about", study.description)
    yield state(
        "Resources of the evaluation (data, code, interface)",
        f"Collected or analysed with {facts.software}; SHA-256 of ratings.csv: {facts.sha256}. The "
        "study’s bundle holds its data and design; you need to say where it is published.",
    )
    yield state("Who fills in this sheet, and whom to write to")


def _list_systems(study: Study, facts: Facts) -> Iterator[Block]:
    inputs = dict.fromkeys(f"{column.heading} ({column.kind})" for column in study.config.columns)
    yield state("Systems", list_named(list(facts.data["systems"])))
    yield state("Type of input", f"as raters saw it: {list_named([*inputs])}" if inputs else "")
    yield state("Type of output", "text")
    for topic in ("Task of the systems", "Language of inputs", "Language of outputs"):
        yield state(topic)


def _list_outputs(source: Source) -> Iterator[Block]:
    data, facts = source.kept["data"], source.facts
    yield state(
        "Number of outputs evaluated",
        f"{count_of(count_outputs(source), 'output')} of "
        f"{count_of(len(data['systems']), 'system')} for {count_of(data['groups'], 'input')}, in "
        f"{count_of(data['items'], 'item')}; {count_of(data['ratings'], 'rating')} in "
        f"{count_of(data['annotations'], 'annotation')}",
    )
    if facts.import_notes:
        yield state("Changes to the files at import", " ".join(map(isolate, facts.import_notes)))
    yield state("How outputs were selected")
    power = [f"Planned: {describe_size(facts.plan)}."] if facts.plan.get("size") else []
    power += [
        f"{isolate(criterion.label)}: {words}."
        for criterion in source.criteria
        if (words := describe_detectable(criterion))
    ]
    yield state("Statistical power of the sample", " ".join(power))


def _list_evaluators(facts: Facts) -> Iterator[Block]:
    data = facts.data
    yield state("Number of evaluators", f"{_count_evaluators(data)}; ratings: {_trace(data)}")
    yield state("Kind of evaluators (expertise, relation to the authors)")
    yield state("How evaluators were recruited")
    is_here, settings = facts.is_collected_here, facts.settings
    practice = describe_practice(settings, has_practice=facts.has_practice) if is_here else ""
    yield state("Payment", describe_pay(settings) if is_here else "")
    yield state("Training, practice and qualification", practice)
    yield state("Other facts of the evaluators (languages, age, region)")


def _count_evaluators(data: Mapping[str, Any]) -> str:
    people = data["participants"]
    if data["origins"]["simulated"] == data["ratings"]:
        return f"none: {count_of(people, 'simulated participant')} gave all ratings"
    if data["raters_known"]:
        return f"{count_of(people, 'participant')}, each one person under a pseudonym"
    if people == 1:
        return "1 rater, not an individual person"
    return f"{people:,} raters, not all of them individual people"


def _trace(data: Mapping[str, Any]) -> str:
    """Return where the ratings come from."""
    words = {
        "own": "collected with this software",
        "imported": "imported: collected elsewhere",
        "simulated": "simulated, which show nothing about real systems",
    }
    origins = data["origins"]
    return "; ".join(f"{origins[key]:,} {text}" for key, text in words.items() if origins[key])


def _list_design(facts: Facts) -> Iterator[Block]:
    yield state("Preregistration")
    # the rest of the plan; rules and departures are under quality assurance
    planned = [
        f"{name}: {words}"
        for name, words in plan_in_words(facts.plan, criteria=len(facts.criteria))
        if facts.plan.get("frozen_at") and name not in _OF_QUALITY
    ]
    if planned:
        yield state("Analysis plan", isolate(". ".join(planned)))
    settings, left_out = facts.settings, _describe_left_out(facts)
    pace = "How free evaluators were in when and how fast they worked"
    if facts.is_collected_here:
        yield state("How responses were collected", _describe_collection(facts))
        checks, repeats = describe_checks(settings), describe_repeats(settings)
        yield state("Quality assurance", f"checks: {checks}; repeats: {repeats}; {left_out}")
        topic = "What evaluators saw and were told (instructions)"
        yield from _quote(topic, facts.texts["instructions"])
        yield state(
            pace,
            "whenever they wished while the study was open; dealt items were reserved for up to "
            f"{count_of(settings['lease_minutes'], 'minute')} at a time",
        )
        contact = facts.texts["contact_email"]
        yield state(
            "Whether evaluators could ask questions",
            f"they were given a contact: {contact}" if contact else "",
        )
    else:
        yield state(
            "How responses were collected",
            "collected elsewhere: this software doesn’t know how the ratings were collected",
        )
        yield state("Quality assurance", left_out)
        yield state("What evaluators saw and were told")
        yield state(pace)
    yield state("Where and in which conditions evaluators worked")


def _describe_collection(facts: Facts) -> str:
    settings = facts.settings
    phrases = [
        f"on web pages of {facts.software}, {_write_days(facts.data)}",
        f"{count_of(settings['k'], 'participant')} planned per item, sets of "
        f"{count_of(settings['set_size'], 'item')}",
    ]
    if facts.has_sheet:
        phrases.append("all items of a set on one page")
    elif facts.offers_sheet:
        phrases.append(
            "one item per page, a departure from the protocol, which has all items of a set on one "
            "page"
        )
    phrases.append(f"limit per participant: {describe_limit(settings)}")
    phrases.append(f"items dealt with the seed {settings['seed']}")
    return "; ".join(phrases)


def _write_days(data: Mapping[str, Any]) -> str:
    moments = [datetime.fromisoformat(data[end]) for end in ("first_at", "last_at") if data[end]]
    return " to ".join(dict.fromkeys(f"{at.day} {at:%B %Y}" for at in moments))


def _describe_left_out(facts: Facts) -> str:
    """Return what isn't analysed and why, and how the study departed from its set-up."""
    counts = facts.data["left_out"]
    left_out = "; ".join(
        f"{count_of(counts[kind], noun)} {words}"
        for kind, (noun, words) in _LEFT_OUT.items()
        if counts.get(kind)
    )
    phrases = [f"left out of the analysis: {left_out or 'nothing'}"]
    if facts.exclusions:
        reasons = ", ".join(
            f"“{isolate(reason)}” ({count_of(number, 'decision')})"
            for reason, number in facts.exclusions
        )
        phrases.append(f"reasons of the exclusions: {reasons}")
    if facts.changes:
        phrases.append(f"changed after the launch: {_describe_changes(facts.changes)}")
    if facts.plan:
        phrases.append(f"exclusion rule: {isolate(describe_rules(facts.plan))}")
        deviations = map(describe_deviation, facts.plan.get("deviations") or ())
        if departures := isolate(" ".join(deviations)).rstrip("."):
            phrases.append(f"departures from the analysis plan: {departures}")
    return "; ".join(phrases)


def _describe_changes(changes: Sequence[Stored]) -> str:
    phrases = []
    for kind, (noun, verb) in _CHANGED.items():
        reasons = Counter(isolate(change["reason"]) for change in changes if change["kind"] == kind)
        if number := reasons.total():
            listed = ", ".join(
                f"“{reason}”" if times == number else f"“{reason}” ({times:,})"
                for reason, times in reasons.items()
            )
            phrases.append(f"{count_of(number, noun)} {verb} ({listed})")
    phrases += [
        f"the system “{isolate(change['before'])}” renamed “{isolate(change['after'])}”"
        for change in changes
        if change["kind"] == "renamed"
    ]
    return "; ".join(phrases)


# --- a question ---------------------------------------------------------------------------------


def _quote_question(asked: Asked) -> list[Block]:
    """List what evaluators read: the definition, the question or both."""
    definition = asked.definition or ("none: they read the question" if asked.question else "")
    question = asked.question or ("none: they read the definition" if asked.definition else "")
    return [
        *_quote("Definition given to evaluators", definition),
        *_quote("Question put to evaluators", question),
    ]


def _list_criterion(
    source: Source, asked: Asked, options: Iterable[tuple[str, str]], words: Sequence[Block]
) -> Iterator[Block]:
    """Yield what is known of a question; of a choice, of each option; of texts there is nothing."""
    starts = {asked.key: ""}
    starts |= {name_option(asked.key, key): f"{isolate(label)}: " for key, label in options}
    parts = [
        (starts[criterion.key], criterion)
        for criterion in source.criteria
        if criterion.key in starts
    ]
    yield state("Properties of the criterion (4.1: type of quality, aspect, frame of reference)")
    yield state(
        "Mode of evaluation (4.2: objective or subjective, absolute or relative, extrinsic or "
        "intrinsic)"
    )
    yield state("Name of the criterion", isolate(asked.label))
    yield from words or map(state, ("Definition given to evaluators", "Question put to evaluators"))
    size = f"{len(asked.answers):,}" if asked.answers else "open: any number that is allowed"
    yield state("Size of the scale", size)
    yield state("Possible answers", "; ".join(map(isolate, asked.answers)) or isolate(asked.scale))
    direction = _DIRECTIONS.get(asked.better, "")
    yield state(
        "Form of response elicitation",
        isolate(asked.scale) + (f". {direction}" if direction else ""),
    )
    yield state(
        "How responses were aggregated and analysed",
        " ".join(
            dict.fromkeys(
                text for _, criterion in parts for text in _describe_analysis(source, criterion)
            )
        )
        or "not at all: there is no figure of these answers",
    )
    findings = [
        f"{of}{describe_finding(criterion)[1]}" for of, criterion in parts if criterion.pairs
    ]
    compared = ["Compared: all pairs of systems."] if findings and source.plan else []
    yield state("Comparisons", " ".join([*compared, *findings]))
    group = {"criterion": asked.key}
    yield state(
        "Agreement between evaluators",
        list_figures(
            (of, figure) for of, criterion in parts for figure in criterion.stored["agreement"]
        ),
    )
    repeats = list_figures(
        ("", figure)
        for figure in source.kept["together"].get("repeats") or ()
        if figure["group"] == group
    )
    unmeasured = "not measured: nothing was shown twice" if source.facts.is_collected_here else ""
    yield state("Agreement of evaluators with themselves", repeats or unmeasured)


def _describe_analysis(source: Source, criterion: Criterion) -> Iterator[str]:
    """Yield how the figure of a system is computed, and how systems are compared."""
    if criterion.systems:
        method = write_method(criterion.find_estimate(criterion.systems[0])["method"])
        yield f"The figure of a system: {method}."
    content = {**source.content, "kept": {**source.kept, "criteria": [criterion.stored]}}
    for block in make_methods(replace(source, content=content)):
        if isinstance(block, Sentence) and block.code not in _OF_STUDY:
            yield block.text


def list_figures(stored: Iterable[tuple[str, Stored]]) -> str:
    """Return each figure that has a value, with its interval."""
    phrases = []
    for of, entry in stored:
        if entry["value"] is None:
            continue
        name = name_code(entry["name"])
        systems = [value for key, value in (entry.get("group") or {}).items() if key != "criterion"]
        name += f", {list_of(list(map(isolate, map(str, systems))))}" if systems else ""
        name += ", for these people" if entry["details"].get("over") == "inputs" else ""
        figure = write_figure(read_own(entry, {})).replace("(", "(95% CI ", 1)
        phrases.append(f"{of}{name} {figure}")
    return "; ".join(phrases)


def _list_ethics(facts: Facts) -> Iterator[Block]:
    is_here = facts.is_collected_here
    yield state("Approval by an ethics committee")
    yield from _quote("Consent text given to evaluators", facts.texts["consent"] if is_here else "")
    kept = "ratings are kept under pseudonyms; you need to say which other data are personal"
    sharing = _describe_sharing(facts.sharing)
    words = f"{sharing}; {kept}" if sharing else kept
    yield state("Personal data", words if is_here else "")
    yield state("Special categories of personal data")
    yield state("Assessment of impact")


def _describe_sharing(sharing: Mapping[str, int]) -> str:
    """Return how many people agreed to publish their answers; "" if nobody was asked."""
    asked, kept_back = sharing.get("asked"), sharing.get("not_sharing")
    if not asked:
        return ""
    if not kept_back:
        everyone = "the only participant" if asked == 1 else f"all {asked:,} participants"
        return f"{everyone} agreed to have their answers published"
    who = "the only participant" if asked == 1 else f"{kept_back:,} of {asked:,} participants"
    return (
        f"{who} didn’t agree to have their answers published; their answers are in these results, "
        "but not in published files"
    )
