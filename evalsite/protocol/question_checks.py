"""Checks of criteria: what is asked, of what, on which scale, and when."""

from collections.abc import Collection, Mapping
from typing import Any

from evalsite.lib.rating_columns import DIRECTIONS
from evalsite.protocol.conditions import check_condition
from evalsite.protocol.faults import (
    Faults,
    check_choice,
    check_flag,
    check_key,
    check_keys,
    check_list,
    check_text,
    check_unique,
    check_whole,
)
from evalsite.protocol.installed_scales import get_scale, installed_scales
from evalsite.protocol.parts import COMMENT, LONGEST_COMMENT

# columns of files of ratings beside one for each criterion, and fields of rating pages; and beside
# the right answers by criterion, gold says why they are right
RESERVED_KEYS = frozenset({
    "why",
    "study", "version", "batch", "item", "group", "cluster", "kind", "system", "output_id",
    "standard", "annotation", "participant", "person", "set", "place", "place_in_group",
    "place_in_set", "trial", "repeat_of", "status", "origin", "aids", "device", "language",
    "excluded", "exclusion_reason", "revisions", "started_at", "submitted_at", "seconds",
    "active_seconds", "time_given", "system_1", "system_2", "shown_first",
    "state", "client_ms", "active_ms", "first_ms", "go", "note", "comment", "ignore", "at",
    "attempt", "main", "work", "read", "questions", "unsaved", "keys", "problem", "result",
    "still", "report", "reported", "csrfmiddlewaretoken",
})  # fmt: skip
_PER = ("output", "item", "turn")


