"""Rename a question, a column or an answer of a draft wherever the draft refers to it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalsite.builder.boxes import list_rows_in_place
from evalsite.builder.controls import Plain
from evalsite.builder.forms import get_key

_ANSWERS = {"examples": "ratings", "practice": "gold"}
# of a scale: what names its severities and categories
_LINKS = {"severities": ("severity", "severities"), "categories": ("category",)}


def rename_questions(draft: Plain, renamed: Mapping[str, str]) -> None:
    """Let conditions and examples name these questions by their new keys."""
    if not renamed:
        return
    for test in _list_tests(draft):
        test["criterion"] = renamed.get(str(test["criterion"]), test["criterion"])
    for example, name in _list_examples(draft):
        if isinstance(example.get(name), dict):
            example[name] = {renamed.get(key, key): v for key, v in example[name].items()}
        if "criterion" in example:
            example["criterion"] = renamed.get(str(example["criterion"]), example["criterion"])


def rename_answers(draft: Plain, key: str, at: str, renamed: Mapping[str, str]) -> None:
    """Let conditions and examples name these answers to a question by their new names.

    `at`: the list of the scale that holds them: points, options, statements, severities ...
    """
    if not renamed:
        return

    def rename(answer: Any) -> Any:
        if isinstance(answer, list):
            return [rename(entry) for entry in answer]
        if isinstance(answer, dict):
            return {name: rename(entry) for name, entry in answer.items()}
        new = renamed.get(str(answer)) if isinstance(answer, str | int | float) else None
        return answer if new is None or isinstance(answer, bool) else _as(answer, new)

    for test in _list_tests(draft):
        for name in ("is", "includes", "at_least", "at_most", "has"):
            if test["criterion"] == key and name in test:
                test[name] = rename(test[name])
    for example, name in _list_examples(draft):
        if isinstance(example.get(name), dict) and key in example[name]:
            example[name][key] = rename(example[name][key])
    for question in list_rows_in_place(draft.get("criteria")):
        if question.get("key") == key:
            _rename_links(question.get("scale"), _LINKS.get(at, ()), rename)


def _as(answer: Any, new: str) -> Any:
    """Return a new answer as the old one is written: as a number, or as text."""
    if isinstance(answer, str):
        return new
    return float(new) if "." in new else int(new)


def _rename_links(part: Any, names: tuple[str, ...], rename: Callable[[Any], Any]) -> None:
    for value in (
        part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    ):
        _rename_links(value, names, rename)
    if isinstance(part, dict):
        for name in names:
            if isinstance(part.get(name), str) or (
                isinstance(part.get(name), list) and all(isinstance(v, str) for v in part[name])
            ):
                part[name] = rename(part[name])


def rename_columns(draft: Plain, renamed: Mapping[str, str]) -> None:
    """Let questions name these columns by their new names."""
    if not renamed:
        return
    names = ("from_column", "marked_by", "prefill", "mark_in")
    for question in list_rows_in_place(draft.get("criteria")):
        _rename_links(question, names, lambda value: _rename_all(value, renamed))
        scale = question.get("scale")
        standard = scale.get("standard") if isinstance(scale, dict) else None
        _rename_links(standard, ("inputs",), lambda value: _rename_all(value, renamed))


def _rename_all(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [renamed.get(name, name) for name in value]
    return renamed.get(value, value)


def rename_texts(draft: Plain, renamed: Mapping[str, str]) -> None:
    """Let examples keep the texts of columns under the new names of these."""
    for example, _ in _list_examples(draft):
        for name in ("inputs", "columns", "marked", "x_marked"):
            if renamed and isinstance(example.get(name), dict):
                example[name] = {renamed.get(key, key): v for key, v in example[name].items()}


def rename_addresses(draft: Plain, at: str, renamed: Mapping[str, str]) -> None:
    """Let translations name the rows of the list at this place by their new keys.

    Rows that hold the list go by the keys that they have now.
    """
    translations = draft.get("translations")
    if not renamed or not isinstance(translations, dict):
        return
    steps: list[str] = []
    value: Any = draft
    for step in at.split("."):
        value = value[int(step)] if isinstance(value, list) else value.get(step, {})
        steps.append(get_key(value) if step.isdigit() else step)
    holder = f"{'.'.join(steps)}."
    draft["translations"] = {
        language: {_rename_address(str(a), holder, renamed): text for a, text in texts.items()}
        if isinstance(texts, dict)
        else texts
        for language, texts in translations.items()
    }


def _rename_address(address: str, holder: str, renamed: Mapping[str, str]) -> str:
    if address.startswith(holder):
        rest = address.removeprefix(holder)
        for key, new in renamed.items():
            below = rest.removeprefix(f"{key}.")
            # 1.5.label is of the point 1.5, and not of the point 1
            if below != rest and not below[:1].isdigit():
                return f"{holder}{new}.{below}"
    return address


# --- where names are --------------------------------------------------------------------


def _list_examples(draft: Plain) -> Iterator[tuple[Plain, str]]:
    """Yield each example, with the name of its answers."""
    for part, name in _ANSWERS.items():
        for example in list_rows_in_place(draft.get(part)):
            yield example, name


def _list_tests(draft: Plain) -> Iterator[Plain]:
    """Yield each test of a question in the conditions of a draft."""
    for question in list_rows_in_place(draft.get("criteria")):
        comment = question.get("comment")
        yield from _walk_condition(question.get("ask_if"))
        yield from _walk_condition(comment.get("if") if isinstance(comment, dict) else None)


def _walk_condition(condition: Any) -> Iterator[Plain]:
    if isinstance(condition, list):
        for part in condition:
            yield from _walk_condition(part)
    elif isinstance(condition, dict):
        for name in ("all", "any", "not"):
            yield from _walk_condition(condition.get(name))
        if "criterion" in condition:
            yield condition
