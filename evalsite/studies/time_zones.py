"""The time zone in which a study's pages show moments and take dates."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils.formats import date_format

from evalsite.studies.models import Study


def zone_of(study: Study) -> ZoneInfo:
    return ZoneInfo(study.time_zone)


def name_zone(study: Study) -> str:
    """Return what stands beside a time of day, such as "UTC" or "Europe/Berlin time"."""
    if study.time_zone == "UTC":
        return study.time_zone
    return f"{study.time_zone.replace('_', ' ')} time"


def format_local(study: Study, moment: datetime) -> str:
    """Return a moment in the study's time zone, with the zone's name."""
    local = moment.astimezone(zone_of(study))
    return f"{date_format(local, 'j F Y, H:i')} {name_zone(study)}"
