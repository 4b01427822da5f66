"""How many sets one person may complete, and the bonus for completing them, in words."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.studies.models import Study
from evalsite.studies.summary_lines import format_money


def promises_bonus(study: Study) -> bool:
    """Return whether completing every set that the cap allows earns a bonus."""
    return study.has_bonus and study.max_sets is not None


def name_bonus(study: Study) -> str:
    """Return the bonus with its amount, if that is said: "bonus of £2.00"."""
    if not study.bonus:
        return _("bonus")
    return _("bonus of %(amount)s") % {"amount": format_money(study.bonus, study.currency)}


def cap_in_words(study: Study) -> str:
    """Return what is said before any work; nothing where there is no cap."""
    if study.max_sets is None:
        return ""
    cap = ngettext(
        "You can complete at most %(count)s set.",
        "You can complete at most %(count)s sets.",
        study.max_sets,
    ) % {"count": study.max_sets}
    return f"{cap} {bonus_in_words(study)}".strip()


def bonus_in_words(study: Study) -> str:
    """Return what earns the bonus, as a sentence; nothing where there is none."""
    if not promises_bonus(study):
        return ""
    words = ngettext(
        "Completing it earns a %(bonus)s.",
        "Completing all %(count)s earns a %(bonus)s.",
        study.max_sets or 0,
    )
    return words % {"count": study.max_sets, "bonus": name_bonus(study)}


def due_bonus_in_words(study: Study, finished: int) -> str:
    """Return the sentence for someone who finished this many sets and earned the bonus."""
    most = study.max_sets or 0
    if finished < most:
        words = _("You have completed all the sets available to you. The %(bonus)s is yours.")
    else:
        words = ngettext(
            "You have completed your set. The %(bonus)s is yours.",
            "You have completed all %(count)s sets. The %(bonus)s is yours.",
            most,
        )
    return words % {"count": most, "bonus": name_bonus(study)}


def open_bonus_in_words(study: Study, finished: int) -> str:
    """Return the sentence for someone who finished this many sets and may do more."""
    most = study.max_sets
    if most is None:
        return _("You can do another set if you like.")
    words = ngettext(
        "You’ve finished %(finished)s set and can do up to %(most)s.",
        "You’ve finished %(finished)s sets and can do up to %(most)s.",
        finished,
    ) % {"finished": finished, "most": most}
    if not promises_bonus(study):
        return words
    return f"{words} {bonus_in_words(study)}"
