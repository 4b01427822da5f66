"""Arrival from a platform: the ids that a join link carries.

An id identifies a person; it is no password. Reading one stores nothing.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from django.core import signing
from django.http import QueryDict

from evalsite.platforms.contract import SAFE_ID, Parameter, Platform, are_safe
from evalsite.platforms.table import installed_platforms

_SALT = "evalsite.arrival"
# left in the link when the platform did not fill in its placeholder
_PLACEHOLDERS = ("{{", "%}", "[[", "${", "[ID]", "%SURVEY_CODE%")
# what may stand around an id that was copied; never what begins a line, as U+2028 does
_SPACE = r"(?:(?![\u2028\u2029])[\s\u00a0\u200b-\u200d\u2060\ufeff])+"
_AROUND = re.compile(rf"\A{_SPACE}|{_SPACE}\Z")


class Flag(StrEnum):
    """What was odd about an arrival that was let in."""

    POSSIBLE_PREVIEW = "possible preview"
    BAD_VISIT_ID = "bad visit id"
    BAD_STUDY_ID = "bad study id"
    TYPED = "typed"


class Problem(StrEnum):
    """Why an arrival link can't be used."""

    MISSING = "missing"
    MALFORMED = "malformed"
    NOT_FILLED_IN = "not filled in"
    # typed by a person, while somebody has started with it
    KNOWN = "known"


class BadArrival(Exception):
    """The link belongs to a platform, but doesn't say who has arrived."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A person who arrives: their id on their platform, and their visit."""

    # the names of the platform and of what its ids mean one person in; "": no id was sent
    namespace: str = ""
    # as the platform writes it
    person_id: str = ""
    visit_id: str = ""
    platform_study_id: str = ""
    flags: tuple[str, ...] = ()
    is_preview: bool = False
    # the token of the link that Start makes for a new person, so that pressing it twice is once
    token: str = ""

    @property
    def is_typed(self) -> bool:
        return Flag.TYPED in self.flags

    @property
    def key(self) -> str:
        """The id by which this person is recognised: no two differ by case alone."""
        return self.person_id.lower()

    @property
    def has_safe_ids(self) -> bool:
        return are_safe(self.person_id, self.visit_id, self.platform_study_id)


Given = Mapping[str, Sequence[str]]


def find_named_platform(query: QueryDict) -> Platform | None:
    """Return the platform that a link without a round names by its parameters, if any."""
    given = _collect(query)
    platforms = [one for one in installed_platforms().values() if one.person is not None]
    for platform in platforms:
        if platform.person is not None and platform.person.name.casefold() in given:
            return platform
    for platform in platforms:
        if _is_preview(platform, {}, given) or _has_lost_person(platform, given):
            return platform
    return None


def read_arrival(
    query: QueryDict, platform: Platform, settings: Mapping[str, str], namespace: str
) -> Arrival:
    """Return who arrives by the link of a round; raise BadArrival if it doesn't name one person.

    `namespace`: within what an id means one person.
    """
    given = _collect(query)
    person = platform.find_person(settings)
    if person is None:
        return Arrival()
    if _is_preview(platform, settings, given):
        return Arrival(is_preview=True)
    if person.name.casefold() not in given:
        if platform.needs_person:
            raise BadArrival(Problem.MISSING)
        return Arrival()
    visit_id, is_visit_bad = _read_optional(platform.find_visit(settings), given)
    study_id, is_study_bad = _read_optional(platform.study, given)
    bad_visit = Flag.POSSIBLE_PREVIEW if platform.has_odd_previews else Flag.BAD_VISIT_ID
    flags = [(is_visit_bad, bad_visit), (is_study_bad, Flag.BAD_STUDY_ID)]
    return Arrival(
        namespace=namespace,
        person_id=_read_person(person, given),
        visit_id=visit_id,
        platform_study_id=study_id,
        flags=tuple(flag.value for is_raised, flag in flags if is_raised),
    )


def read_typed(
    text: str, platform: Platform, settings: Mapping[str, str], namespace: str
) -> Arrival:
    """Return who typed this id; raise BadArrival if it doesn't look like one.

    Anybody can type it, so it never opens what somebody else has started.
    """
    person = platform.find_person(settings)
    if person is None or not text.strip():
        raise BadArrival(Problem.MISSING)
    return Arrival(
        namespace=namespace,
        person_id=_read_person(person, {person.name.casefold(): [_AROUND.sub("", text)]}),
        flags=(Flag.TYPED.value,),
    )


def _collect(query: QueryDict) -> dict[str, list[str]]:
    given: defaultdict[str, list[str]] = defaultdict(list)
    for name, values in query.lists():
        given[name.casefold()] += [_AROUND.sub("", str(value)) for value in values]
    return dict(given)


def _read_person(person: Parameter, given: Given) -> str:
    values = given[person.name.casefold()]
    if any(_is_placeholder(value) for value in values):
        raise BadArrival(Problem.NOT_FILLED_IN)
    if not any(values):
        raise BadArrival(Problem.MISSING)
    person_id = _read_one(person, values)
    if not person_id:
        raise BadArrival(Problem.MALFORMED)
    return person_id


def _read_optional(parameter: Parameter | None, given: Given) -> tuple[str, bool]:
    """Return a visit's or a study's id, and whether one was sent that can't be used."""
    values = given.get(parameter.name.casefold(), []) if parameter else []
    if parameter is None or not any(values):
        return "", False
    value = _read_one(parameter, values)
    return value, not value


def _read_one(parameter: Parameter, values: Sequence[str]) -> str:
    """Return the well-formed id that all of the values spell, or "" if there is none."""
    spelled = {parameter.spell(value) for value in values}
    value = spelled.pop()
    is_good = SAFE_ID.fullmatch(value) and parameter.pattern.fullmatch(value)
    return value if not spelled and is_good else ""


def _is_placeholder(value: str) -> bool:
    return any(mark in value for mark in _PLACEHOLDERS)


def _is_preview(platform: Platform, settings: Mapping[str, str], given: Given) -> bool:
    visit = platform.find_visit(settings)
    if visit is None or not platform.preview_visit:
        return False
    return platform.preview_visit in given.get(visit.name.casefold(), [])


def _has_lost_person(platform: Platform, given: Given) -> bool:
    others = (platform.visit, platform.study)
    return any(
        one is not None and one.is_telling and one.name.casefold() in given for one in others
    )


def sign_arrival(arrival: Arrival, study_id: UUID, number: int) -> str:
    """Return the arrival as text for a hidden field of this round's first page."""
    named = replace(arrival, token=arrival.token or token_urlsafe(16))
    return signing.dumps(asdict(named), salt=f"{_SALT}.{study_id}.{number}")


def open_arrival(text: str, study_id: UUID, number: int) -> Arrival:
    """Return the arrival that `sign_arrival` wrote; raise BadArrival for anything else."""
    try:
        data: dict[str, Any] = signing.loads(text, salt=f"{_SALT}.{study_id}.{number}")
    except (signing.BadSignature, UnicodeError) as error:
        raise BadArrival(Problem.MALFORMED) from error
    arrival = Arrival(**data | {"flags": tuple(data["flags"])})
    # the page may have been opened when ids could be anything
    if not arrival.has_safe_ids:
        raise BadArrival(Problem.MALFORMED)
    return arrival
