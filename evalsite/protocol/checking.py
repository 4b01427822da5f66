"""Checks of plain data that should be an instrument: every fault, with its code and its place.

What the format knows and this version can't show or store yet is the fault `not_supported`, so
that no instrument is accepted and then asked in another way.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings

from evalsite.protocol.conditions import check_condition
from evalsite.protocol.data import FORMAT
from evalsite.protocol.entry_questions import check_eligibility
from evalsite.protocol.examples import check_comprehension, check_examples
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
from evalsite.protocol.parts import LONGEST_COMMENT
from evalsite.protocol.scale import get_scale, installed_scales
from evalsite.protocol.translations import LANGUAGE, check_translations

RESERVED_COLUMNS = frozenset({"item", "system", "output", "group", "cluster", "kind"})
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
_RICH_KINDS = frozenset({"text", "markdown", "code", "table", "conversation", "dialogue"})
INPUT_KINDS = _RICH_KINDS | {"meaning representation", "review", "whole number", "statements"}
LATER_INPUT_KINDS = frozenset({"spans", "turns"})
OUTPUT_KINDS = _RICH_KINDS
HOOKS = frozenset(
    {
        "clean", "check_entry", "item_context", "standard_score", "instructions", "options_form",
    }
)  # fmt: skip
_NEEDS_NOTICE = frozenset(
    {"BSD-3-Clause", "MIT", "Apache-2.0", "CC BY 4.0", "CC BY-SA 4.0", "Etalab 2.0"}
)
_KEY = re.compile(r"[a-z][a-z0-9_]{1,39}")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+")
_NEEDED = frozenset({
    "format", "key", "version", "language", "title", "summary", "source", "instructions", "item",
    "layout", "criteria",
})  # fmt: skip
_OPTIONAL = frozenset({
    "instructions_title", "examples", "practice", "comprehension", "ignore", "eligibility",
    "design", "aids", "note", "minutes_per_item", "based_on", "hooks",
})  # fmt: skip
_PER = ("output", "item", "turn")


def check_instrument(data: Any, *, is_foreign: bool = False) -> Faults:
    """Return all faults of this data. `is_foreign`: it came by web or file, so without hooks."""
    faults = Faults()
    if not check_keys(data, "", faults, needed=_NEEDED, optional=_OPTIONAL | {"translations"}):
        return faults
    if data.get("format", FORMAT) != FORMAT:
        faults.add("unknown_format", "format", f"must be {FORMAT}")
        return faults
    _check_head(data, faults)
    _check_source(data.get("source"), faults)
    columns = _check_item(data.get("item"), faults)
    _check_layout(data.get("layout"), _find_bounds(data), faults)
    _check_screens(data, faults)
    scales = _check_criteria(data.get("criteria"), data.get("layout"), faults)
    _check_design(data.get("design", {}), faults)
    _check_ignore(data.get("ignore"), faults)
    _check_eligibility(data.get("eligibility"), faults, is_foreign=is_foreign)
    _check_aids(data.get("aids", []), faults)
    _check_hooks(data.get("hooks", {}), faults, is_foreign=is_foreign)
    check_comprehension(data.get("comprehension", []), faults)
    _check_columns(scales, columns, faults)
    if not faults:  # these are read against the rest, so the rest has to be right
        check_examples(data, columns, scales, faults)
        check_translations(data, faults)
    return faults


def _refuse_later(
    data: Mapping[str, Any], place: str, names: Collection[str], faults: Faults
) -> None:
    """Add a fault for each key that this version can't honour yet."""
    for name in names:
        if name in data:
            at = f"{place}.{name}" if place else name
            faults.add("not_supported", at, "is not supported by this version yet")


# --- head and source --------------------------------------------------------------


def _check_head(data: Mapping[str, Any], faults: Faults) -> None:
    if "key" in data:
        check_key(data["key"], "key", faults, _KEY)
    if "version" in data:
        check_whole(data["version"], "version", faults, least=1)
    language = data.get("language", "en")
    if not isinstance(language, str) or not LANGUAGE.fullmatch(language):
        faults.add("bad_language", "language", "must be a language tag such as en or pt-BR")
    for name in ("title", "summary", "instructions"):
        if name in data:
            check_text(data[name], name, faults)
    for name in ("instructions_title", "note"):
        check_text(data.get(name, ""), name, faults, may_be_empty=True)
    for name in ("x_highlight", "x_page_note", "x_help_label"):
        check_text(data.get(name, "-"), name, faults)
    _check_origin(data, faults)


