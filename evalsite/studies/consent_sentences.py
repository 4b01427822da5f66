"""What people agree to: the researcher's own words, then the sentences that follow the settings."""

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import override

from evalsite.instruments.schema import Instrument

# the days after the end of a study by which identities are deleted in any case
MOST_IDENTITY_DAYS = 180
# where a setting is missing that people have to know
MISSING = "…"
# "[name]", but not the words of a link
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\](?!\()|\[[^\[\]\n]*$", re.MULTILINE)
_SENTENCE = re.compile(r"^- |[.!?](?=\s|$)", re.MULTILINE)


def count_identity_days() -> int:
    """Return how many days a new study keeps identities after its end, unless it says another."""
    return min(settings.IDENTITY_DAYS, MOST_IDENTITY_DAYS)


def write_consent(study: Any, config: Instrument) -> str:
    """Return what people agree to, as Markdown in the language of the study."""
    with override(study.language):
        text = write_standard(study, config)
    return "\n\n".join(filter(None, (study.consent.strip(), text)))


def write_standard(study: Any, config: Instrument) -> str:
    """Return the sentences that follow the settings: a short notice, or the page's."""
    if study.has_notice:
        return " ".join(_list_notice(study, config))
    return "\n\n".join(_list_parts(study, config))


def count_sentences(study: Any, config: Instrument) -> int:
    """Return how many sentences and lines of a list follow the settings."""
    return len(_SENTENCE.findall(write_standard(study, config)))


def find_placeholders(text: str) -> list[str]:
    """Return the places in square brackets that the researcher has not filled in yet."""
    return _PLACEHOLDER.findall(text)


def _list_notice(study: Any, config: Instrument) -> Iterator[str]:
    *first, last = [_("your name"), *_list_kept(study, config)]
    kept = _("%(first)s and %(last)s") % {"first": ", ".join(first), "last": last}
    yield _("We keep %(kept)s. The team of this study sees them.") % {"kept": kept}
    yield from _list_terms(study)
    yield _("We delete your name %(days)s days after the study closes.") % {
        "days": study.identity_days
    }
    yield _write_leaving(study)
    if study.ethics_approval:
        yield _write_ethics(study)


def _list_parts(study: Any, config: Instrument) -> Iterator[str]:
    """List headings and paragraphs of the consent page."""
    yield f"## {_('What this is for')}"
    yield _("We use your answers to find out how good these texts are.")
    yield f"## {_('What we keep')}"
    of_person = _(
        "your ID if you come from a platform, and your name or e-mail address if we invited you: "
        "separately from your answers"
    )
    yield "\n".join(f"- {capfirst(line)}" for line in (*_list_kept(study, config), of_person))
    yield " ".join(_list_terms(study))
    yield f"## {_('Who sees your ID, and how long we keep it')}"
    yield _write_ids(study)
    yield f"## {_('If you change your mind')}"
    yield _write_leaving(study)
    yield f"## {_('Pay, contact, approval')}"
    contact = [_write_pay(study), _write_contact(study)]
    yield " ".join([*contact, _write_ethics(study)] if study.ethics_approval else contact)
    yield _write_responsible(study)


def _list_kept(study: Any, config: Instrument) -> Iterator[str]:
    yield _("your answers")
    if config.has_note:
        yield _("your comments")
    yield _("how long each item took")
    before = bool(config.eligibility) and study.is_eligibility_on
    after = bool(study.questions.get("background"))
    if before and after:
        yield _("your answers to the questions about you, before and after the task")
    elif before:
        yield _("your answers to the questions about you before the task")
    elif after:
        yield _("your answers to the questions about you after the task")
    if study.is_check_on and study.checks_per_person:
        yield _("how you did on the checks of the instructions and of attention")
    elif study.is_check_on:
        yield _("how you did on the check of the instructions")
    elif study.checks_per_person:
        yield _("how you did on the checks of attention")
    yield _("whether your screen has the width of a phone, a tablet or a computer")


def _list_terms(study: Any) -> Iterator[str]:
    """List for how long answers are kept, and whether they are published."""
    if study.answers_kept_for or not study.has_notice:
        kept_for = study.answers_kept_for or MISSING
        yield _("We keep your answers for %(time)s.") % {"time": kept_for}
    if study.asks_to_share:
        yield _(
            "Answers of people who agree to this are published, without their IDs. You choose "
            "below. If you don’t agree, only our team uses your answers."
        )


def _write_ids(study: Any) -> str:
    days = {"days": study.identity_days, "most": MOST_IDENTITY_DAYS}
    if study.pay_per_set is None:
        words = _(
            "Only the people in our team who manage the study can see your ID. We delete it "
            "%(days)s days after the study closes."
        )
    else:
        words = _(
            "Only the people in our team who handle pay can see your ID. We delete it %(days)s "
            "days after the study closes or after the last decision on pay, whichever is later, "
            "and at most %(most)s days after the study closes."
        )
    if not study.recognise_days:
        return words % days
    recognised = _(
        "For %(days)s days, a code made from your ID lets us recognise you in our later "
        "studies. Your ID can’t be read from it."
    )
    return f"{words % days} {recognised % {'days': study.recognise_days}}"


def _write_leaving(study: Any) -> str:
    if study.pay_per_set is None:
        stop = _("You can stop at any time without giving a reason.")
    else:
        stop = _(
            "You can stop at any time without giving a reason, and you’ll be paid for the items "
            "you finished."
        )
    if study.withdrawable_until is None:
        delete = _(
            "Until the study closes, you can have your answers deleted with “Delete my answers” "
            "on the last page."
        )
    else:
        delete = _(
            "Until %(day)s, you can have your answers deleted with “Delete my answers” on the "
            "last page."
        ) % {"day": date_format(study.withdrawable_until, "j F Y")}
    if not study.asks_to_share:
        return f"{stop} {delete}"
    share = _("As long as your link works, you can change whether they may be shared.")
    return f"{stop} {delete} {share}"


def _write_pay(study: Any) -> str:
    # rounds may pay more or less than the study
    if study.pay_per_set is None:
        return _("You aren’t paid for taking part.")
    return _("The first page says what you’re paid for a set, and about how long a set takes.")


def _write_contact(study: Any) -> str:
    who = ", ".join(filter(None, (study.contact_name, study.contact_email)))
    if not who:
        return _("Questions? Write to the address at the bottom of every page.")
    return _("Questions? Write to %(who)s.") % {"who": who}


def _write_ethics(study: Any) -> str:
    return _("Ethics approval: %(approval)s.") % {"approval": study.ethics_approval.rstrip(".")}


def _write_responsible(study: Any) -> str:
    who = study.responsible or study.organisation or _("The team that runs this study")
    responsible = _("%(who)s is responsible for your data.") % {"who": who}
    address = study.complaints or study.contact_email
    if not address:
        complain = _("If you have a complaint, tell us, or contact your data protection authority.")
    else:
        complain = _(
            "If you have a complaint, write to %(address)s, or contact your data protection "
            "authority."
        ) % {"address": address}
    return f"{responsible} {complain}"
