"""The appendix of a paper: how ratings were collected, and what people read and were asked."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, Exists, OuterRef, Q, Subquery, Value, When

from evalsite.data.bundle.readme import write_scales
from evalsite.decisions.top_up import excluded_answers
from evalsite.handout.models import Annotation
from evalsite.lib.words import count_of
from evalsite.people.models import Origin, Participant, Refusal
from evalsite.results.document.blocks import Block, Document, Heading, Quote, Sentence, isolate
from evalsite.results.documents.study_context import (
    Context,
    collect_context,
    count_open,
    describe_checks,
    describe_limit,
    describe_practice,
    describe_repeats,
    list_named,
    list_questions,
    quote_texts,
    state,
)
from evalsite.studies.languages import name_language
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.versions import shown_content

_ORDERS = {"random": "random for each participant", "uploaded": "as uploaded"}
# why people were turned away, as `count_people` counts them
_TURNED_AWAY = {
    "not_eligible": "not eligible by their answers",
    "quota": "because a quota was full",
    "earlier": "because of an earlier study",
    "failed_check": "after the check of the instructions",
    "not_qualified": "after the qualification",
}


def make_appendix(study: Study) -> Document:
    """Return what a paper's appendix says of how ratings were collected."""
    context = collect_context(study)
    scales = Quote(write_scales(shown_content(study), with_conditions=True), is_markdown=True)
    blocks: list[Block] = [
        Sentence(
            "purpose",
            "For the appendix of a paper. Everything here is made from the study’s set-up and its "
            "counts of people. It names no system and no participant.",
        ),
        Heading("How the ratings were collected", 2),
        *_list_collection(context),
        *quote_texts(context, "What participants read", {"Instructions": "instructions"}),
        Heading("What participants were asked", 2),
        scales,
        *_show_screen(study),
        *list_questions(context),
        Heading("Recruitment and pay", 2),
        *_list_recruitment(context),
        *_list_flow(context),
        Heading("Who was left out", 2),
        *_list_left_out(context),
        Heading("Responsible NLP checklist, section D", 2),
        *_list_checklist(context),
    ]
    return Document(f"Appendix: {isolate(context.texts['title'])}", count_open(blocks))


def _list_collection(context: Context) -> Iterator[Sentence]:
    config, settings = context.config, context.settings
    labels = [f"{criterion.label} ({criterion.scale.words()})" for criterion in config.criteria]
    yield state("Instrument", isolate(config.title))
    yield state("Based on", isolate(config.source.cite))
    yield state("Criteria", list_named(labels))
    yield state("Language of the study", name_language(context.texts["language"]))
    yield state(
        "Outputs",
        f"{count_of(context.systems, 'system')} on {count_of(context.inputs, 'input')}, in "
        f"{count_of(context.items, 'item')}"
        if context.items
        else "no items yet",
    )
    yield state("Answers per item", f"{settings['k']:,}, each by a different person")
    yield state(
        "Set",
        f"{count_of(settings['set_size'], 'item')}, about {count_of(context.minutes, 'minute')}",
    )
    yield state("Limit per participant", describe_limit(settings))
    yield state(
        "Order of items", _ORDERS.get(settings["item_order"], "related items one after another")
    )
    yield state("Order of outputs", "balanced over participants; names of systems are never shown")
    yield state(
        "Check of the instructions",
        "questions with two tries before any work" if settings["is_check_on"] else "none",
    )
    yield state("Practice", describe_practice(settings, has_practice=context.has_practice))
    yield state("Checks", describe_checks(settings))
    yield state("Repeats", describe_repeats(settings))


def _show_screen(study: Study) -> Iterator[Block]:
    """Yield a rating page, made from the first item or else from an example."""
    config = study.config
    first = Item.objects.main().filter(study=study).order_by("pk").values("pk")[:1]
    texts = Output.objects.filter(item=Subquery(first)).select_related("item").order_by("position")
    shown = list(texts)
    examples = (*config.practice, *config.examples)
    inputs: Any
    outputs: Sequence[str]
    if shown:
        inputs, outputs = shown[0].item.inputs, [output.text for output in shown]
    elif examples:
        inputs, outputs = examples[0].cells, examples[0].texts
    else:
        return
    yield Heading("A rating page", 2)
    for column in config.columns:
        text = str(inputs.get(column.name, ""))
        if column.kind != "whole number" and text.strip():
            yield Heading(isolate(column.heading), 3)
            yield Quote(text)
    name = isolate(config.item.output_name)
    for number, text in enumerate(outputs, start=1):
        yield Heading(f"{name} {number}" if len(outputs) > 1 else name, 3)
        yield Quote(text)
    for criterion in config.criteria:
        answers = " · ".join(map(isolate, criterion.scale.name_choices()))
        yield state(isolate(criterion.question or criterion.label), answers or "a number")


def _list_recruitment(context: Context) -> Iterator[Sentence]:
    settings = context.settings
    yield state("Where participants come from", context.describe_rounds())
    age = settings["minimum_age"]
    yield state(
        "Who may take part",
        (context.eligibility_rule or "anyone with a link")
        + (f"; from {age} years of age" if age else ""),
    )
    if not context.people:
        yield state("Participants", "nobody yet")
    elif context.withdrawn:
        yield state("Withdrew at any time", f"{context.withdrawn:,}")
    yield state("Pay", context.describe_pay())
    hourly = context.hourly
    at = f", at {count_of(context.minutes, 'minute')} for a set"
    yield state("Pay per hour", f"{hourly}{at}" if hourly else "")
    yield state("Consent", _describe_consent(context))


