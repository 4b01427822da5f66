"""What the documents of a study are made from; everything is known before any result."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, Exists, OuterRef, Q, Value, When

from evalsite.annotation.models import Annotation
from evalsite.annotation.pages.sets import BREAK_EVERY
from evalsite.instruments.schema import EntryQuestion, Instrument
from evalsite.lib.counts import count_together
from evalsite.lib.words import count_of, list_of
from evalsite.participants.models import Origin, Participant, Recruitment, Refusal
from evalsite.quality.exclusions import count_reasons
from evalsite.quality.pay import is_paid
from evalsite.quality.top_up import excluded_answers
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


# --- how many people came, were turned away and why, left, were excluded, and are analysed

_ANSWERED = ("excluded", "analysed")


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
        return sum(self.ends.get(end, 0) for end in _ANSWERED)


def count_people(study: Study) -> PeopleFlow:
    """Count the people of a study by where they ended."""
    mine = Annotation.objects.counted().agreed().filter(
        participant=OuterRef("pk"), item__kind=Item.Kind.MAIN
    )  # fmt: skip
    kept = mine.exclude(pk__in=excluded_answers(study).order_by().values("pk"))
    end = Case(
        When(Exists(kept), then=Value("analysed")),
        When(Exists(mine), then=Value("excluded")),
        # whoever withdraws may leave their answers
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


# --- the context


@dataclass(frozen=True, kw_only=True)
class Round:
    """How people are recruited in one round, and what they get."""

    platform: str
    places: int | None
    pay: str
    minutes: int


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
    break_every: int
    eligibility_rule: str
    questions: Sequence[tuple[str, Sequence[str]]]
    background: Sequence[tuple[str, Sequence[str]]]
    rounds: Sequence[Round]
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
        return self.study.pay_per_set is not None or any(each.pay for each in self.rounds)

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
            f"{each.platform}: {count_of(each.places, 'place')}" if each.places else each.platform
            for each in self.rounds
        )

    def describe_pay(self) -> str:
        if not self.rounds:
            return describe_pay(self.settings)
        return "; ".join(
            f"{each.platform}: {each.pay} for about {count_of(each.minutes, 'minute')}"
            for each in self.rounds
            if each.pay
        )


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
        break_every=BREAK_EVERY,
        eligibility_rule=isolate(eligibility.rule) if eligibility else "",
        questions=list(map(_describe_question, eligibility.questions if eligibility else ())),
        background=list(map(_describe_question, list_background(study))),
        rounds=[_describe_round(study, recruitment) for recruitment in recruitments],
        identity_days=get_identity_days(content),
        has_ids=any(recruitment.adapter.person for recruitment in recruitments),
        invited=counts["invited"],
        people=counts["people"],
        withdrawn=counts["withdrawn"],
        rule=describe_rules(describe_plan(study)),
        exclusions=count_reasons(study),
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


def _describe_round(study: Study, recruitment: Any) -> Round:
    pay = study.pay_per_set
    return Round(
        platform=recruitment.adapter.label,
        places=recruitment.places,
        pay="" if pay is None else format_money(pay, study.currency),
        minutes=minutes_per_set(study),
    )


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
