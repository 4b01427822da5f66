"""When a question is asked, as fields of the builder."""

from collections.abc import Mapping
from typing import Any

from evalsite.building.drafts import is_narrower
from evalsite.building.examples import find_scale
from evalsite.building.fields import Field
from evalsite.building.parameters import Plain
from evalsite.instruments.schema import Condition

_TESTS = (
    ("is", "is one of"), ("includes", "includes one of"), ("at_least", "is at least"),
    ("at_most", "is at most"), ("answered", "is answered"),
)  # fmt: skip


def describe_condition(at: str, question: Plain, earlier: list[Plain]) -> dict[str, Any]:
    """Return the fields of a condition; of joined ones, which files can have, their words."""
    given = question.get("ask_if")
    condition = given if isinstance(given, dict) else {}
    is_not = isinstance(condition.get("not"), dict)
    inner = condition["not"] if is_not else condition
    if inner and "criterion" not in inner:
        return {"words": _say(condition, earlier), "fields": []}
    key = inner.get("criterion", "")
    known = {str(one.get("key")): str(one.get("label")) for one in earlier}
    # a condition on a question that was removed or moved stays until somebody decides
    lost = {key: f"{key} (no longer an earlier question)"} if key and key not in known else {}
    fields = [
        Field(f"{at}-if", "Ask only if", key, "select", choices=(
            ("", "Always asked"),
            *(known | lost).items(),
        ))
    ]  # fmt: skip
    asked = next((one for one in earlier if one.get("key") == key), None)
    if key:
        fields += _list_test(at, inner, asked or {})
        if asked and is_narrower(asked.get("per"), question.get("per")):
            noun = "turn" if asked.get("per") == "turn" else "output"
            fields.append(
                Field(f"{at}-which", "Of several answers", inner.get("outputs", "any"), "select",
                      choices=(("any", f"For at least one {noun}"), ("every", f"For every {noun}")))
            )  # fmt: skip
        fields.append(Field(f"{at}-not", "Ask it where this doesn’t hold", is_not, "flag"))
    return {"words": "", "fields": fields}


def _list_test(at: str, inner: Plain, asked: Plain) -> list[Field]:
    test = next((name for name, _ in _TESTS if name in inner), "is")
    said = inner.get(test, "")
    scale = find_scale(asked)
    takes = {"answered", test, *(scale.tests if scale else dict(_TESTS))}
    choices = tuple((name, words) for name, words in _TESTS if name in takes)
    fields = [Field(f"{at}-test", "Condition", test, "select", choices=choices)]
    known = scale.list_testable() if scale else None
    if test in ("is", "includes") and scale and known is not None:
        ticked = said if isinstance(said, list) else []
        named = {str(answer): str(scale.name_tested(answer)) for answer in known}
        lost = {
            str(answer): f"{answer} (no longer an answer)" for answer in ticked
            if str(answer) not in named
        }  # fmt: skip
        fields.append(Field(f"{at}-tick", "Answers", [str(one) for one in ticked], "ticks",
                            choices=tuple((named | lost).items())))  # fmt: skip
    elif test != "answered":
        what = ", ".join(map(str, said)) if isinstance(said, list) else str(said)
        is_number = test in ("at_least", "at_most")
        fields.append(
            Field(f"{at}-what", "Number" if is_number else "Answers", what,
                  "whole" if is_number else "text",
                  "" if is_number else "Separated by commas.")
        )  # fmt: skip
    return fields


def _say(condition: Mapping[str, Any], earlier: list[Plain]) -> str:
    """Say a condition in words, as far as the questions that it names are right."""
    labels = {str(one.get("key")): _Named(one) for one in earlier}
    try:
        return Condition.model_validate(condition).describe(labels)
    except (LookupError, StopIteration, TypeError, AttributeError, ValueError):
        return "a condition that isn’t right yet"


class _Named:
    """What the words of a condition need of a question."""

    def __init__(self, question: Plain) -> None:
        self.label = str(question.get("label", ""))
        self.scale = find_scale(question)
