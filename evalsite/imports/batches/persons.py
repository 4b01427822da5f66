"""Columns that may tell of a person, such as who rated on a crowd platform: told by their names."""

import re
from collections.abc import Iterable

from evalsite.imports.columns import LEAVE_OUT

# one of these words is enough, wherever it stands in the name
_WORDS = {
    "worker", "workers", "workerid", "annotator", "annotators", "annotatorid", "rater", "raterid",
    "judge", "turker", "crowdworker", "participant", "participantid", "respondent", "email", "mail",
    "ip", "ipaddress", "city", "region", "country", "phone", "telephone", "mobile", "postcode",
    "zipcode", "latitude", "longitude", "username", "userid", "firstname", "lastname", "surname",
    "fullname", "nickname", "birthday", "birthdate", "nationality", "prolific", "mturk",
}  # fmt: skip
# these are common in other names (user_goal, age_of_text): with nothing, or with a word for it
_WHOLE = re.compile(
    "(user|person|subject|author|reviewer)(_(id|name|key|hash|no|nr|number))?"
    "|name|((first|last|full|family|given|middle|real|nick)_name)"
    "|age|gender|sex|(home_|street_|postal_)?address|zip(_code)?|post_code|tel|dob"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_personal(column: str) -> bool:
    """Whether a column of this name may well tell of a person."""
    words = re.findall(r"[^\W_]+", _HUMP.sub("_", column).casefold())
    return not _WORDS.isdisjoint(words) or _WHOLE.fullmatch("_".join(words)) is not None


def describe_personal(kept: Iterable[str]) -> str:
    """A sentence that names the columns of persons among the metadata; "" if there are none."""
    names = [f"“{column}”" for column in kept if is_personal(column)]
    if not names:
        return ""
    what = "Column" if len(names) == 1 else "Columns"
    verb = "looks" if len(names) == 1 else "look"
    return (
        f"{what} {', '.join(names)} {verb} personal and would be kept as metadata, which stands in "
        "items.csv and in bundles. If nobody needs it, choose “leave out” under Columns (on the "
        f'command line --map "COLUMN={LEAVE_OUT}")'
    )
