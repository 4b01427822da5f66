"""CloudResearch Connect: it adds its own ids, and takes people back by links that it gives."""

import re

from evalsite.platforms.contract import Exit, Leave, Outcome, Parameter, Platform

_ID = re.compile("[0-9A-Za-z]{8,64}")

CONNECT = Platform(
    key="connect",
    label="Connect",
    summary="CloudResearch Connect adds its own IDs and takes people back by a redirect link.",
    person=Parameter(name="participantId", pattern=_ID),
    visit=Parameter(name="assignmentId", pattern=_ID),
    study=Parameter(name="projectId", pattern=_ID, is_telling=True),
    exits={
        Outcome.COMPLETED: Exit(
            takes_link=True, takes_code=True, advice="“Redirect URL”, or “completion code”"
        ),
        Outcome.SCREENED_OUT: Exit(
            takes_link=True, advice="“Partial Completes”, if you have them", otherwise=Leave.CONTACT
        ),
        Outcome.FAILED_CHECK: Exit(
            takes_link=True, advice="“Partial Completes”, if you have them", otherwise=Leave.CONTACT
        ),
        Outcome.NO_CONSENT: Exit(),
        Outcome.NO_PLACE: Exit(),
        Outcome.WRONG_DEVICE: Exit(),
    },
    least_pay={"USD": 7.5},
)
