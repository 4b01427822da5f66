"""What an ethics committee asks of a study, as far as its set-up knows."""

from collections.abc import Iterator

from evalsite.lib.words import count_of, list_of
from evalsite.participation.sets import BREAK_EVERY
from evalsite.results.document.blocks import Block, Document, Heading, Sentence, isolate
from evalsite.results.documents.study_context import (
    Context,
    collect_context,
    count_open,
    describe_practice,
    list_named,
    list_questions,
    quote_texts,
    state,
)
from evalsite.studies.consent_sentences import MOST_IDENTITY_DAYS
from evalsite.studies.models import Study


def make_ethics(study: Study) -> Document:
    """Return what an ethics committee asks, as far as the study knows."""
    context = collect_context(study)
    parts = {
        "Purpose": _list_purpose,
        "Who is asked": _list_asked,
        "What they do, screen by screen": _list_screens,
        "Pay": _list_pay,
        "Risks": _list_risks,
        "Data": _list_data,
        "Withdrawal and contacts": _list_contacts,
    }
    blocks: list[Block] = [
        Sentence(
            "purpose",
            "Made from the study’s set-up, to be copied into the committee’s own form. What only "
            "you know is marked.",
        )
    ]
    for title, make in parts.items():
        blocks += [Heading(title, 2), *make(context)]
    blocks += list_questions(context)
    names = {"First page": "summary", "Consent": "consent", "Instructions": "instructions"}
    blocks += quote_texts(context, "Texts for participants", names)
    return Document(
        f"For an ethics application: {isolate(context.texts['title'])}", count_open(blocks)
    )


def _list_purpose(context: Context) -> Iterator[Sentence]:
    labels = [criterion.label for criterion in context.config.criteria]
    yield state("Study", isolate(context.texts["title"]))
    yield state("Run by", isolate(context.texts["organisation"]))
    yield state("Research question")
    yield state(
        "Method",
        f"people rate texts with “{isolate(context.config.title)}” on "
        f"{count_of(len(labels), 'criterion', 'criteria')}: {list_named(labels)}",
    )
    counts = f"{count_of(context.systems, 'system')}, {count_of(context.inputs, 'input')}"
    yield state("Where the texts come from", counts if context.items else "")


def _list_asked(context: Context) -> Iterator[Sentence]:
    settings, work = context.settings, context.work
    yield state("Recruitment", context.describe_rounds())
    yield state(
        "Conditions",
        context.eligibility_rule or "none: anyone with a link may take part",
    )
    age = settings["minimum_age"]
    yield state(
        "Minimum age", f"{age} years; each person confirms it with the consent" if age else ""
    )
    most = settings["max_sets"]
    number = f"enough for {count_of(work.sets, 'set')} of work" if work else ""
    yield state(
        "Number of people", number + (f", at most {most:,} for one person" if work and most else "")
    )
    yield state("Vulnerable groups")


def _list_screens(context: Context) -> Iterator[Sentence]:
    settings = context.settings
    time = "how long it takes and what it pays" if context.is_paid else "how long it takes"
    separator = ", " if context.is_paid else " and "
    yield state("First page", f"what the study is about{separator}{time}")
    yield state(
        "Consent",
        "a short notice on the first page, to which Start agrees"
        if settings["has_notice"]
        else "the consent text; people agree or decline, and declining ends the study for them",
    )
    if context.questions:
        labels = [label for label, _ in context.questions]
        yield state("Questions about the person", list_named(labels))
    yield state("Instructions", "the full text, which stays one click away during the work")
    if settings["is_check_on"]:
        yield state("Check of the instructions", "questions on the instructions, with two tries")
    if context.has_practice:
        yield state("Practice", describe_practice(settings, has_practice=True))
    yield state(
        "Ratings",
        f"{count_of(settings['set_size'], 'item')} in a set, each with its texts and questions "
        "together; answers can be changed until the set is finished",
    )
    if context.background:
        labels = [label for label, _ in context.background]
        yield state("Questions after the work", f"{list_named(labels)}; each may be left empty")
    pay = ", and what the person needs to be paid" if context.is_paid else ""
    yield state("Last page", f"thanks{pay}")
    most = settings["max_sets"]
    limit = f", at most {count_of(most, 'set')}" if most else ""
    yield state("Time", f"about {count_of(context.minutes, 'minute')} for a set{limit}")


