"""The columns of any imported file: what they may contain, and what is wrong with header and rows.

A mapping gives each column the name of a field, "" to keep it unused, or "-" to leave it out.
At the end what systems may be called.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalsite.data.tables.faults import Fault, find_control, hold_control
from evalsite.data.tables.table import Row

LEAVE_OUT = "-"  # what a column is mapped to that is read past and never stored
_MAX_NAME = 200
# one of these words anywhere in the name is enough
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


@dataclass(frozen=True)
class Field:
    """What a column may contain, as a page and the command line offer it."""

    name: str
    label: str
    group: str = ""  # the heading of a list under which it is found
    meaning: str = ""
    is_for_many: bool = False  # more than one column may contain it


def fold(name: str) -> str:
    """Normalise a column name: equal for names that differ only in case and separators."""
    return re.sub(r"[\s_.-]+", "_", name.strip().casefold())


def join_names(names: Sequence[str], word: str = "and") -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


def known_columns(mapping: Mapping[str, str], header: Iterable[str]) -> dict[str, str]:
    """Return the part of a mapping that is about these columns."""
    there = set(header)
    return {column: field for column, field in mapping.items() if column in there}


def check_header(header: Sequence[str], line: int) -> list[Fault]:
    """Check that every column has a name that can be stored."""
    return [
        Fault(code, message, line=line)
        for number, column in enumerate(header, start=1)
        for code, message in _find_name_problems(number, column)
    ]


def _find_name_problems(number: int, column: str) -> Iterator[tuple[str, str]]:
    if len(column) > _MAX_NAME:
        yield (
            "column_name_long",
            f"The name of column {number} has {len(column):,} characters; at most {_MAX_NAME} are "
            "taken. Shorten it.",
        )
    elif control := find_control(column):
        message = f"The name of column {number} holds {control}. Remove it from the name."
        yield "control_character", message


def check_fields(
    mapping: Mapping[str, str], fields: Iterable[Field], line: int | None
) -> list[Fault]:
    """Check that each field is known, and that at most one column contains it."""
    known = {field.name: field for field in fields}
    by_field: dict[str, list[str]] = {}
    faults = []
    for column, name in mapping.items():
        if name in ("", LEAVE_OUT):
            continue
        if name not in known:
            faults.append(Fault("field_unknown", f"There is no field “{name}”.", column=column))
        else:
            by_field.setdefault(name, []).append(column)
    faults += [
        Fault(
            "column_mapped_twice",
            f"Columns {join_names(columns)} are both mapped to “{name}”. Choose one.",
            line=line,
        )
        for name, columns in by_field.items()
        if len(columns) > 1 and not known[name].is_for_many
    ]
    return faults


def check_cells(row: Row, header: Sequence[str]) -> list[Fault]:
    """Return what keeps a row out before anything is known of its columns."""
    if row.problems:
        return [
            Fault(
                problem.code,
                problem.message,
                column="" if problem.column is None else header[problem.column],
                line=row.line,
                record=row.record,
            )
            for problem in row.problems
        ]
    if len(row.cells) != len(header):
        found = len(row.cells)
        return [
            Fault(
                "row_width",
                f"{found} cell{'' if found == 1 else 's'} instead of {len(header)}. Look for a "
                "missing delimiter, or for one in a text without quotes.",
                line=row.line,
                record=row.record,
            )
        ]
    if not hold_control(row.cells):
        return []
    return [
        Fault(
            "control_character",
            f"The cell holds {control}. Remove it.",
            column=header[number],
            line=row.line,
            record=row.record,
        )
        for number, cell in enumerate(row.cells)
        if (control := find_control(cell))
    ]


# --- columns with personal data ----------------------------------------------------------


def is_personal(column: str) -> bool:
    """Return whether a column of this name probably holds personal data."""
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
        f"{what} {', '.join(names)} {verb} personal and would be kept as metadata, which is in "
        "items.csv and in bundles. If you don't need it, choose “Leave out” for it (on the "
        f'command line --map "COLUMN={LEAVE_OUT}")'
    )


# --- names of systems -------------------------------------------------------------------


MAX_SYSTEM = 200


def check_system(text: str) -> str:
    """Say what is wrong with this name of a system; "" if it may be used."""
    if not text.strip():
        return "The system is empty. Name what produced this output."
    if len(text) > MAX_SYSTEM:
        return f"The name of a system may have {MAX_SYSTEM} characters; this has {len(text):,}."
    if text != text.strip() or not text.isprintable():
        return (
            f"The name of the system, “{text[:40]}”, has a space around it or an "
            "invisible character. Remove it."
        )
    if text.casefold() == "tie":
        return "“tie” can't name a system: results use it for a tie. Choose another name."
    return ""


def fold_system(name: str) -> str:
    """Equal for names that differ only in case, spaces or Unicode form."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    return "".join(name.casefold().split())
