"""How ratings are collected, in words that datasheet, appendix and ethics text share."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import Sentence, isolate
from evalsite.studies.summary_lines import format_money

Settings = Mapping[str, Any]
TO_FILL_IN = "To be filled in."


def state(name: str, words: str | None = None) -> Sentence:
    """Return a fact by its name; one that the study doesn't know is left open."""
    if words and words.strip():
        return Sentence("fact", words.strip(), "fact", question=name)
    return Sentence("open", TO_FILL_IN, "fact", question=name)


def list_named(names: list[str]) -> str:
    return list_of([isolate(name) for name in names])


def describe_limit(settings: Settings) -> str:
    limits = [
        count_of(settings[key], noun)
        for key, noun in (("max_sets", "set"), ("max_items", "item"))
        if settings[key] is not None
    ]
    return f"at most {list_of(limits)}" if limits else "none"


def describe_checks(settings: Settings) -> str:
    number = settings["checks_per_person"]
    if not number:
        return "none"
    return f"{count_of(number, 'gold or attention item')} per person, among the other items"


def describe_repeats(settings: Settings) -> str:
    percent = settings["repeat_percent"]
    if not percent:
        return "none"
    return (
        f"{percent}% of the items shown again without notice, at least "
        f"{count_of(settings['repeat_distance'], 'item')} later; the second ratings count in no "
        "result"
    )


def describe_practice(settings: Settings, *, has_practice: bool) -> str:
    if not has_practice:
        return "none"
    if settings["is_qualification_on"]:
        return f"a test before any work, passed with {settings['pass_mark']}% correct answers"
    return "practice items with feedback before any work"


def describe_pay(settings: Settings) -> str:
    """Return what a set pays; "" where nobody said so."""
    if settings["pay_per_set"] is None:
        return ""
    minutes = settings["minutes_per_set"]
    words = f"{write_amount(settings, 'pay_per_set')} for a set"
    words += f" of {count_of(minutes, 'minute')}" if minutes else ""
    if settings["has_bonus"] and settings["bonus"] is not None:
        words += f", and {write_amount(settings, 'bonus')} as a bonus"
    return words


def write_amount(settings: Settings, key: str) -> str:
    return format_money(Decimal(settings[key]), settings["currency"])
