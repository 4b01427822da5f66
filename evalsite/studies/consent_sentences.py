"""Sentences of the consent text that follow from the study's settings, in place of its marks."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import override

from evalsite.instruments.schema import Instrument

_MARK = re.compile(r"\[SETTINGS: ([^\]]+)\]")
# the days after the end of a study by which identities are deleted in any case
MOST_IDENTITY_DAYS = 180


def count_identity_days() -> int:
    """Return how many days a study that is launched now keeps identities after its end."""
    return min(settings.IDENTITY_DAYS, MOST_IDENTITY_DAYS)


def fill_in(study: Any, config: Instrument) -> str:
    """Return the consent text as people read it, in the language of the study.

    A mark that names nothing stays.
    """

    def write(mark: re.Match[str]) -> str:
        sentences = _SENTENCES.get(mark[1].strip().lower())
        return mark[0] if sentences is None else sentences(study, config)

    with override(study.language):
        return _MARK.sub(write, study.consent)


def find_unknown_marks(text: str) -> list[str]:
    """Return the marks in a consent text that nothing is filled in for."""
    return [mark[0] for mark in _MARK.finditer(text) if mark[1].strip().lower() not in _SENTENCES]


def _write_kept(study: Any, config: Instrument) -> str:
    kept = "\n".join(f"- {line}" for line in _list_kept(study, config))
    if not study.asks_to_share:
        return kept
    shared = _(
        "Answers of people who agree to this are published, without their IDs. You choose below. "
        "If you don’t agree, only our team uses your answers."
    )
    return f"{kept}\n\n{shared}"


def _list_kept(study: Any, config: Instrument) -> Iterator[str]:
    if config.has_note:
        yield _("Your answers, your comments and how long each item took.")
    else:
        yield _("Your answers and how long each item took.")
    before = bool(config.eligibility) and study.is_eligibility_on
    after = bool(study.questions.get("background"))
    if before and after:
        yield _("Your answers to the questions about you, before and after the task.")
    elif before:
        yield _("Your answers to the questions about you before the task.")
    elif after:
        yield _("Your answers to the questions about you after the task.")
    if study.is_check_on and study.checks_per_person:
        yield _("How you did on the checks of the instructions and of attention.")
    elif study.is_check_on:
        yield _("How you did on the check of the instructions.")
    elif study.checks_per_person:
        yield _("How you did on the checks of attention.")
    yield _("Whether your screen has the width of a phone, a tablet or a computer.")
    yield _(
        "If you come from a platform, your ID there; if we invited you, your name or e-mail "
        "address. We keep them separately from your answers."
    )


def _write_ids(study: Any, config: Instrument) -> str:
    days = {"days": count_identity_days(), "most": MOST_IDENTITY_DAYS}
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
    sentences = [words % days]
    if study.recognise_days:
        sentences.append(
            _(
                "For %(days)s days, a code made from your ID lets us recognise you in our later "
                "studies. Your ID can’t be read from it."
            )
            % {"days": study.recognise_days}
        )
    return " ".join(sentences)


def _write_leaving(study: Any, config: Instrument) -> str:
    if study.pay_per_set is None:
        stop = _("You can stop at any time without giving a reason.")
    else:
        stop = _(
            "You can stop at any time without giving a reason, and you’ll be paid for the items "
            "you finished."
        )
    delete = _(
        "For as long as your personal link works, you can have your answers deleted with “Delete "
        "my answers” on the last page."
    )
    if not study.asks_to_share:
        return f"{stop} {delete}"
    share = _("For as long, you can change whether your answers may be shared.")
    return f"{stop} {delete} {share}"


def _write_pay(study: Any, config: Instrument) -> str:
    # rounds may pay more or less than the study
    if study.pay_per_set is None:
        return _("You aren’t paid for taking part.")
    return _("The first page says what you’re paid for a set, and about how long a set takes.")


def _write_contact(study: Any, config: Instrument) -> str:
    who = ", ".join(filter(None, (study.contact_name, study.contact_email)))
    if not who:
        return _("Write to the address at the bottom of every page.")
    return _("Write to %(who)s.") % {"who": who}


def _write_responsible(study: Any, config: Instrument) -> str:
    who = study.organisation or study.contact_name or _("The team that runs this study")
    words = _(
        "%(who)s is responsible for your data. If you have a complaint, tell us, or contact your "
        "data protection authority."
    )
    return words % {"who": who}


_SENTENCES: Mapping[str, Callable[[Any, Instrument], str]] = {
    "what we keep": _write_kept,
    "who sees your id": _write_ids,
    "changing your mind": _write_leaving,
    "pay": _write_pay,
    "whom to ask": _write_contact,
    "who is responsible": _write_responsible,
}
