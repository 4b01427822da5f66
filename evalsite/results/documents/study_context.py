"""What the documents of a study are made from; everything is known before any result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalsite.decisions.models import Exclusion
from evalsite.decisions.pay import is_paid
from evalsite.instruments.schema import EntryQuestion, Instrument
from evalsite.lib.counts import count_together
from evalsite.lib.words import count_of, list_of
from evalsite.people.models import Participant, Recruitment
from evalsite.results.analysis_plan.stored import describe_plan
from evalsite.results.analysis_plan.wording import describe_rules
from evalsite.results.document.blocks import Block, Heading, Quote, Sentence, isolate
from evalsite.studies.models import Item, Study
from evalsite.studies.questions import list_background
from evalsite.studies.summary_lines import (
    Estimate,
    count_groups,
    estimate_work,
    format_money,
    minutes_per_set,
)
from evalsite.studies.versions import get_identity_days, shown_content

# --- how ratings are collected, in words that datasheet, appendix and ethics text share

Settings = Mapping[str, Any]
TO_FILL_IN = "To be filled in."


def state(name: str, words: str | None = None) -> Sentence:
    """Return a fact by its name; one that the study doesn't know is left open."""
    if words and words.strip():
        return Sentence("fact", words.strip(), "fact", question=name)
    return Sentence("open", TO_FILL_IN, "fact", question=name)


def list_named(names: list[str]) -> str:
    return list_of([isolate(name) for name in names])


def describe_limit(settings: Settings) -> str:
    limits = [
        count_of(settings[key], noun)
        for key, noun in (("max_sets", "set"), ("max_items", "item"))
        if settings[key] is not None
    ]
    return f"at most {list_of(limits)}" if limits else "none"


def describe_checks(settings: Settings) -> str:
    number = settings["checks_per_person"]
    if not number:
        return "none"
    return f"{count_of(number, 'gold or attention item')} per person, among the other items"


def describe_repeats(settings: Settings) -> str:
    percent = settings["repeat_percent"]
    if not percent:
        return "none"
    return (
        f"{percent}% of the items shown again without notice, at least "
        f"{count_of(settings['repeat_distance'], 'item')} later; the second ratings count in no "
        "result"
    )


def describe_practice(settings: Settings, *, has_practice: bool) -> str:
    if not has_practice:
        return "none"
    if settings["is_qualification_on"]:
        return f"a test before any work, passed with {settings['pass_mark']}% correct answers"
    return "practice items with feedback before any work"


def describe_pay(settings: Settings) -> str:
    """Return what a set pays; "" where nobody said so."""
    if settings["pay_per_set"] is None:
        return ""
    minutes = settings["minutes_per_set"]
    words = f"{write_amount(settings, 'pay_per_set')} for a set"
    words += f" of {count_of(minutes, 'minute')}" if minutes else ""
    if settings["has_bonus"] and settings["bonus"] is not None:
        words += f", and {write_amount(settings, 'bonus')} as a bonus"
    return words


def write_amount(settings: Settings, key: str) -> str:
    return format_money(Decimal(settings[key]), settings["currency"])


# --- the context


@dataclass(frozen=True, kw_only=True)
class Context:
    """A study's set-up. Questions: their label and choices."""

    study: Study
    config: Instrument
    texts: Mapping[str, str]
    settings: Mapping[str, Any]
    items: int
    inputs: int
    systems: int
    work: Estimate | None
    minutes: int
    eligibility_rule: str
    questions: Sequence[tuple[str, Sequence[str]]]
    background: Sequence[tuple[str, Sequence[str]]]
    recruitments: Sequence[Recruitment]
    identity_days: int
    has_ids: bool
    invited: int  # by name
    people: int
    withdrawn: int
    rule: str
    exclusions: Sequence[tuple[str, int]]
    refusals: Sequence[str] | None

    @property
    def is_paid(self) -> bool:
        return self.study.pay_per_set is not None

    @property
    def has_practice(self) -> bool:
        return bool(self.config.practice) and self.settings["is_practice_on"]

    @property
    def hourly(self) -> str:
        """Return the pay per hour; "" where nobody said what a set pays."""
        if self.work is None or self.work.hourly is None:
            return ""
        return format_money(self.work.hourly, self.study.currency)

    def describe_rounds(self) -> str:
        return "; ".join(
            each.adapter.label + (f": {count_of(each.places, 'place')}" if each.places else "")
            for each in self.recruitments
        )

    def describe_pay(self) -> str:
        if not self.recruitments:
            return describe_pay(self.settings)
        if self.study.pay_per_set is None:
            return ""
        pay = format_money(self.study.pay_per_set, self.study.currency)
        about = f"{pay} for about {count_of(self.minutes, 'minute')}"
        return "; ".join(f"{each.adapter.label}: {about}" for each in self.recruitments)


