"""What a study must have before people can be let in."""

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from django.db.models import Subquery

from evalsite.fieldwork.invited_people import count_expected
from evalsite.fieldwork.shares import find_uncertain
from evalsite.handout import feasibility
from evalsite.handout.controls import CHECKS
from evalsite.handout.feasibility import (
    Offer,
    Workload,
    can_be_finished,
    fewest_people,
    find_offers,
    most_each,
)
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.lib.counts import count_together
from evalsite.studies.consent_sentences import find_placeholders
from evalsite.studies.items import MainItems, count_records, measure_groups
from evalsite.studies.models import Item, Study
from evalsite.studies.qualification import plan_qualification
from evalsite.studies.questions import FEWEST_IN_CHECK
from evalsite.studies.set_size import (
    FEWEST,
    PAGES_PER_CHECK,
    WORDS_A_MINUTE,
    checks_in,
    estimate_reading,
    items_per_set,
    mains_per_set,
    most_items,
)
from evalsite.studies.settings import name_page
from evalsite.studies.summary_lines import count_of, format_money, minutes_per_set, name_unit
from evalsite.studies.versions import protocol_instructions

_NO_END = 10**9
# answers and attention checks of a person from which flags can find careless work
_FEWEST_TO_JUDGE, _FEWEST_PAGES, _CHECKS_TO_JUDGE = 12, 4, 2
_END_OF_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])")


@dataclass(frozen=True, kw_only=True)
class Check:
    """One point of the launch checklist: met, or with the problem and the page that mends it.

    A remark is for the researcher to weigh; it doesn't prevent the launch. Each of the offers
    mends the problem.
    """

    label: str
    problem: str = ""
    remark: str = ""
    url_name: str = "setup-work"
    field: str = ""  # of that page, where one mends it
    action: str = "Open"  # what the link to that page says
    offers: tuple[Offer, ...] = ()

    @property
    def is_met(self) -> bool:
        return not self.problem

    @property
    def headline(self) -> str:
        """Return the first sentence of what there is to say."""
        return _END_OF_SENTENCE.split(self.problem or self.remark, maxsplit=1)[0].rstrip(".")

    @property
    def details(self) -> str:
        """Return the sentences after the first."""
        return "".join(_END_OF_SENTENCE.split(self.problem or self.remark, maxsplit=1)[1:])


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many items of each kind a study has, of how many records, and who."""

    main: MainItems
    by_kind: dict[str, int]
    records: int  # of the researcher's data
    systems: int
    # what a list of studies doesn't count
    answers: int = 0  # that count: a draft has them if some were imported
    members: int = 0
    pilots: int = 0
    comments: int = 0  # of pilots, that are open
    plans: int = 0  # 1 if anything is planned
    invited: int = 0  # people by name, of whom somebody may get no items or an input twice

    @property
    def items(self) -> int:
        return self.by_kind.get(Item.Kind.MAIN, 0)

    @property
    def practice(self) -> int:
        return self.by_kind.get(Item.Kind.PRACTICE, 0)

    @property
    def checks(self) -> int:
        return sum(self.by_kind.get(kind, 0) for kind in CHECKS)


def counts_of(study: Study) -> Counts:
    """Return what `count_kinds` counts, counted once for each request's study."""
    known: Counts | None = study.__dict__.get("counts")
    if known is None:
        known = study.__dict__["counts"] = count_kinds(study)
    return known


