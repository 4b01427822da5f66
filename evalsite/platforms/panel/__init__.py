"""Any panel that puts a person's id into the link, and takes people back by links."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evalsite.platforms.contract import (
    SAFE_ID,
    Exit,
    Export,
    Leave,
    Outcome,
    Parameter,
    Platform,
    Setting,
    Status,
)

_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,39}"
_NAME_REFUSAL = "Enter the name of a parameter: letters, digits, “_”, “-” and “.”, 40 at most."
_PATTERNS = {
    "any": SAFE_ID.pattern,
    "letters": "[0-9A-Za-z_-]{1,128}",
    "digits": "[0-9]{1,40}",
    "guid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
}
_FORM = "any"


@dataclass(frozen=True, kw_only=True)
class Panel(Platform):
    def name_for_people(self, given: Mapping[str, str]) -> str:
        return given["panel"]

    def namespace(self, given: Mapping[str, str]) -> str:
        # ids of two panels may be the same text
        return f"{self.key}:{given['panel'].casefold()}"[:40]

    def find_person(self, given: Mapping[str, str]) -> Parameter | None:
        pattern = _PATTERNS.get(given["form"], _PATTERNS[_FORM])
        return Parameter(name=given["parameter"], pattern=re.compile(pattern))

    def find_visit(self, given: Mapping[str, str]) -> Parameter | None:
        if not given["visit_parameter"]:
            return None
        return Parameter(name=given["visit_parameter"], pattern=re.compile(_PATTERNS[_FORM]))

    def link_query(self, given: Mapping[str, str]) -> str:
        query = f"{given['parameter']}={given['placeholder']}"
        if given["visit_parameter"]:
            query += f"&{given['visit_parameter']}={given['visit_placeholder']}"
        return query


PANEL = Panel(
    key="panel",
    label="Any other panel",
    summary="For panels that put a person’s ID into the link.",
    settings=(
        Setting(
            name="panel",
            label="Name of the panel",
            help="Participants read it, such as “Please return to …”.",
            pattern=r"\S(?:.{0,28}\S)?",
            refusal="Enter a name of 30 characters at most.",
        ),
        Setting(
            name="parameter",
            label="Parameter of the person",
            help="Ask the panel which parameter carries the ID.",
            initial="pid",
            pattern=_NAME,
            refusal=_NAME_REFUSAL,
        ),
        Setting(
            name="placeholder",
            label="The panel’s placeholder for it",
            initial="[ID]",
            pattern=r"[^\s&#?]{1,80}",
            refusal="Enter the placeholder without spaces, “&”, “?” and “#”.",
        ),
        Setting(
            name="visit_parameter",
            label="Parameter of the visit",
            help="Leave empty if the panel sends none.",
            pattern=_NAME,
            refusal=_NAME_REFUSAL,
            is_required=False,
        ),
        Setting(
            name="visit_placeholder",
            label="The panel’s placeholder for the visit",
            pattern=r"[^\s&#?]{1,80}",
            refusal="Enter the placeholder without spaces, “&”, “?” and “#”.",
            is_required=False,
        ),
        Setting(
            name="form",
            label="What its IDs look like",
            help="any (letters, digits and . _ : @ -, 128 at most), letters (letters and digits), "
            "digits, or guid (36 characters).",
            initial=_FORM,
            pattern="|".join(_PATTERNS),
            refusal="Enter any, letters, digits or guid.",
        ),
    ),
    export=Export(
        visit=("visit_id", "visit", "session"),
        person=("person_id", "pid", "respondent", "respondent_id", "id"),
        status=("status", "state"),
        statuses={
            "Returned": Status.RETURNED,
            "Timed out": Status.TIMED_OUT,
            "Complete": Status.SUBMITTED,
            "Completed": Status.SUBMITTED,
        },
    ),
    approve_advice="As the panel asks for them",
    reject_advice="As the panel asks for them",
    block_advice="As the panel asks for them",
    bonus_advice="As the panel asks for them",
    exits={
        Outcome.COMPLETED: Exit(is_paid=True, takes_link=True, takes_code=True, advice="Complete"),
        Outcome.SCREENED_OUT: Exit(takes_link=True, advice="Screen-out"),
        Outcome.FAILED_CHECK: Exit(
            takes_link=True, advice="Screen-out", instead=Outcome.SCREENED_OUT
        ),
        Outcome.NO_CONSENT: Exit(
            takes_link=True,
            advice="Screen-out",
            instead=Outcome.SCREENED_OUT,
            otherwise=Leave.CLOSE,
        ),
        Outcome.NO_PLACE: Exit(takes_link=True, advice="Quota full"),
        Outcome.WRONG_DEVICE: Exit(
            takes_link=True, advice="Screen-out", instead=Outcome.SCREENED_OUT
        ),
    },
)
