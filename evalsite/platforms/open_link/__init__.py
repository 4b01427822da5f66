"""The study's own link: everyone who presses Start on it is a new person."""

from evalsite.platforms.contract import Exit, Leave, Outcome, Platform

OPEN_LINK = Platform(
    key="open_link",
    label="Open link",
    summary="Anyone with this link can take part, more than once and without an account.",
    hands_back=False,
    is_open_link=True,
    takes_own_code=True,
    exits={
        Outcome.COMPLETED: Exit(is_paid=True, takes_code=True, has_set_code=True, takes_link=True),
        Outcome.SCREENED_OUT: Exit(otherwise=Leave.CLOSE),
        Outcome.FAILED_CHECK: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_CONSENT: Exit(otherwise=Leave.CLOSE),
        Outcome.NO_PLACE: Exit(otherwise=Leave.CLOSE),
        Outcome.WRONG_DEVICE: Exit(otherwise=Leave.CLOSE),
    },
)
