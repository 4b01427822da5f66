"""The time zone of a researcher: pages show them every moment in it, and take dates in it."""

from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.utils.formats import date_format

from evalsite.core.accounts.models import find_profile

# what a person may choose: places, not the abbreviations and offsets beside them
_REGIONS = (
    "Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/",
    "Indian/", "Pacific/",
)  # fmt: skip


@cache
def list_time_zones() -> list[str]:
    """Return the time zones to choose from: UTC, then places."""
    return ["UTC", *sorted(name for name in available_timezones() if name.startswith(_REGIONS))]


def zone_of(user: Any) -> ZoneInfo:
    """Return the time zone of this account; nobody's is UTC."""
    return ZoneInfo(find_profile(user).time_zone)


def name_zone(zone: ZoneInfo) -> str:
    """Return what stands beside a time of day, such as "UTC" or "Europe/Berlin time"."""
    return zone.key if zone.key == "UTC" else f"{zone.key.replace('_', ' ')} time"


def format_local(moment: datetime, user: Any) -> str:
    """Return a moment in this person's time zone, with the zone's name."""
    zone = zone_of(user)
    return f"{date_format(moment.astimezone(zone), 'j F Y, H:i')} {name_zone(zone)}"
