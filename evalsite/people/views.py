"""Facts of a study for participants' pages."""

from datetime import datetime
from typing import Any, cast

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.core.accounts.time_zones import zone_of
from evalsite.people.models import Recruitment
from evalsite.studies.models import Membership, Study
from evalsite.studies.set_size import items_per_set, mains_per_set
from evalsite.studies.summary_lines import format_money, minutes_per_set


def shut_sentence(study: Study) -> dict[str, Any]:
    """Say why no work is handed out now, in words for a participant."""
    if study.state == Study.State.DRAFT:
        return {
            "heading": _("This study has not started yet"),
            "sentence": _("Please come back later."),
        }
    if opens_later(study):
        return describe_opening(study)
    if study.state == Study.State.PAUSED:
        return {
            "heading": _("This study is paused"),
            "sentence": _("Please come back later with the same link. Your answers are saved."),
        }
    if study.is_open and study.joins_paused_at is not None:
        return {
            "heading": _("Nobody new can start right now"),
            "sentence": _("Please come back later. If you have started, use your own link."),
        }
    ended = study.closed_at or study.closes_at
    sentence = _("Thank you for your interest.")
    if ended:
        day = date_format(timezone.localtime(ended), "j F Y")
        sentence = f"{sentence} {_('It ended on %(day)s.') % {'day': day}}"
    return {"heading": _("This study is closed"), "sentence": sentence}


def opens_later(study: Study) -> bool:
    """Return whether the study is live, but nobody can start before a time that is set."""
    return study.state == Study.State.LIVE and study.is_before_opening


def describe_opening(study: Study) -> dict[str, Any]:
    """Say from when on people can start, in the time zone of who made the study."""
    opens_at = cast(datetime, study.opens_at)
    owners = study.memberships.filter(role=Membership.Role.OWNER).select_related("user__profile")
    owner = owners.order_by("pk").first()
    zone = zone_of(None if owner is None else owner.user)
    moment = date_format(opens_at.astimezone(zone), "j F Y, H:i")
    return {
        "heading": _("You can start on %(moment)s (%(zone)s)")
        % {"moment": moment, "zone": zone.key.replace("_", " ")},
        "sentence": _("Please come back then with the same link."),
    }


def study_facts(study: Study, recruitment: Recruitment) -> list[tuple[str, str, str]]:
    """Return time, pay and size of a set: term, value, and a note in small print."""
    # no more than a set has are counted; a draft may have none yet
    items = study.items.main().open()[: mains_per_set(study)].count() or None
    minutes, pay = minutes_per_set(study, items), study.pay_per_set
    about = ngettext("about %(minutes)s minute", "about %(minutes)s minutes", minutes)
    facts = [(_("Time"), about % {"minutes": minutes}, "")]
    if pay is not None:
        hourly = format_money(pay * 60 / minutes, study.currency)
        an_hour = _("%(amount)s an hour") % {"amount": hourly}
        facts.append((_("Pay"), format_money(pay, study.currency), an_hour))
    return [
        *facts,
        (study.config.item.names, str(items_per_set(study, items)), ""),
        (_("Works on a phone"), _("no") if recruitment.refuses_phones else _("yes"), ""),
    ]