def count_kinds(study: Study) -> Counts:
    """Count the items of a study, and the people who set it up and try it, in one query."""
    items = Item.objects.filter(study=study)
    newest = items.main().order_by("-pk").values("pk")[:1]
    counts = count_together(
        **{kind: items.filter(kind=kind) for kind in Item.Kind.values},
        newest=(Study.objects.filter(pk=study.pk), Subquery(newest)),
        changes=study.changes.all(),
        systems=study.systems.all(),
        answers=Annotation.objects.counted().filter(study=study),
        members=study.memberships.all(),
        pilots=study.participants.filter(is_pilot=True),
        comments=study.pilot_comments.filter(resolved_at=None),
        invited=find_uncertain(study),
        # whose parts are all empty plans nothing
        plans=Study.objects.filter(pk=study.pk, analysis_plan__isnull=False).exclude(
            analysis_plan__hypotheses=[],
            analysis_plan__margins=[],
            analysis_plan__primary="",
            analysis_plan__exclusion_rule="",
        ),
    )
    main = MainItems(study.pk, counts[Item.Kind.MAIN], counts["newest"], counts["changes"])
    return Counts(
        main=main,
        by_kind={kind: counts[kind] for kind in Item.Kind.values if counts[kind]},
        records=main.number if study.config.unit_name == "item" else count_records(main),
        systems=counts["systems"],
        answers=counts["answers"],
        members=counts["members"],
        pilots=counts["pilots"],
        comments=counts["comments"],
        plans=counts["plans"],
        invited=counts["invited"],
    )


def check_launch(study: Study, counts: Counts | None = None) -> list[Check]:
    """Return every point that must be met at launch, in the order of the page."""
    counts = counts or count_kinds(study)
    return [
        _check_items(counts),
        _check_consent(study),
        _check_organisation(study),
        _check_contact(study),
        _check_options(study),
        _check_practice(study, counts),
        _check_qualification(study),
        *_check_instructions_check(study),
        _check_checks(study, counts),
        *_check_flags(study, counts),
        _check_repeats(study, counts),
        *_check_order(study),
        _check_bonus(study),
        _check_closing_date(study),
        _check_limits(study, counts),
    ]


def _check_items(counts: Counts) -> Check:
    problem = "" if counts.items else "There are no items yet. Add them under Set up, Items."
    return Check(label="Items are uploaded", problem=problem, url_name="batch-list")


def _check_consent(study: Study) -> Check:
    """The words are the researcher's own, and people know how long their answers are kept."""
    label, page = "What people agree to is complete", name_page("consent")
    if marks := find_placeholders(study.consent):
        return Check(
            label=label,
            problem=f"The consent text has {marks[0]}. Put your own words in its place.",
            url_name=page,
            field="consent",
        )
    problem = "How long you keep the answers is missing. People have to know it before they agree."
    is_missing = not study.has_notice and not study.answers_kept_for
    return Check(
        label=label,
        problem=problem if is_missing else "",
        url_name=page,
        field="answers_kept_for",
    )


def check_reading_time(study: Study) -> Check:
    """People are told of as much time as reading alone takes; a remark if it is less."""
    minutes = minutes_per_set(study)
    takes = estimate_reading(study)
    remark = (
        f"The texts of one set take about {count_of(takes, 'minute')}. You tell people "
        f"{minutes:,}; that is at {WORDS_A_MINUTE} words a minute."
    )
    return Check(
        label="There is time to read the texts",
        remark=remark if takes > minutes else "",
        url_name=name_page("minutes_per_set"),
        action="Decide",
    )


def check_pay(study: Study, hourly: Decimal | None) -> Check:
    """An hour pays as much as the team aims at; a remark if it is less."""
    target = study.pay_target
    is_low = target is not None and hourly is not None and hourly < target
    remark = ""
    if is_low and target is not None and hourly is not None:
        remark = (
            f"Pay is under your target. It comes to {format_money(hourly, study.currency)} an "
            f"hour, and you aim at {format_money(target, study.currency)}."
        )
    return Check(
        label="Pay", remark=remark, url_name=name_page("pay_per_set"), action="Change the pay"
    )


