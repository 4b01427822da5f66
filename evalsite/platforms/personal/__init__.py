"""Personal links: one for each person whom the researcher knows."""

from evalsite.platforms.contract import Exit, Leave, Outcome, Platform

PERSONAL = Platform(
    key="personal",
    label="Personal links",
    summary="One link per person, for people you know. You can copy a link again.",
    hands_back=False,
    has_personal_links=True,
    exits={
        Outcome.COMPLETED: Exit(is_paid=True, takes_link=True, has_set_code=True),
        Outcome.SCREENED_OUT: Exit(otherwise=Leave.CLOSE),
        Outcome.FAILED_CHECK: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_PLACE: Exit(otherwise=Leave.CLOSE),
        Outcome.WRONG_DEVICE: Exit(otherwise=Leave.CLOSE),
    },
)