def _check_origin(data: Mapping[str, Any], faults: Faults) -> None:
    minutes = data.get("minutes_per_item", 1)
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or minutes <= 0:
        faults.add("type", "minutes_per_item", "must be a number above 0")
    check_keys(
        data.get("based_on", {}), "based_on", faults,
        needed=(), optional={"key", "version", "sha256"},
    )  # fmt: skip


def _check_source(source: Any, faults: Faults) -> None:
    needed = {"cite", "licence", "exact", "ours"}
    optional = {"url", "read", "from_memory", "notice"}
    if source is None or not check_keys(source, "source", faults, needed=needed, optional=optional):
        return
    for name in needed & source.keys():
        check_text(source[name], f"source.{name}", faults)
    for name in optional & source.keys():
        check_text(source[name], f"source.{name}", faults, may_be_empty=True)
    if str(source.get("licence")) in _NEEDS_NOTICE and not source.get("notice"):
        faults.add("no_notice", "source.notice", "is required by this licence")


# --- item and layout --------------------------------------------------------------


def _check_item(item: Any, faults: Faults) -> dict[str, Mapping[str, Any]]:
    """Return the declared inputs by name."""
    columns: dict[str, Mapping[str, Any]] = {}
    optional = {"name", "names", "output_name", "output_columns"}
    if item is None or not check_keys(
        item, "item", faults, needed={"inputs", "outputs"}, optional=optional
    ):
        return columns
    _refuse_later(item, "item", ("output_columns",), faults)
    for name in ("name", "names", "output_name"):
        check_text(item.get(name, "-"), f"item.{name}", faults)
    for number, column in enumerate(check_list(item.get("inputs", []), "item.inputs", faults)):
        _check_column(column, f"item.inputs.{number}", columns, faults)
    outputs = item.get("outputs", {"kind": "text", "least": 1, "most": 1})
    at = "item.outputs"
    if check_keys(
        outputs, at, faults, needed={"kind", "least", "most"}, optional={"aliases", "language"}
    ):
        check_text(outputs.get("language", ""), f"{at}.language", faults, may_be_empty=True)
        _check_kind(outputs.get("kind"), OUTPUT_KINDS, frozenset(), at, faults)
        _check_names(outputs.get("aliases", []), f"{at}.aliases", faults)
        if check_whole(outputs.get("least", 1), f"{at}.least", faults, least=1, most=10):
            least = outputs.get("least", 1)
            check_whole(outputs.get("most", 10), f"{at}.most", faults, least=least, most=10)
    return columns


def _check_column(
    column: Any, place: str, columns: dict[str, Mapping[str, Any]], faults: Faults
) -> None:
    needed = {"name", "label", "kind"}
    optional = {"aliases", "required", "together", "display", "language", "shown"}
    if not check_keys(column, place, faults, needed=needed, optional=optional):
        return
    _refuse_later(column, place, ("display", "shown"), faults)
    check_text(column.get("label", "-"), f"{place}.label", faults)
    check_text(column.get("language", ""), f"{place}.language", faults, may_be_empty=True)
    check_text(column.get("together", ""), f"{place}.together", faults, may_be_empty=True)
    check_flag(column.get("required", True), f"{place}.required", faults)
    _check_names(column.get("aliases", []), f"{place}.aliases", faults)
    _check_kind(column.get("kind"), INPUT_KINDS, LATER_INPUT_KINDS, place, faults)
    name = column.get("name")
    if name is None or not check_key(name, f"{place}.name", faults):
        return
    if name in RESERVED_COLUMNS:
        faults.add("reserved_column", f"{place}.name", "is a column that every batch has")
    if name in columns:
        faults.add("duplicate", f"{place}.name", "is the name of another column")
    columns[name] = column


def _check_kind(
    kind: Any, kinds: Collection[str], later: Collection[str], place: str, faults: Faults
) -> None:
    if str(kind) in later:
        faults.add("not_supported", f"{place}.kind", "can't be shown by this version yet")
    elif kind is not None:
        check_choice(kind, kinds, f"{place}.kind", faults)