def check_trial(counts: Counts) -> Check:
    """Somebody has tried the study, and what they wrote is settled; else a remark."""
    if not counts.pilots:
        remark = "Nobody has tried it yet. Mistakes in the texts are cheap to fix now."
        return Check(label="Try it", remark=remark, url_name="study-pilot", action="Try it")
    remark = (
        f"{count_of(counts.comments, 'comment')} of people who tried it "
        f"{'is' if counts.comments == 1 else 'are'} open. Settle what they wrote first."
    )
    return Check(
        label="Comments of a trial",
        remark=remark if counts.comments else "",
        url_name="study-pilot",
        action="Read them" if counts.comments > 1 else "Read it",
    )


def _check_organisation(study: Study) -> Check:
    return Check(
        label="People know who runs the study",
        problem="" if study.organisation else "Enter who runs the study.",
        url_name=name_page("organisation"),
        field="organisation",
    )


def _check_contact(study: Study) -> Check:
    problem = "Enter an e-mail address that people can write to."
    return Check(
        label="People know whom to ask",
        problem="" if study.contact_email else problem,
        url_name=name_page("contact_email"),
        field="contact_email",
    )


def _check_options(study: Study) -> Check:
    label, page = "The protocol's options are complete", "batch-list"
    if study.config.options_form is None:
        return Check(label=label, url_name=page)
    form = study.config.options_form(study.config.default_options | study.options)
    problems = [
        f"{form[name].label}: {message}"
        for name, messages in form.errors.items()
        for message in messages
    ]
    return Check(label=label, problem=" ".join(problems), url_name=page)


def _check_practice(study: Study, counts: Counts) -> Check:
    is_asked = study.is_practice_on and not study.is_qualification_on
    has_practice = not is_asked or counts.practice
    problem = "" if has_practice else "Practice is on, but there is no practice item. Turn it off."
    is_left = counts.practice and not study.is_practice_on and not study.is_qualification_on
    remark = "There are practice items, but practice is off." if is_left else ""
    page = name_page("is_practice_on")
    return Check(label="Practice is ready, or off", problem=problem, remark=remark, url_name=page)


def _check_qualification(study: Study) -> Check:
    label = "The qualification is ready, or off"
    page = name_page("is_qualification_on")
    if not study.is_qualification_on:
        return Check(label=label, url_name=page)
    plan = plan_qualification(study)
    if plan is not None and plan.is_on_instructions and study.is_check_on:
        return Check(
            label=label,
            url_name=page,
            problem=(
                "The check of the instructions and the qualification would ask the same "
                "questions. Turn one of them off, or upload practice items with gold."
            ),
        )
    if plan is None:
        return Check(
            label=label,
            url_name=page,
            problem=(
                "Qualification is on, but no practice item has a gold, and the protocol has no "
                "questions on its instructions. Turn it off, or upload practice items with gold."
            ),
        )
    unit = "answers to questions on the instructions" if plan.is_on_instructions else "points"
    return Check(
        label=f"The qualification is ready: {plan.needed} of {plan.asked} {unit} pass",
        url_name=page,
    )


def _check_instructions_check(study: Study) -> list[Check]:
    """One question on the instructions is too easily guessed to end anyone's study."""
    asked = len(study.config.comprehension)
    if not study.is_check_on or asked >= FEWEST_IN_CHECK:
        return []
    problem = (
        f"The check of the instructions is on, but has {count_of(asked, 'question')}. It needs "
        f"{FEWEST_IN_CHECK}. Add more, or turn it off under Instructions."
    )
    return [
        Check(
            label="The check of the instructions is ready, or off",
            problem=problem,
            url_name="study-questions",
        )
    ]


