"""Arrival from a recruiting platform: the ids that its join link carries.

An id identifies a person; it is no password. Reading one stores nothing.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from re import Pattern
from typing import Any
from uuid import UUID

from django.core import signing
from django.http import QueryDict

_SALT = "evalsite.arrival"
# left in the link when the platform did not fill in its placeholder
_PLACEHOLDERS = ("{{", "%}", "[[", "${", "[ID]", "%SURVEY_CODE%")
_SPACE = r"[\s\u00a0\u200b-\u200d\u2060\ufeff]+"
_AROUND = re.compile(rf"\A{_SPACE}|{_SPACE}\Z")
_HEX_24 = re.compile("[0-9a-f]{24}")
_CONNECT_ID = re.compile("[0-9A-Za-z]{8,64}")
_MTURK_ID = re.compile("[0-9A-Z]{20,40}")
_MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"


class Flag(StrEnum):
    """What was odd about an arrival that was let in."""

    POSSIBLE_PREVIEW = "possible preview"
    BAD_VISIT_ID = "bad visit id"
    BAD_STUDY_ID = "bad study id"


class Problem(StrEnum):
    """Why an arrival link can't be used."""

    MISSING = "missing"
    MALFORMED = "malformed"
    NOT_FILLED_IN = "not filled in"