def collect_context(study: Study) -> Context:
    content, config = shown_content(study), study.config
    mains = Item.objects.main().filter(study=study)
    people = Participant.objects.filter(study=study, is_pilot=False)
    counts = count_together(
        items=mains,
        inputs=(mains, "group"),
        systems=study.systems.all(),
        invited=study.experts.all(),
        people=people,
        withdrawn=people.filter(withdrawn_at__isnull=False),
        checks=study.items.filter(kind=Item.Kind.ATTENTION),
    )
    items = counts["items"]
    recruitments = list(study.recruitments.all())
    eligibility = config.eligibility if study.is_eligibility_on else None
    return Context(
        study=study,
        config=config,
        texts=content["texts"],
        settings=content["settings"],
        items=items,
        inputs=counts["inputs"],
        systems=counts["systems"],
        work=estimate_work(study, items, count_groups(study, mains)) if items else None,
        minutes=minutes_per_set(study),
        eligibility_rule=isolate(eligibility.rule) if eligibility else "",
        questions=list(map(_describe_question, eligibility.questions if eligibility else ())),
        background=list(map(_describe_question, list_background(study))),
        recruitments=recruitments,
        identity_days=get_identity_days(content),
        has_ids=any(recruitment.adapter.person for recruitment in recruitments),
        invited=counts["invited"],
        people=counts["people"],
        withdrawn=counts["withdrawn"],
        rule=describe_rules(describe_plan(study)),
        exclusions=Exclusion.objects.active().filter(study=study).count_reasons(),
        refusals=_list_refusals(study, recruitments, has_checks=counts["checks"] > 0)
        if is_paid(study)
        else None,
    )


def _list_refusals(
    study: Study, recruitments: Sequence[Recruitment], *, has_checks: bool
) -> list[str]:
    """Return what a set may be rejected for: the reasons that its platforms accept."""
    labels = {
        reason.key: reason.label[0].lower() + reason.label[1:].replace(": ", ", ")
        for recruitment in recruitments or [Recruitment.objects.open_link(study)]
        for reason in recruitment.adapter.reasons
        if has_checks or not reason.failed_checks
    }
    return list(labels.values())


def _describe_question(question: EntryQuestion) -> tuple[str, list[str]]:
    """Return a question about people and its choices."""
    return question.label, [choice.label for choice in question.choices]


# --- blocks that documents share ----------------------------------------------------------------


def count_open(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks of a document, with a note above its parts on what is left to fill in."""
    number = sum(isinstance(block, Sentence) and block.code == "open" for block in blocks)
    if not number:
        return [*blocks]
    entries, them = ("1 entry is", "it") if number == 1 else (f"{number:,} entries are", "them")
    text = f"{entries} left for you to fill in: the study doesn’t hold {them}."
    first, *rest = blocks
    return [first, Sentence("left_open", text, "warning"), *rest]


def list_questions(context: Context) -> Iterator[Block]:
    """Yield the questions about people, if there are any."""
    asked = {"before the work": context.questions, "after the work": context.background}
    facts = [
        state(f"{isolate(label)} ({when})",
              ", ".join(map(isolate, choices)) or "an answer in their own words")
        for when, questions in asked.items()
        for label, choices in questions
    ]  # fmt: skip
    if facts:
        yield Heading("Questions about participants", 2)
        yield from facts


def quote_texts(context: Context, title: str, names: Mapping[str, str]) -> Iterator[Block]:
    """Yield what participants read, as they read it; `names`: the heading of each text."""
    yield Heading(title, 2)
    for heading, key in names.items():
        if text := context.texts[key]:
            yield Heading(heading, 3)
            yield Quote(text, is_markdown=True)