def _check_checks(study: Study, counts: Counts) -> Check:
    """Checks that are asked for are there; those that are there and not asked for, a remark."""
    label = "Gold and attention items are ready, or there are none"
    page, made = name_page("checks_per_person"), counts.checks
    if not study.checks_per_person:
        remark = f"{count_of(made, 'check')} made or uploaded, and nobody gets any. Set how many."
        return Check(label=label, remark=remark if made else "", url_name=page)
    if not made:
        problem = (
            f"Each person should get {count_of(study.checks_per_person, 'check')}, but there is "
            "no gold or attention item. Make or upload some, or ask for none."
        )
        return Check(label=label, problem=problem, url_name=page)
    asked, fitting = study.checks_per_person, checks_in(study, mains_per_set(study))
    if asked > made:
        remark = f"Each person should get {count_of(asked, 'check')}, but there are only {made}."
    elif asked > fitting and study.max_sets == 1:
        remark = (
            f"A set of {study.set_size} has room for {count_of(fitting, 'check')}: one for "
            f"every {PAGES_PER_CHECK} pages."
        )
    else:
        remark = ""
    return Check(label=label, remark=remark, url_name=page)


def _check_flags(study: Study, counts: Counts) -> list[Check]:
    """Return a remark if people give too few answers for most flags to find careless work."""
    caps = most_items(study)
    most = counts.items if caps is None else min(counts.items, caps)
    attention = min(counts.by_kind.get(Item.Kind.ATTENTION, 0), study.checks_per_person)
    if not 0 < most < _FEWEST_TO_JUDGE or attention >= _CHECKS_TO_JUDGE:
        return []
    finds = "“too fast” and attention checks" if most >= _FEWEST_PAGES else "attention checks"
    remark = (
        f"People give {count_of(most, 'answer')} each. Only {finds} can find careless work; give "
        f"at least {_FEWEST_TO_JUDGE} per person, or add {_CHECKS_TO_JUDGE} checks."
    )
    return [Check(label="Careless work can be found", remark=remark)]


def _check_repeats(study: Study, counts: Counts) -> Check:
    """Repeats that are asked for can be dealt; otherwise a remark says that they stay off."""
    label = "Hidden repeats can be dealt, or are off"
    caps = most_items(study)
    items = counts.items
    most = items if caps is None else min(items, caps)
    remark = (
        f"Nobody can get more than {count_of(most, 'page')}, and below {FEWEST} nothing is "
        "repeated. Allow more sets per person, or show no page twice."
    )
    return Check(
        label=label,
        remark=remark if study.repeat_percent and most < FEWEST else "",
        url_name=name_page("repeat_percent"),
    )


def _check_order(study: Study) -> list[Check]:
    """Return a remark if the order of a file may show participants which system they rate."""
    is_single = study.config.item.outputs.most == 1
    if not is_single or study.item_order != Study.ItemOrder.UPLOADED:
        return []
    remark = (
        "If the file is sorted by system, or its systems take turns, people may come to "
        "know them by the order. Mix the rows, or choose a random order."
    )
    return [Check(label="Items come in the order of the file", remark=remark)]


def _check_bonus(study: Study) -> Check:
    """A bonus has its number of sets; where the protocol's document says others, a remark."""
    if study.has_bonus and study.max_sets is None:
        return Check(
            label="Cap and bonus match what people read",
            problem=(
                "A bonus for all sets needs a number of sets. Enter it, or leave the bonus empty."
            ),
        )
    design = study.config.design
    phrases = _describe_sets(design.set_size, design.max_sets, has_bonus=design.has_bonus)
    planned = _describe_sets(items_per_set(study), study.max_sets, has_bonus=study.has_bonus)
    # a protocol without a cap leaves it to the study
    if design.max_sets is None or phrases == planned:
        return Check(label="Sets, cap and bonus match what people read")
    if study.instructions:
        instructions = "Make sure that your own instructions say this."
    elif protocol_instructions(study) != study.config.instructions:
        instructions = "People read what this study has."
    else:
        instructions = (
            "The protocol's instructions say what the document says: write your own under "
            "Instructions, with the sentence about the sets changed."
        )
    return Check(
        label="Sets, cap or bonus differ from the document's",
        remark=f"The document says {phrases}; this study has {planned}. {instructions}",
    )


