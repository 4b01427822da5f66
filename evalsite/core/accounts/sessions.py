"""The devices on which one is signed in."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from evalsite.core.accounts.models import CacheEntry
from evalsite.core.audit.account_log import delete_old_events
from evalsite.core.jobs.schedule import DAILY, scheduled
from evalsite.lib.clock import now

SESSION, LONG_SESSION = timedelta(hours=12), timedelta(days=30)
# without a request; sessions of 30 days go on
IDLE = timedelta(hours=4)
_SEEN, _ENDS, _IS_LONG = "account_seen_at", "account_ends_at", "account_is_long"
_SEEN_EVERY = timedelta(minutes=1)
# the first that matches: Edge and Opera call themselves Chrome, and Chrome calls itself Safari
_BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"), ("Chrome", "Chrome"), ("Safari", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
    ("Mac OS X", "Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Device:
    """One sign-in, as its owner knows it."""

    pk: int
    name: str
    signed_in_at: datetime
    seen_at: datetime
    is_this: bool


def list_devices(request: HttpRequest) -> list[Device]:
    """Return where this person is signed in, this device first."""
    alive = Session.objects.filter(expire_date__gt=now()).values("session_key")
    devices = [
        Device(
            pk=session.pk,
            name=describe_browser(session.user_agent),
            signed_in_at=session.created_at,
            seen_at=session.last_seen_at,
            is_this=session.session_key == request.session.session_key,
        )
        for session in UserSession.objects.filter(user_id=request.user.pk, session_key__in=alive)
    ]
    return sorted(devices, key=lambda device: (not device.is_this, -device.seen_at.timestamp()))


def end_sessions(request: HttpRequest, *, only: int | None = None) -> int:
    """Sign this person out on another device, or on all others; return how many that were."""
    sessions = UserSession.objects.filter(user_id=request.user.pk).exclude(
        session_key=request.session.session_key
    )
    if only is not None:
        sessions = sessions.filter(pk=only)
    ended = list(sessions)
    for session in ended:
        session.end()
    return len(ended)


def describe_browser(user_agent: str) -> str:
    """Return "Firefox on Linux", or what is known of it."""
    browser = next((name for mark, name in _BROWSERS if f"{mark}/" in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if re.search(mark, user_agent)), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "Unknown device"


class LastUsed:
    """Note every minute that a session is in use; pages that need no session pass."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        session: Any = request.session
        if session.accessed and _SEEN in session:
            self._note(request)
        return response

    def _note(self, request: HttpRequest) -> None:
        moment = now()
        passed = moment - datetime.fromisoformat(request.session[_SEEN])
        # negative: noted while the clock was ahead
        if timedelta() <= passed < _SEEN_EVERY:
            return
        _renew(request.session)
        UserSession.objects.filter(session_key=request.session.session_key).update(
            last_seen_at=moment
        )


def begin_session(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """Have the use of a new session noted, and its end set unless the form has set it."""
    if _ENDS in request.session:
        _renew(request.session)
    else:
        set_term(request.session, SESSION)


def set_term(session: Any, term: timedelta) -> None:
    """End the session after this time, or after four hours without a request."""
    session[_ENDS] = (now() + term).isoformat()
    session[_IS_LONG] = term == LONG_SESSION
    _renew(session)


def _renew(session: Any) -> None:
    moment = now()
    session[_SEEN] = moment.isoformat()
    if _ENDS not in session:
        return  # signed in with an older version
    ends_at = datetime.fromisoformat(session[_ENDS])
    session.set_expiry(ends_at if session[_IS_LONG] else min(ends_at, moment + IDLE))


@scheduled("Delete old lines of the log of sign-ins", every=DAILY, is_deleting=True)
def delete_old_sign_ins() -> str:
    """Keep the log of accounts for 180 days."""
    deleted = delete_old_events()
    return f"{deleted} deleted" if deleted else ""


@scheduled("Delete ended sessions", every=DAILY, is_deleting=True)
def delete_ended_sessions() -> str:
    """Delete sessions and counts of failed sign-ins that have ended."""
    moment = now()
    ended, _ = Session.objects.filter(expire_date__lt=moment).delete()
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    CacheEntry.objects.filter(expires__lt=moment).delete()
    return f"{ended} deleted" if ended else ""
