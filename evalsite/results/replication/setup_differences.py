"""How a repetition was set up otherwise than the study that it repeats."""

from collections.abc import Iterator
from typing import Any

from evalsite.studies.models import Study
from evalsite.studies.versions import shown_content

_SETTINGS = {
    "k": "answers per item",
    "set_size": "size of a set",
    "max_sets": "sets a person",
    "groups": "how a person meets an input",
    "item_order": "order of items",
    "is_aided": "aids",
    "is_practice_on": "practice",
    "is_qualification_on": "qualification",
    "is_eligibility_on": "questions at entry",
}
_WORDS = {True: "on", False: "off", None: "no limit"}


def warn_of_texts(first: Study, second: Study) -> list[dict[str, str]]:
    """What participants of the two met otherwise: a difference may be due to each of these."""
    phrases = [*_describe_versions(first, second), *_describe_texts(first, second)]
    return [{"code": code, "text": text} for code, text in phrases]


def _describe_versions(first: Study, second: Study) -> Iterator[tuple[str, str]]:
    for study, name in ((first, "First study"), (second, "Repeat")):
        if (number := study.versions.count()) > 1:
            yield (
                "versions",
                f"{name}: it has {number} versions of its texts and settings; what follows "
                "compares the newest ones.",
            )


def _describe_texts(first: Study, second: Study) -> Iterator[tuple[str, str]]:
    one, two = shown_content(first), shown_content(second)
    if one["texts"]["instructions"] != two["texts"]["instructions"]:
        yield "other_instructions", "The instructions of the two studies differ."
    if one["texts"]["language"] != two["texts"]["language"]:
        yield "other_language", "The two studies are in different languages."
    if labels := _list_other_criteria(first, second):
        yield (
            "other_wording",
            f"Questions, definitions or scales differ between the two: {', '.join(labels)}.",
        )
    # PostgreSQL keeps what JSON holds in an order of its own
    if options := sorted(_list_unlike(one["options"], two["options"])):
        yield "other_options", f"Options of the protocol differ: {', '.join(options)}."
    if settings := list(_list_settings(one["settings"], two["settings"])):
        yield "other_settings", f"Set up differently: {'; '.join(settings)}."


def _list_other_criteria(first: Study, second: Study) -> list[str]:
    known = [study.config.criterion_by_key for study in (first, second)]
    labels = {key: criterion.label for of in known for key, criterion in of.items()}
    return [labels[key] for key in _list_unlike(*known)]


def _list_unlike(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    """The names under which the two hold other things."""
    return [name for name in {**one, **two} if one.get(name) != two.get(name)]


def _list_settings(one: dict[str, Any], two: dict[str, Any]) -> Iterator[str]:
    for name, words in _SETTINGS.items():
        if one.get(name) != two.get(name):
            yield f"{words} {_write(one.get(name))} in the first, {_write(two.get(name))} here"


def _write(value: Any) -> str:
    return _WORDS[value] if value is None or isinstance(value, bool) else str(value)