class BadArrival(Exception):
    """The link belongs to a platform, but doesn't say who has arrived."""

    def __init__(self, problem: Problem, platform_label: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.platform_label = platform_label


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a join link: its name in any case, and what its value looks like."""

    name: str
    pattern: Pattern[str]
    # the platform's own spelling of an id, where its case means nothing
    spell: Callable[[str], str] = str
    # whether the person's id must have been lost if only this parameter is there
    is_telling: bool = False


@dataclass(frozen=True, kw_only=True)
class Platform:
    """How a platform's join link names a person, a visit (submission) and the platform's study."""

    name: str
    label: str
    person: Parameter
    visit: Parameter | None = None
    study: Parameter | None = None
    # what a researcher adds to the join link for the platform to fill in; "": it adds its own
    link_query: str = ""
    # the visit id of a preview, in which nobody takes part
    preview_visit: str = ""
    # whether the platform's preview shows itself by an odd visit id
    has_odd_previews: bool = False


# in this order: the first platform that the link names a person of is the one
PLATFORMS = (
    Platform(
        name="prolific",
        label="Prolific",
        person=Parameter(name="PROLIFIC_PID", pattern=_HEX_24, spell=str.lower),
        visit=Parameter(name="SESSION_ID", pattern=_HEX_24, spell=str.lower, is_telling=True),
        study=Parameter(name="STUDY_ID", pattern=_HEX_24, spell=str.lower, is_telling=True),
        link_query="PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
        "&SESSION_ID={{%SESSION_ID%}}",
        has_odd_previews=True,
    ),
    Platform(
        name="connect",
        label="Connect",
        person=Parameter(name="participantId", pattern=_CONNECT_ID),
        visit=Parameter(name="assignmentId", pattern=_CONNECT_ID),
        study=Parameter(name="projectId", pattern=_CONNECT_ID, is_telling=True),
    ),
    Platform(
        name="sona",
        label="SONA",
        person=Parameter(name="sona_id", pattern=re.compile("[1-9][0-9]{1,6}")),
        link_query="sona_id=%SURVEY_CODE%",
    ),
    Platform(
        name="mturk",
        label="Mechanical Turk",
        person=Parameter(name="workerId", pattern=re.compile("A[0-9A-Z]{9,20}"), spell=str.upper),
        # a plain survey link has no worker id, so neither of these shows that one was lost
        visit=Parameter(name="assignmentId", pattern=_MTURK_ID, spell=str.upper),
        study=Parameter(name="hitId", pattern=_MTURK_ID, spell=str.upper),
        preview_visit=_MTURK_PREVIEW,
    ),
)
LABELS = {platform.name: platform.label for platform in PLATFORMS}


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A person who arrives: their id on their platform, and their visit."""

    platform: str
    # as the platform writes it
    person_id: str = ""
    visit_id: str = ""
    platform_study_id: str = ""
    flags: tuple[str, ...] = ()
    is_preview: bool = False

    @property
    def key(self) -> str:
        """The id by which this person is recognised: no two differ by case alone."""
        return self.person_id.lower()


def list_links(join_url: str) -> list[tuple[Platform, str]]:
    """Return the links to paste on each platform that fills in its ids."""
    wanting = [platform for platform in PLATFORMS if platform.link_query]
    return [(platform, f"{join_url}?{platform.link_query}") for platform in wanting]


def read_arrival(query: QueryDict) -> Arrival | None:
    """Return who arrives by a link with these parameters, or None if it names no platform.

    Raise BadArrival if it names a platform but not one person.
    """
    given: defaultdict[str, list[str]] = defaultdict(list)
    for name, values in query.lists():
        given[name.casefold()] += [_AROUND.sub("", str(value)) for value in values]
    for platform in PLATFORMS:
        if platform.person.name.casefold() in given:
            return _read_platform(platform, given)
    for platform in PLATFORMS:
        if _is_preview(platform, given):
            return Arrival(platform=platform.name, is_preview=True)
        if _has_lost_person(platform, given):
            raise BadArrival(Problem.MISSING, platform.label)
    return None


def _read_platform(platform: Platform, given: dict[str, list[str]]) -> Arrival:
    if _is_preview(platform, given):
        return Arrival(platform=platform.name, is_preview=True)
    visit_id, is_visit_bad = _read_optional(platform.visit, given)
    study_id, is_study_bad = _read_optional(platform.study, given)
    bad_visit = Flag.POSSIBLE_PREVIEW if platform.has_odd_previews else Flag.BAD_VISIT_ID
    flags = [(is_visit_bad, bad_visit), (is_study_bad, Flag.BAD_STUDY_ID)]
    return Arrival(
        platform=platform.name,
        person_id=_read_person(platform, given),
        visit_id=visit_id,
        platform_study_id=study_id,
        flags=tuple(flag.value for is_raised, flag in flags if is_raised),
    )


def _read_person(platform: Platform, given: dict[str, list[str]]) -> str:
    values = given[platform.person.name.casefold()]
    if any(_is_placeholder(value) for value in values):
        raise BadArrival(Problem.NOT_FILLED_IN, platform.label)
    if not any(values):
        raise BadArrival(Problem.MISSING, platform.label)
    person_id = _read_one(platform.person, values)
    if not person_id:
        raise BadArrival(Problem.MALFORMED, platform.label)
    return person_id


def _read_optional(parameter: Parameter | None, given: dict[str, list[str]]) -> tuple[str, bool]:
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
    return value if not spelled and parameter.pattern.fullmatch(value) else ""


def _is_placeholder(value: str) -> bool:
    return any(mark in value for mark in _PLACEHOLDERS)


def _is_preview(platform: Platform, given: dict[str, list[str]]) -> bool:
    if platform.visit is None or not platform.preview_visit:
        return False
    return platform.preview_visit in given.get(platform.visit.name.casefold(), [])


def _has_lost_person(platform: Platform, given: dict[str, list[str]]) -> bool:
    others = (platform.visit, platform.study)
    return any(
        one is not None and one.is_telling and one.name.casefold() in given for one in others
    )


def sign_arrival(arrival: Arrival, study_id: UUID) -> str:
    """Return the arrival as text for a hidden field of this study's first page."""
    return signing.dumps(asdict(arrival), salt=f"{_SALT}.{study_id}")


def open_arrival(text: str, study_id: UUID) -> Arrival:
    """Return the arrival that `sign_arrival` wrote; raise BadArrival for anything else."""
    try:
        data: dict[str, Any] = signing.loads(text, salt=f"{_SALT}.{study_id}")
    except (signing.BadSignature, UnicodeError) as error:
        raise BadArrival(Problem.MALFORMED) from error
    return Arrival(**data | {"flags": tuple(data["flags"])})
