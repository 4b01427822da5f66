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

from evalsite.people.platforms.contract import SAFE_ID, Parameter, Platform, are_safe
from evalsite.people.platforms.table import installed_platforms

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

    # the scope in which an id means one person: its platform, and more where needed; "": no id
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
        """Return the id by which this person is recognised: no two differ by case alone."""
        return self.person_id.lower()

    @property
    def has_safe_ids(self) -> bool:
        return are_safe(self.person_id, self.visit_id, self.platform_study_id)


# the values of each parameter of a link, by its name in lower case
Parameters = Mapping[str, Sequence[str]]


def find_named_platform(query: QueryDict) -> Platform | None:
    """Return the platform that a link without a round names by its parameters, if any."""
    parameters = _collect(query)
    platforms = [p for p in installed_platforms().values() if p.person is not None]
    for platform in platforms:
        if platform.person is not None and platform.person.name.casefold() in parameters:
            return platform
    for platform in platforms:
        telling = [
            parameter.name.casefold()
            for parameter in (platform.visit, platform.study)
            if parameter is not None and parameter.is_telling
        ]
        has_lost_person = any(name in parameters for name in telling)
        if has_lost_person or _is_preview(platform, {}, parameters):
            return platform
    return None


def read_arrival(
    query: QueryDict, platform: Platform, settings: Mapping[str, str], namespace: str
) -> Arrival:
    """Return who arrives by the link of a round; raise BadArrival if it doesn't name one person.

    `namespace`: the scope in which an id means one person.
    """
    parameters = _collect(query)
    person = platform.find_person(settings)
    if person is None:
        return Arrival()
    if _is_preview(platform, settings, parameters):
        return Arrival(is_preview=True)
    if person.name.casefold() not in parameters:
        if platform.needs_person:
            raise BadArrival(Problem.MISSING)
        return Arrival()
    visit_id, is_visit_bad = _read_optional(platform.find_visit(settings), parameters)
    study_id, is_study_bad = _read_optional(platform.study, parameters)
    bad_visit = Flag.POSSIBLE_PREVIEW if platform.has_odd_previews else Flag.BAD_VISIT_ID
    flags = [(is_visit_bad, bad_visit), (is_study_bad, Flag.BAD_STUDY_ID)]
    return Arrival(
        namespace=namespace,
        person_id=_read_person(person, parameters),
        visit_id=visit_id,
        platform_study_id=study_id,
        flags=tuple(flag.value for is_raised, flag in flags if is_raised),
    )


def read_typed(
    text: str, platform: Platform, settings: Mapping[str, str], namespace: str
) -> Arrival:
    """Return who typed this id; raise BadArrival if it doesn't look like one.

    Anyone can type it, so it never opens what someone else has started.
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
    parameters: defaultdict[str, list[str]] = defaultdict(list)
    for name, values in query.lists():
        parameters[name.casefold()] += [_AROUND.sub("", str(value)) for value in values]
    return dict(parameters)


def _read_person(person: Parameter, parameters: Parameters) -> str:
    values = parameters[person.name.casefold()]
    if any(mark in value for value in values for mark in _PLACEHOLDERS):
        raise BadArrival(Problem.NOT_FILLED_IN)
    if not any(values):
        raise BadArrival(Problem.MISSING)
    person_id = _read_one(person, values)
    if not person_id:
        raise BadArrival(Problem.MALFORMED)
    return person_id


def _read_optional(parameter: Parameter | None, parameters: Parameters) -> tuple[str, bool]:
    """Return a visit's or a study's id, and whether one was sent that can't be used."""
    values = parameters.get(parameter.name.casefold(), []) if parameter else []
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


def _is_preview(platform: Platform, settings: Mapping[str, str], parameters: Parameters) -> bool:
    visit = platform.find_visit(settings)
    if visit is None or not platform.preview_visit:
        return False
    return platform.preview_visit in parameters.get(visit.name.casefold(), [])


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