def _describe_consent(context: Context) -> str:
    if context.settings["has_notice"]:
        return "a short notice on the first page, to which Start agrees"
    if context.texts["consent"]:
        return "asked before any work, with one button"
    return "no consent text is recorded"


@dataclass(frozen=True, kw_only=True)
class PeopleFlow:
    """People who came to a study by where they ended; pilots and imported raters are left out."""

    ends: dict[str, int]
    simulated: int

    @property
    def arrived(self) -> int:
        return sum(self.ends.values())

    @property
    def answered(self) -> int:
        return sum(self.ends.get(end, 0) for end in ("excluded", "analysed"))


def count_people(study: Study) -> PeopleFlow:
    """Count the people of a study by where they ended."""
    mine = Annotation.objects.counted().agreed().filter(
        participant=OuterRef("pk"), item__kind=Item.Kind.MAIN
    )  # fmt: skip
    kept = mine.exclude(pk__in=excluded_answers(study).order_by().values("pk"))
    end = Case(
        When(Exists(kept), then=Value("analysed")),
        When(Exists(mine), then=Value("excluded")),
        # people who withdraw may leave their answers
        When(withdrawn_at__isnull=False, then=Value("withdrew")),
        When(refused_for=Refusal.QUOTA, then=Value("quota")),
        When(refused_for=Refusal.EARLIER, then=Value("earlier")),
        When(is_eligible=False, then=Value("not_eligible")),
        When(is_checked=False, then=Value("failed_check")),
        When(is_qualified=False, then=Value("not_qualified")),
        When(consented_to="", then=Value("not_agreed")),
        default=Value("no_answers"),
    )
    people = Participant.objects.filter(~Q(origin=Origin.IMPORTED), study=study, is_pilot=False)
    counts = people.order_by().annotate(end=end).values_list("end", "origin")
    flow, simulated = Counter[str](), 0
    for reached, origin, number in counts.annotate(n=Count("pk")):
        flow[reached] += number
        simulated += number if origin == Origin.SIMULATED else 0
    return PeopleFlow(ends=dict(flow), simulated=simulated)


def _list_flow(context: Context) -> Iterator[Block]:
    """Yield how many people came, left and are analysed, once anyone came."""
    flow = count_people(context.study)
    if not flow.arrived:
        return
    ends = flow.ends
    yield Heading("Flow of participants", 2)
    if context.invited:
        yield state("Invited by a personal link", count_of(context.invited, "person", "people"))
    simulated = f", {flow.simulated:,} of them simulated" if flow.simulated else ""
    yield state("Arrived", f"{count_of(flow.arrived, 'person', 'people')}{simulated}")
    if number := ends.get("not_agreed"):
        yield state("Left before they agreed to take part", f"{number:,}")
    if turned := [f"{ends[end]:,} {words}" for end, words in _TURNED_AWAY.items() if end in ends]:
        yield state("Turned away", "; ".join(turned))
    if number := ends.get("no_answers"):
        yield state("Agreed, but gave no answer that counts", f"{number:,}")
    if number := ends.get("withdrew"):
        yield state("Withdrew, and left no answer that counts", f"{number:,}")
    yield state("Gave answers that count", f"{flow.answered:,}")
    if number := ends.get("excluded"):
        yield state("Excluded from the analysis", f"{number:,}")
    analysed = ends.get("analysed")
    yield state("Analysed", f"{analysed:,}" if analysed else "nobody yet")


def _list_left_out(context: Context) -> Iterator[Sentence]:
    yield state("Rule in the analysis plan", isolate(context.rule))
    reasons = [f"{reason} ({number:,})" for reason, number in context.exclusions]
    yield state("Decisions", list_named(reasons) or "nobody is excluded")
    yield state(
        "Automatic exclusions",
        "none: a flag is a reason to look, and each exclusion is a recorded decision that can be "
        "taken back",
    )


def _list_checklist(context: Context) -> Iterator[Sentence]:
    yield state(
        "D1 Full text of the instructions",
        "in this appendix: “What participants read”, “What participants were asked” and “A rating "
        "page”",
    )
    platforms = [each.adapter.label for each in context.recruitments]
    recruited = f"recruitment: {list_named(platforms)}" if platforms else (
        "no recruitment is recorded"
    )  # fmt: skip
    pay = f"{context.hourly} an hour" if context.hourly else "pay isn’t recorded here"
    yield state("D2 Recruitment and payment", f"{recruited}; {pay}")
    yield state("D2 Whether that pay is adequate where participants live")
    if context.settings["has_notice"]:
        consent = "each participant agrees to a short notice by starting"
    elif context.texts["consent"]:
        consent = "each participant is asked to agree to the consent text before any work"
    else:
        consent = "no consent text is recorded"
    yield state("D3 Consent", consent)
    yield state("D4 Review by an ethics board")
    asked = count_of(len(context.background), "background question")
    yield state(
        "D5 Characteristics of the participants",
        f"{asked} after the work; the answers are in the study’s files"
        if context.background
        else "",
    )