def _describe_sets(size: int, most: int | None, *, has_bonus: bool) -> str:
    cap = "no cap of sets" if most is None else f"at most {count_of(most, 'set')}"
    bonus = "a bonus for all of them" if has_bonus else "no bonus"
    return f"{cap} of {size:,} and {bonus}" if most else f"sets of {size:,}, {cap} and {bonus}"


def _check_closing_date(study: Study) -> Check:
    is_past = study.closes_at is not None and study.closes_at <= now()
    problem = "The closing date is past. Choose a later one, or none." if is_past else ""
    return Check(
        label="The closing date is to come, or there is none",
        problem=problem,
        url_name=name_page("closes_at"),
    )


def _check_limits(
    study: Study, counts: Counts | None = None, work: Workload | None = None
) -> Check:
    """Any number of people would do, unless a limit keeps everyone from the largest group."""
    is_bound = study.groups == Study.Groups.TOGETHER and study.max_items is not None
    work = work or (measure_work(study, counts) if is_bound else None)
    if work is None or can_be_finished(work):
        return Check(label="The work can be finished")
    problem = (
        f"Nobody may be given more than {count_of(work.max_items or 0, work.unit)}, but a group "
        f"has {work.largest:,} and stays together. Set a higher limit, or none."
    )
    offers = tuple(find_offers(work, _NO_END))
    return Check(label="The work can be finished", problem=problem, offers=offers)


def check_people(study: Study, work: Workload | None = None, expected: int | None = None) -> Check:
    """Whether the people invited or wanted can finish the design; if not, what they could.

    `expected`: how many they are, as known; 0 where nobody is invited, or anyone may come.
    """
    work = work or measure_work(study)
    limits = _check_limits(study, work=work)
    if limits.problem:
        return limits
    expected = count_expected(study) if expected is None else expected
    needed, why = people_needed(study, work)
    if not expected or expected >= needed:
        return Check(
            label=f"The work can be finished by {count_of(needed, 'person', 'people')} or more"
        )
    you = f"You invite {count_of(expected, 'person', 'people')}"
    if expected >= fewest_people(work):
        you += ". They can finish only if they come in a lucky order"
        why = f"the last answers may be left to people who have met those {_met(work)} already"
        remark = f"{you}: {why}. With {needed:,} the order does not matter."
    else:
        remark = f"{you}, but {why}. Invite at least {count_of(needed, 'person', 'people')}."
    return Check(
        label="The work can be finished by the people you invite",
        remark=remark,
        offers=tuple(find_offers(work, expected, has_bonus=study.has_bonus)),
    )


def _met(work: Workload) -> str:
    return "items" if work.groups == Study.Groups.FREE else "groups"


def people_needed(study: Study, work: Workload | None = None) -> tuple[int, str]:
    """Return how many people finish this design in any order, and why so many."""
    work = measure_work(study) if work is None else work
    needed, most = feasibility.people_needed(work), most_each(work)
    if most is not None and needed > feasibility.people_needed(
        replace(work, max_sets=None, max_items=None)
    ):
        why = f"there are {work.answers:,} answers to give, and nobody may give more than {most:,}"
    elif work.groups == Study.Groups.ONCE and work.largest > 1:
        why = "nobody meets an input twice, and each of its outputs needs its answers"
    else:
        why = f"each {work.unit} is answered by {study.k} different people"
    return needed, why


def measure_work(study: Study, counts: Counts | None = None) -> Workload:
    """Return how much there is to answer, and how much of it each may do, in two queries.

    Groups are counted only where they matter: that reads every item.
    """
    counts = counts or count_kinds(study)
    is_free = study.groups == Study.Groups.FREE
    groups, sizes = (0, ()) if is_free else measure_groups(counts.main)
    return Workload(
        items=counts.items,
        group_count=groups,
        sizes=sizes,
        k=study.k,
        set_size=mains_per_set(study),
        max_sets=study.max_sets,
        max_items=study.max_items,
        groups=study.groups,
        is_size_fixed=mains_per_set(study) != study.set_size,
        unit=name_unit(study, counts.systems),
    )