def check_criteria(
    criteria: Any, layout: Any, faults: Faults
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return, by criterion, what it is asked per, and its scale as data."""
    known: dict[str, tuple[str, Mapping[str, Any]]] = {}
    if criteria is None:
        return known
    is_pair = isinstance(layout, Mapping) and layout.get("outputs") == "pair"
    for number, criterion in enumerate(check_list(criteria, "criteria", faults, least=1, most=40)):
        place = f"criteria.{number}"
        key = criterion.get("key") if isinstance(criterion, Mapping) else None
        if isinstance(key, str) and key not in known:
            place = f"criteria.{key}"
        _check_criterion(criterion, place, known, faults, is_pair=is_pair)
    _check_columns(criteria, known, faults)
    return known


def _check_columns(criteria: Any, known: Collection[str], faults: Faults) -> None:
    """Check that no criterion has a column that files have because of another criterion."""
    more: dict[str, str] = {}
    for criterion in criteria if isinstance(criteria, list) else ():
        if isinstance(criterion, Mapping):
            key = criterion.get("key")
            if criterion.get("comment"):
                more[f"{key}_{COMMENT}"] = f"is the column of the comments on {key!r}"
            if criterion.get("per") == "turn":
                more["turn"] = "is the column that numbers the turns"
    for key in sorted(more.keys() & known):
        faults.add("reserved_column", f"criteria.{key}.key", f"{more[key]}: choose another name")


def _check_criterion(
    criterion: Any,
    place: str,
    known: dict[str, tuple[str, Mapping[str, Any]]],
    faults: Faults,
    *,
    is_pair: bool,
) -> None:
    texts = {"question", "definition", "summary", "range_note"}
    if not check_keys(
        criterion, place, faults,
        needed={"key", "label", "per", "scale"},
        optional=texts | {"ask_if", "better", "comment", "turns", "required"},
    ):  # fmt: skip
        return
    _check_turns(criterion, place, faults)
    check_text(criterion.get("label", "-"), f"{place}.label", faults)
    for name in sorted(texts & criterion.keys()):
        check_text(criterion[name], f"{place}.{name}", faults)
    if not texts & {"question", "definition"} & criterion.keys():
        faults.add("no_question", place, "needs a question or a definition")
    check_flag(criterion.get("required", True), f"{place}.required", faults)
    key = criterion.get("key")
    if key is not None and check_key(key, f"{place}.key", faults) and key in known:
        faults.add("duplicate", f"criteria.{key}", "has the key of another criterion")
    if isinstance(key, str) and key in RESERVED_KEYS:
        faults.add(
            "reserved_column", f"{place}.key", "is a name that the site uses itself: choose another"
        )
    if "scale" in criterion:
        before = len(faults)
        _check_scale(criterion, place, faults, is_pair=is_pair)
        earlier = {name: known[name] for name in known if name != key}
        known[str(key)] = (str(criterion.get("per")), criterion["scale"])
        if len(faults) == before:
            _check_conditions(criterion, place, earlier, faults)


def _check_conditions(
    criterion: Mapping[str, Any],
    place: str,
    earlier: Mapping[str, tuple[str, Mapping[str, Any]]],
    faults: Faults,
) -> None:
    """Check when a question is asked, and when a comment on it; its own scale has no fault."""
    scales = {
        key: (per, get_scale(data["kind"]).from_data(data))
        for key, (per, data) in earlier.items()
        if per in _PER and not _has_faults(data)
    }
    key, per, own = str(criterion.get("key")), criterion.get("per"), criterion["scale"]
    if per not in _PER:
        return
    if "ask_if" in criterion:
        check_condition(
            criterion["ask_if"], f"{place}.ask_if", per=per, earlier=scales, faults=faults
        )
    comment, at = criterion.get("comment"), f"{place}.comment"
    if comment is None or not check_keys(
        comment, at, faults, needed={"ask"}, optional={"label", "if", "most"}
    ):
        return
    check_choice(comment.get("ask", "optional"), {"optional", "required"}, f"{at}.ask", faults)
    check_text(comment.get("label", "-"), f"{at}.label", faults)
    check_whole(comment.get("most", 1), f"{at}.most", faults, least=1, most=LONGEST_COMMENT)
    if "if" in comment:
        scales[key] = (per, get_scale(own["kind"]).from_data(own))
        check_condition(comment["if"], f"{at}.if", per=per, earlier=scales, faults=faults)


def check_statement_columns(
    known: Mapping[str, tuple[str, Mapping[str, Any]]],
    columns: Mapping[str, Mapping[str, Any]],
    faults: Faults,
) -> None:
    """Check that inputs from which questions get their statements are declared as such."""
    for key, (_per, data) in known.items():
        if _has_faults(data):
            continue
        for name in get_scale(data["kind"]).from_data(data).name_columns():
            at = f"criteria.{key}.scale.from_column"
            if name not in columns:
                faults.add("unknown_column", at, f"is {name!r}, which is no declared input")
            elif columns[name].get("kind") != "statements":
                faults.add("wrong_column", at, f"is {name!r}, which isn't of the kind statements")


def _has_faults(data: Any) -> bool:
    """Tell whether the scale of an earlier criterion can't be read."""
    faults = Faults()
    if not isinstance(data, Mapping) or str(data.get("kind")) not in installed_scales():
        return True
    get_scale(str(data["kind"])).check_data(data, "", faults)
    return bool(faults)


def _check_scale(
    criterion: Mapping[str, Any], place: str, faults: Faults, *, is_pair: bool
) -> None:
    per, data = criterion.get("per"), criterion["scale"]
    is_known_per = per is None or check_choice(per, _PER, f"{place}.per", faults)
    at = f"{place}.scale"
    if not isinstance(data, Mapping):
        faults.add("type", at, "must be an object")
        return
    scale = installed_scales().get(str(data.get("kind")))
    if scale is None:
        kinds = ", ".join(sorted(installed_scales()))
        faults.add("unknown_scale", f"{at}.kind", f"must be one of: {kinds}")
        return
    scale.check_data(data, at, faults)
    if "better" in criterion:
        check_choice(criterion["better"], DIRECTIONS, f"{place}.better", faults)
        if not scale.has_direction:
            needs = f"is not for a {scale.kind} scale: its answers are neither high nor low"
            faults.add("not_needed", f"{place}.better", needs)
    if scale.pair_only and not is_pair:
        needs = f"has a {scale.kind} scale, which needs a pair of outputs"
        faults.add("wrong_layout", place, needs)
    if per is None or not is_known_per or per in scale.list_per():
        return
    asked = " or ".join(scale.list_per())
    faults.add("wrong_per", f"{place}.per", f"must be {asked} for a {scale.kind} scale")


# --- turns of conversations


def _check_turns(criterion: Mapping[str, Any], place: str, faults: Faults) -> None:
    """Check that a question about turns says which, and no other does."""
    at = f"{place}.turns"
    if criterion.get("per") != "turn":
        if "turns" in criterion:
            faults.add("not_needed", at, "is only for a criterion that is asked per turn")
        return
    if "turns" not in criterion:
        faults.add("missing_key", at, "is required of a criterion that is asked per turn")
        return
    turns = criterion["turns"]
    if not check_keys(turns, at, faults, needed={"roles"}, optional={"marked_by"}):
        return
    roles = check_list(turns.get("roles", ["-"]), f"{at}.roles", faults, least=1, most=10)
    for number, role in enumerate(roles):
        check_text(role, f"{at}.roles.{number}", faults)
    check_unique(roles, f"{at}.roles", faults)
    check_text(turns.get("marked_by", "-"), f"{at}.marked_by", faults)


def check_conversations(
    data: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]], faults: Faults
) -> None:
    """Check that items have the conversations, and the columns, that questions on turns need."""
    item, criteria = data.get("item"), data.get("criteria")
    if not isinstance(item, Mapping) or not isinstance(criteria, list):
        return
    outputs = item.get("outputs")
    outputs = outputs if isinstance(outputs, Mapping) else {}
    for number, criterion in enumerate(criteria):
        if not isinstance(criterion, Mapping) or criterion.get("per") != "turn":
            continue
        key = criterion.get("key")
        place = f"criteria.{key if isinstance(key, str) else number}"
        turns = criterion.get("turns")
        marked = turns.get("marked_by") if isinstance(turns, Mapping) else None
        _check_marked_by(marked, f"{place}.turns.marked_by", columns, faults)
        if outputs.get("kind") != "conversation":
            faults.add("no_turns", place, "is asked per turn, but the outputs are no conversations")
        elif outputs.get("most") != 1:
            words = (
                "can only be turn where an item has exactly one output. Show each conversation on "
                "its own (outputs: least 1, most 1)"
            )
            faults.add("not_supported", f"{place}.per", words)
        if "x_highlight" in data:
            faults.add("not_supported", f"{place}.per", "can't be turn where passages are marked")


def _check_marked_by(
    name: Any, place: str, columns: Mapping[str, Mapping[str, Any]], faults: Faults
) -> None:
    if not isinstance(name, str):
        return
    if name not in columns:
        faults.add("unknown_column", place, f"is {name!r}, which is no declared input")
    elif columns[name].get("kind") != "turns":
        faults.add("wrong_column", place, f"is {name!r}, which isn't of the kind turns")