def _check_names(names: Any, place: str, faults: Faults) -> None:
    for number, name in enumerate(check_list(names, place, faults)):
        check_text(name, f"{place}.{number}", faults)


def _find_bounds(data: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the fewest and the most outputs, also of faulty data."""
    item = data.get("item")
    outputs = item.get("outputs") if isinstance(item, Mapping) else None
    outputs = outputs if isinstance(outputs, Mapping) else {}
    return outputs.get("least"), outputs.get("most")


def _check_layout(layout: Any, bounds: tuple[Any, Any], faults: Faults) -> None:
    optional = {"inputs", "order", "letters", "menu", "screen"}
    if layout is None or not check_keys(
        layout, "layout", faults, needed={"outputs", "questions"}, optional=optional
    ):
        return
    if layout.get("order", "random") != "random":
        faults.add("not_supported", "layout.order", "can only be random in this version")
    for name in ("letters", "menu"):
        _check_names(layout.get(name, []), f"layout.{name}", faults)
    check_choice(layout.get("inputs", "above"), {"above", "beside"}, "layout.inputs", faults)
    places = {"below", "beside", "under each output"}
    check_choice(layout.get("questions", "below"), places, "layout.questions", faults)
    wanted = layout.get("outputs", "one")
    check_choice(wanted, {"one", "several", "pair"}, "layout.outputs", faults)
    if wanted == "one" and bounds != (1, 1):
        faults.add(
            "wrong_layout",
            "layout.outputs",
            "must be 'several' or 'pair' unless an item has exactly one output",
        )
    if wanted == "pair" and bounds != (2, 2):
        faults.add(
            "wrong_layout",
            "layout.outputs",
            "can only be 'pair' if an item has exactly two outputs",
        )
    if wanted == "several" and isinstance(bounds[1], int) and bounds[1] < 2:
        faults.add(
            "wrong_layout",
            "layout.outputs",
            "can only be 'several' if an item may have two or more outputs",
        )


def _check_screens(data: Mapping[str, Any], faults: Faults) -> None:
    """Check what a study may choose from: pages of one item, a sheet, or both."""
    layout = data.get("layout")
    if not isinstance(layout, Mapping) or "screen" not in layout:
        return
    screens, place = layout["screen"], "layout.screen"
    if isinstance(screens, list):
        if not check_list(screens, place, faults, least=1):
            return
        check_unique(screens, place, faults)
    else:
        screens = [screens]
    for screen in screens:
        check_choice(screen, {"one", "sheet"}, place, faults)
    if "sheet" not in screens:
        return
    unsupported = [name for name in ("ignore", "note", "aids", "x_highlight") if name in data]
    unsupported += [] if layout.get("outputs") == "one" else ["several outputs"]
    if unsupported:
        names = ", ".join(unsupported)
        faults.add("not_supported", place, f"can't be a sheet in an instrument with {names}")


# --- criteria ---------------------------------------------------------------------


def _check_criteria(
    criteria: Any, layout: Any, faults: Faults
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return, by criterion, what it is asked per, and its scale as data."""
    known: dict[str, tuple[str, Mapping[str, Any]]] = {}
    if criteria is None:
        return known
    is_pair = isinstance(layout, Mapping) and layout.get("outputs") == "pair"
    for number, criterion in enumerate(check_list(criteria, "criteria", faults, least=1, most=40)):
        place = f"criteria.{number}"
        if isinstance(criterion, Mapping) and isinstance(criterion.get("key"), str):
            place = f"criteria.{criterion['key']}"
        _check_criterion(criterion, place, known, faults, is_pair=is_pair)
    return known


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
        optional=texts | {"ask_if", "comment", "turns", "required"},
    ):  # fmt: skip
        return
    _refuse_later(criterion, place, ("turns",), faults)
    check_text(criterion.get("label", "-"), f"{place}.label", faults)
    for name in sorted(texts & criterion.keys()):
        check_text(criterion[name], f"{place}.{name}", faults)
    if not texts & {"question", "definition"} & criterion.keys():
        faults.add("no_question", place, "needs a question or a definition")
    check_flag(criterion.get("required", True), f"{place}.required", faults)
    key = criterion.get("key")
    if key is not None and check_key(key, f"{place}.key", faults) and key in known:
        faults.add("duplicate", place, "has the key of another criterion")
    if isinstance(key, str) and key in RESERVED_KEYS:
        faults.add("reserved_column", f"{place}.key", "is a name that the site uses itself")
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


