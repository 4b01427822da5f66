"""Checks of worked examples, practice items and questions on the instructions."""

from collections.abc import Mapping
from typing import Any

from evalsite.protocol.faults import Faults, check_keys, check_list, check_text
from evalsite.protocol.scale import get_scale

# by criterion: what it is asked per, and its scale as data
Scales = Mapping[str, tuple[str, Mapping[str, Any]]]


def check_comprehension(questions: Any, faults: Faults) -> None:
    for number, question in enumerate(check_list(questions, "comprehension", faults)):
        at = f"comprehension.{number}"
        needed = {"question", "choices", "right", "why"}
        if not check_keys(question, at, faults, needed=needed, optional=()):
            continue
        for name in ("question", "why"):
            check_text(question.get(name, "-"), f"{at}.{name}", faults)
        if "choices" not in question:
            continue
        choices = check_list(question["choices"], f"{at}.choices", faults, least=2, most=6)
        for place, choice in enumerate(choices):
            check_text(choice, f"{at}.choices.{place}", faults)
        if "right" in question and question["right"] not in choices:
            faults.add("no_right_answer", f"{at}.right", "must be one of the choices")


def check_examples(
    data: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    scales: Scales,
    faults: Faults,
) -> None:
    """Check examples and practice against an instrument that has no fault otherwise."""
    outputs = data["item"]["outputs"]
    for name in ("examples", "practice"):
        for number, example in enumerate(check_list(data.get(name, []), name, faults)):
            place = f"{name}.{number}"
            if not check_keys(
                example, place, faults,
                needed={"inputs", "outputs", "why"},
                optional={"ratings", "gold", "label", "criterion", "columns"},
            ):  # fmt: skip
                continue
            if "columns" in example:
                at = f"{place}.columns"
                faults.add("not_supported", at, "is not shown by this version yet")
            # ratings may speak for themselves, a practice item has to explain
            may_be_empty = name == "examples" and bool(example.get("ratings"))
            check_text(example.get("why", "-"), f"{place}.why", faults, may_be_empty=may_be_empty)
            check_text(example.get("label", "-"), f"{place}.label", faults)
            if "criterion" in example and example["criterion"] not in list(scales):
                at = f"{place}.criterion"
                faults.add("unknown_criterion", at, "isn't a criterion of this instrument")
            _check_inputs(example.get("inputs", {}), place, columns, faults)
            texts = check_list(
                example.get("outputs", []), f"{place}.outputs", faults,
                least=outputs["least"], most=outputs["most"],
            )  # fmt: skip
            for output, text in enumerate(texts):
                check_text(text, f"{place}.outputs.{output}", faults)
            _check_answers(example, place, scales, len(texts), faults)
            _check_marked(example, place, faults)
    practice = data.get("practice", [])
    has_gold = isinstance(practice, list) and any(
        isinstance(one, Mapping) and one.get("gold") for one in practice
    )
    if practice and not has_gold and not data.get("comprehension"):
        faults.add(
            "no_gold", "practice", "needs gold on at least one item, or comprehension questions"
        )


def _check_inputs(
    inputs: Any, place: str, columns: Mapping[str, Mapping[str, Any]], faults: Faults
) -> None:
    if not isinstance(inputs, Mapping):
        faults.add("type", f"{place}.inputs", "must be an object")
        return
    for name in inputs:
        if name not in columns:
            faults.add(
                "unknown_column", f"{place}.inputs.{name}", "isn't an input of this instrument"
            )
    for name, column in columns.items():
        if column.get("required", True) and name not in inputs:
            faults.add("missing_key", f"{place}.inputs.{name}", "is required")


def _check_answers(
    example: Mapping[str, Any], place: str, scales: Scales, outputs: int, faults: Faults
) -> None:
    for part in ("ratings", "gold"):
        answers = example.get(part, {})
        if not isinstance(answers, Mapping):
            faults.add("type", f"{place}.{part}", "must be an object")
            continue
        for key, answer in answers.items():
            at = f"{place}.{part}.{key}"
            if key not in scales:
                faults.add("unknown_criterion", at, "isn't a criterion of this instrument")
                continue
            per, data = scales[key]
            scale = get_scale(data["kind"]).from_data(data)
            check = scale.check_rating if part == "ratings" else scale.check_gold
            if per == scale.per:
                check(answer, outputs, at, faults)
            else:  # one answer, to all outputs together
                check([answer], 1, at, faults)


def _check_marked(example: Mapping[str, Any], place: str, faults: Faults) -> None:
    """Check that the passages to mark occur in the inputs."""
    inputs, marked = example.get("inputs", {}), example.get("x_marked", {})
    if not isinstance(inputs, Mapping) or not isinstance(marked, Mapping):
        faults.add("type", f"{place}.x_marked", "must be an object, as must the inputs")
        return
    for column, passages in marked.items():
        at = f"{place}.x_marked.{column}"
        for passage in check_list(passages, at, faults):
            if str(passage) not in str(inputs.get(column, "")):
                faults.add("quote_not_found", at, f"has {passage!r}, which isn't in this input")