def _list_pay(context: Context) -> Iterator[Sentence]:
    yield state("Pay", context.describe_pay())
    yield state("Pay per hour", context.hourly)
    yield state("If someone stops early")
    if context.refusals is not None:
        reasons = "; ".join(context.refusals) or "none"
        yield state(
            "Reasons to refuse pay",
            f"{reasons}. A person decides, never because of an opinion or an uncommon rating",
        )


def _list_risks(context: Context) -> Iterator[Sentence]:
    warning = context.study.content_warning
    yield state(
        "Content of the texts",
        f"people are warned on the first page: {isolate(warning)}" if warning else "",
    )
    skip = "skip an item without losing pay; " if warning else ""
    act = "ignore an item with a reason, or report it" if context.config.has_ignore else (
        "report an item, or stop"
    )  # fmt: skip
    yield state("What people can do about a text", skip + act)
    yield state("Deception", "none, except that people aren’t told which system wrote a text")
    yield state("Strain", f"a break is suggested after every {BREAK_EVERY:,} items")


def _list_data(context: Context) -> Iterator[Sentence]:
    study = context.study
    answers = ", answers to questions about the person"
    yield state(
        "Data kept about each person",
        "ratings, when they were given and how long they took, comments, the order of what was "
        "shown, the class of the device (phone, tablet or computer)"
        + (answers if context.questions or context.background else ""),
    )
    yield state("Names", "people appear under random pseudonyms; no cookie is set on their pages")
    kinds = [
        *(["the platform’s ids of people"] if context.has_ids else []),
        *(["names and e-mail addresses of people invited by name"] if context.invited else []),
    ]
    apart = "kept apart from ratings and shown only to people with permission"
    yield state("Identities", f"{list_of(kinds)}, {apart}" if kinds else "none")
    days = study.recognise_days if context.has_ids else None
    yield state(
        "Recognition in later studies",
        f"a code made from the platform’s id, for {count_of(days, 'day')}; the id can’t be read "
        "from it"
        if days
        else "none",
    )
    yield state("Where the data is stored")
    kept = f"{count_of(context.identity_days, 'day')} after the study closes"
    if study.pay_per_set is not None:
        kept += (
            " or after the last decision on pay, whichever is later, and at most "
            f"{count_of(MOST_IDENTITY_DAYS, 'day')} after it closes"
        )
    yield state("How long identities are kept", kept if kinds else "none are kept")
    yield state("How long answers are kept", isolate(context.settings["answers_kept_for"]))
    shared = "only answers of people who agree to that, in a box of its own that nobody has to tick"
    yield state("What is published", shared if study.asks_to_share else "")
    yield state("Who has access", "the researchers of the study; each download is recorded")


def _list_contacts(context: Context) -> Iterator[Sentence]:
    settings, texts = context.settings, context.texts
    until = settings["withdrawable_until"] or "the study closes"
    yield state(
        "How to withdraw",
        "on the person’s own page, at any time, without a reason; the answers are then kept or "
        f"deleted, as the person chooses; they can be deleted until {until}",
    )
    name, email = isolate(texts["contact_name"]), texts["contact_email"]
    yield state("Contact", f"{name} ({email})" if name and email else email)
    yield state(
        "Responsible for the data", isolate(settings["responsible"] or texts["organisation"])
    )
    yield state("Ethics board", isolate(settings["ethics_approval"]))
    yield state("Complaints", isolate(settings["complaints"] or email))