def _check_columns(
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
    if scale.pair_only and not is_pair:
        needs = f"has a {scale.kind} scale, which needs a pair of outputs"
        faults.add("wrong_layout", place, needs)
    if per is None or not is_known_per or per in scale.list_per():
        return
    if per in scale.later_per:
        faults.add("not_supported", f"{place}.per", f"can't be {per} in this version")
    else:
        asked = " or ".join(scale.list_per())
        faults.add("wrong_per", f"{place}.per", f"must be {asked} for a {scale.kind} scale")


# --- the rest ---------------------------------------------------------------------


def _check_design(design: Any, faults: Faults) -> None:
    names = {"k", "set_size", "max_sets", "has_bonus", "checks_take_places", "groups"}
    if not check_keys(design, "design", faults, needed=(), optional=names):
        return
    for name, most in (("k", 1000), ("set_size", 500), ("max_sets", 1000)):
        check_whole(design.get(name, 1), f"design.{name}", faults, least=1, most=most)
    for name in ("has_bonus", "checks_take_places"):
        check_flag(design.get(name, False), f"design.{name}", faults)
    groups = design.get("groups", "free")
    check_choice(groups, {"free", "together", "once"}, "design.groups", faults)


def _check_ignore(ignore: Any, faults: Faults) -> None:
    if ignore is None or not check_keys(
        ignore, "ignore", faults, needed={"reasons"}, optional={"note"}
    ):
        return
    check_text(ignore.get("note", ""), "ignore.note", faults, may_be_empty=True)
    reasons = check_list(ignore.get("reasons", [{}]), "ignore.reasons", faults, least=1)
    for number, reason in enumerate(reasons):
        at = f"ignore.reasons.{number}"
        if not check_keys(reason, at, faults, needed={"key", "label"}, optional={"note", "covers"}):
            continue
        check_key(reason.get("key", "a"), f"{at}.key", faults)
        check_text(reason.get("label", "-"), f"{at}.label", faults)
        check_text(reason.get("note", ""), f"{at}.note", faults, may_be_empty=True)
        check_choice(reason.get("covers", "item"), {"item", "group"}, f"{at}.covers", faults)
    keys = [reason.get("key") for reason in reasons if isinstance(reason, Mapping)]
    check_unique(keys, "ignore.reasons", faults)


def _check_eligibility(eligibility: Any, faults: Faults, *, is_foreign: bool) -> None:
    if eligibility is None:
        return
    check_eligibility(eligibility, faults)
    accept = eligibility.get("accept") if isinstance(eligibility, Mapping) else None
    if isinstance(accept, str):
        _check_hook(accept, "eligibility.accept", faults, is_foreign=is_foreign)


def _check_aids(aids: Any, faults: Faults) -> None:
    for number, aid in enumerate(check_list(aids, "aids", faults)):
        at = f"aids.{number}"
        if check_keys(aid, at, faults, needed={"key", "label"}, optional=()):
            check_key(aid.get("key", "a"), f"{at}.key", faults)
            check_text(aid.get("label", "-"), f"{at}.label", faults)


def _check_hooks(hooks: Any, faults: Faults, *, is_foreign: bool) -> None:
    if not check_keys(hooks, "hooks", faults, needed=(), optional=HOOKS):
        return
    if is_foreign and hooks:
        faults.add("hooks_not_allowed", "hooks", "are for protocols installed with the site")
        return
    for name, dotted in hooks.items():
        _check_hook(dotted, f"hooks.{name}", faults, is_foreign=is_foreign)


def _check_hook(dotted: Any, place: str, faults: Faults, *, is_foreign: bool) -> None:
    """Check that this names something inside the folder of an installed protocol."""
    if not isinstance(dotted, str) or not _DOTTED.fullmatch(dotted):
        faults.add("type", place, "must be a dotted name")
    elif is_foreign or not dotted.startswith(tuple(f"{name}." for name in settings.PROTOCOLS)):
        faults.add("hooks_not_allowed", place, "must be inside the folder of an installed protocol")
