"""SONA: course credit, granted by a link that carries the person's survey code."""

import re
from dataclasses import dataclass
from urllib.parse import quote

from evalsite.platforms.contract import Exit, Leave, Outcome, Parameter, Platform

_PLACE_OF_THE_CODE = "XXXX"


@dataclass(frozen=True, kw_only=True)
class Sona(Platform):
    def check_link(self, link: str) -> str:
        if _PLACE_OF_THE_CODE in link:
            return ""
        return "Paste the client-side completion URL. It ends in survey_code=XXXX."

    def fill_link(self, link: str, *, code: str, person_id: str, visit_id: str) -> str:
        return link.replace(_PLACE_OF_THE_CODE, quote(person_id, safe=""))


SONA = Sona(
    key="sona",
    label="SONA",
    summary="For course credit: SONA grants it when someone opens the link on the last page.",
    person=Parameter(name="sona_id", pattern=re.compile("[1-9][0-9]{1,6}")),
    has_ids_of_round=True,
    # opening the completion link has granted it
    reasons=(),
    query="sona_id=%SURVEY_CODE%",
    exits={
        Outcome.COMPLETED: Exit(
            is_paid=True, takes_link=True, advice="“Client-side completion URL”"
        ),
        Outcome.SCREENED_OUT: Exit(otherwise=Leave.CONTACT, advice="Partial credit, by hand"),
        Outcome.FAILED_CHECK: Exit(otherwise=Leave.CONTACT, advice="Partial credit, by hand"),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CANCEL),
        Outcome.NO_PLACE: Exit(otherwise=Leave.CANCEL),
        Outcome.WRONG_DEVICE: Exit(otherwise=Leave.CLOSE),
    },
)
