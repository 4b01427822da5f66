"""What tests of arrival share: ids as platforms send them, and a browser that presses Start."""

import re
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from evalsite.people.models import (
    JoinCount,
    Participant,
    ParticipantIdentity,
    ParticipantLink,
    Visit,
)
from evalsite.people.platforms import installed_platforms
from evalsite.studies.models import Study
from tests.support.annotators import read_fields

P, Q = "5f0c0ffee5f0c0ffee5f0c0f", "60a1b2c3d4e5f60718293a4b"
V, W = "61a1b2c3d4e5f60718293a4b", "62a1b2c3d4e5f60718293a4b"
STUDY_ID = "63a1b2c3d4e5f60718293a4b"

MADE_BY_JOINING = (Participant, ParticipantIdentity, ParticipantLink, Visit, JoinCount)


def prolific(person: str = P, visit: str = V, **more: str) -> dict[str, str]:
    return {"PROLIFIC_PID": person, "STUDY_ID": STUDY_ID, "SESSION_ID": visit, **more}


def address_of(study: Study, query: Any = "") -> str:
    """The study's join link, with parameters as they are or still to be encoded."""
    text = query if isinstance(query, str) else urlencode(query)
    return f"/join/{study.pk}/" + (f"?{text}" if text else "")


def open_link(study: Study, query: Any = "") -> Any:
    return Client().get(address_of(study, query))


def press_start(study: Study, query: Any = "", **headers: Any) -> Any:
    """What the server answers to Start on the page that this link opens."""
    return send_form(study, open_link(study, query), **headers)


def send_form(study: Study, page: Any, **headers: Any) -> Any:
    """Press the button of this page, whose form names the round; without a form, the study's."""
    action = re.search(r'<form method="post" action="([^"]+)"', page.text)
    address = action[1] if action else address_of(study)
    return Client().post(address, read_fields(page.text), **headers)


def make_rounds(study: Study) -> Study:
    """The study has a round on each platform, as one that was live before there were rounds."""
    for number, platform in enumerate(installed_platforms().values(), start=1):
        if platform.hands_back:
            study.recruitments.create(
                number=number,
                platform=platform.key,
                settings={one.name: one.initial for one in platform.settings},
                is_on=True,
                has_further_sets=True,
            )
    return study


def join(study: Study, query: Any = "") -> str:
    """The personal address of whoever joins by this link."""
    response = press_start(study, query)
    assert response.status_code == 302, response.text
    return str(response.headers["Location"])


def count_made() -> dict[str, int]:
    """How many rows there are of all that joining makes."""
    return {model.__name__: model._base_manager.count() for model in MADE_BY_JOINING}


NOTHING = dict.fromkeys((model.__name__ for model in MADE_BY_JOINING), 0)
