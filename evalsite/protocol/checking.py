"""Checks of plain data that should be an instrument: every fault, with its code and its place.

What the format knows and this version can't show or store yet is the fault `not_supported`, so
that no instrument is accepted and then asked in another way.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from evalsite.instruments.texts import LANGUAGE
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
from evalsite.protocol.page_checks import check_item, check_layout, check_screens, find_bounds
from evalsite.protocol.question_checks import (
    check_conversations,
    check_criteria,
    check_statement_columns,
)
from evalsite.protocol.translations import check_translations

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
    columns = check_item(data.get("item"), faults)
    check_layout(data.get("layout"), find_bounds(data), faults)
    check_screens(data, faults)
    scales = check_criteria(data.get("criteria"), data.get("layout"), faults)
    _check_design(data.get("design", {}), faults)
    _check_ignore(data.get("ignore"), faults)
    _check_eligibility(data.get("eligibility"), faults, is_foreign=is_foreign)
    _check_aids(data.get("aids", []), faults)
    _check_hooks(data.get("hooks", {}), faults, is_foreign=is_foreign)
    check_comprehension(data.get("comprehension", []), faults)
    check_statement_columns(scales, columns, faults)
    check_conversations(data, columns, faults)
    if not faults:  # these are read against the rest, so the rest has to be right
        check_examples(data, columns, scales, faults)
        check_translations(data, faults)
    return faults


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
