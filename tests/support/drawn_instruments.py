"""Instruments of every kind of question, drawn by Hypothesis: without fault, or with one."""

import copy
from typing import Any

from hypothesis import strategies as st

Plain = dict[str, Any]

WORDS = [
    "Good",
    "bad & <b>worse</b>",
    "ça va",
    "優れた",
    "a, b; c",
    "“x”",
    "very very long words " * 3,
]
labels = st.sampled_from(WORDS)
_RICH = ["text", "markdown", "code", "table", "conversation", "dialogue"]
_INPUTS = [*_RICH, "review", "meaning representation", "whole number"]


def _optional(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Plain]:
    return st.fixed_dictionaries({}, optional=parts)


@st.composite
def options(draw: st.DrawFn, least: int) -> list[Plain]:
    count = draw(st.integers(least, 6))
    found: list[Plain] = [{"key": f"o{n}", "label": draw(labels)} for n in range(count)]
    for one in found:
        one |= draw(_optional(notes=st.lists(labels, min_size=1, max_size=2)))
    if draw(st.booleans()):
        found[-1]["other"] = True
    return found


@st.composite
def points(draw: st.DrawFn) -> list[Plain]:
    values = sorted(draw(st.sets(st.integers(-5, 12), min_size=2, max_size=9)))
    unit = draw(st.sampled_from([1, 0.5, 0.125]))
    found: list[Plain] = [{"value": value * unit, "label": draw(labels)} for value in values]
    for one in found[1:-1]:
        one["label"] = draw(st.sampled_from(["", *WORDS]))
        one |= draw(_optional(reserved=st.booleans(), notes=st.just(["n"])))
    return found


_NA = {"not_applicable": labels}
_STATEMENTS = st.integers(1, 5).flatmap(
    lambda count: st.tuples(
        *(st.fixed_dictionaries({"key": st.just(f"s{n}"), "text": labels}) for n in range(count))
    ).map(list)
)
_SIDES = [
    [-1, 1], [-1, 0, 1], [-2, -1, 1, 2], [-2, -1, 0, 1, 2], [-3, -2, -1, 1, 2, 3],
    [-3, -2, -1, 0, 1, 2, 3],
]  # fmt: skip
_TAGS = st.fixed_dictionaries({
    "label": labels,
    "options": st.just([{"key": "a", "label": "A"}, {"key": "b", "label": "B & <b>"}]),
    "about": st.sampled_from(["preferred", "each output", "comparison"]),
})  # fmt: skip


def _bounds(**more: Any) -> st.SearchStrategy[Plain]:
    bounds = st.tuples(st.integers(-50, 100), st.integers(1, 200))
    numbers = bounds.map(lambda one: {"minimum": one[0], "maximum": one[0] + one[1]})
    # as halves, with decimals at one end at least
    halves = bounds.map(lambda one: {"minimum": one[0] + 0.5, "maximum": one[0] + one[1] / 2 + 1})
    ends = st.one_of(numbers, halves)
    return st.tuples(ends, _optional(**more)).map(lambda one: {**one[0], **one[1]})


def _sides() -> st.SearchStrategy[list[Plain]]:
    return st.sampled_from(_SIDES).map(
        lambda values: [{"value": value, "label": f"Point {value}"} for value in values]
    )


# of each kind its parameters, which go together
_SCALES: dict[str, st.SearchStrategy[Plain]] = {
    "likert": st.fixed_dictionaries({"points": points()}, optional={
        "shown": st.sampled_from(["rising", "falling"]),
        "display": st.sampled_from(["row", "stacked"]), "reserved_note": labels, **_NA,
    }),
    "slider": _bounds(low=labels, high=labels, **_NA),
    "number": _bounds(unit=labels, **_NA),
    "decision": st.fixed_dictionaries({"yes": st.just("Yes"), "no": labels}, optional=_NA),
    "choice": st.fixed_dictionaries(
        {"options": options(2)}, optional={"shuffle": st.booleans(), **_NA}
    ),
    "choices": st.fixed_dictionaries(
        {"options": options(1)}, optional={"shuffle": st.booleans(), "least": st.integers(0, 1)}
    ),
    "checklist": st.fixed_dictionaries(
        {"yes": labels, "no": st.just("No"), "statements": _STATEMENTS}, optional=_NA
    ),
    "preference": st.fixed_dictionaries(
        {"points": _sides()}, optional={"both_good": labels, "both_bad": labels, "tags": _TAGS}
    ),
    "text": _optional(lines=st.integers(1, 6)),
    "magnitude": st.just({}),
}  # fmt: skip


_PER = {
    "likert": ["output", "item"], "slider": ["output", "item"], "number": ["output", "item"],
    "decision": ["output", "item"], "choice": ["output", "item"], "choices": ["output", "item"],
    "text": ["output", "item"], "checklist": ["output"], "magnitude": ["output"],
    "preference": ["item"],
}  # fmt: skip


_NEVER_PER_TURN = {"magnitude", "preference"}
_WITHOUT_DIRECTION = {"preference", "choice", "choices", "text"}


def _test_of(scale: Plain) -> Plain:
    """Return a test that the answers of this scale may meet."""
    if scale["kind"] in ("likert", "preference"):
        return {"is": [scale["points"][0]["value"]]}
    if scale["kind"] in ("choice", "choices"):
        test = "is" if scale["kind"] == "choice" else "includes"
        return {test: [scale["options"][0]["key"]]}
    tests: dict[str, Plain] = {
        "slider": {"at_most": scale.get("maximum", 1) - 1}, "number": {"at_least": 1},
        "decision": {"is": [1]}, "checklist": {"includes": [0]},
    }  # fmt: skip
    return tests.get(scale["kind"], {"answered": True})


@st.composite
def conditions(draw: st.DrawFn, earlier: list[Plain], per: str) -> Plain:
    asked = draw(st.sampled_from(earlier))
    test = draw(st.sampled_from([_test_of(asked["scale"]), {"answered": True}]))
    found = {"criterion": asked["key"], **test}
    width = ["item", "output", "turn"]
    if width.index(asked["per"]) > width.index(per):
        found["outputs"] = draw(st.sampled_from(["any", "every"]))
    return draw(st.sampled_from([found, {"not": found}, {"any": [found, found]}]))


@st.composite
def criteria(draw: st.DrawFn, *, is_pair: bool, with_turns: bool) -> list[Plain]:
    kinds = sorted(set(_PER) - (set() if is_pair else {"preference"}))
    found: list[Plain] = []
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(kinds))
        turns = ["turn"] if with_turns and kind not in _NEVER_PER_TURN else []
        per = draw(st.sampled_from([*_PER[kind], *turns]))
        one: Plain = {
            "key": f"q{number}", "label": f"{draw(labels)} {number}", "per": per,
            "question": draw(labels), "scale": {"kind": kind, **draw(_SCALES[kind])},
        }  # fmt: skip
        if per == "turn":
            one["turns"] = {"roles": ["assistant"]} | draw(_optional(marked_by=st.just("rated")))
        one |= draw(_optional(definition=st.just("**Bold** and `code`"), required=st.booleans()))
        ask = st.fixed_dictionaries(
            {"ask": st.sampled_from(["optional", "required"])}, optional={"label": labels}
        )
        one |= draw(_optional(comment=ask))
        if kind not in _WITHOUT_DIRECTION:
            one |= draw(_optional(better=st.sampled_from(["higher", "lower", "none"])))
        if found and draw(st.booleans()):
            one["ask_if"] = draw(conditions(found, per))
        found.append(one)
    return found


@st.composite
def instruments(draw: st.DrawFn) -> Plain:
    """An instrument without fault."""
    shape = draw(st.sampled_from(["one", "pair", "several"]))
    least = {"one": 1, "pair": 2}.get(shape) or draw(st.integers(2, 8))
    most = least if shape != "several" else draw(st.integers(max(2, least), 8))
    inputs = [
        {
            "name": f"in{number}", "label": draw(labels), "kind": draw(st.sampled_from(_INPUTS)),
            **draw(_optional(
                display=st.sampled_from(["full", "scroll", "folded"]), shown=st.booleans(),
            )),
        }
        for number in range(draw(st.integers(0, 3)))
    ]  # fmt: skip
    layout: Plain = {
        "outputs": shape,
        "questions": draw(st.sampled_from(["below", "beside", "under each output"])),
    } | draw(_optional(inputs=st.sampled_from(["above", "beside", "none"])))
    if most <= 5:
        layout |= draw(_optional(order=st.sampled_from(["random", "given"])))
    outputs = {"kind": draw(st.sampled_from(_RICH)), "least": least, "most": most}
    with_turns = shape == "one" and outputs["kind"] == "conversation"
    if with_turns:
        inputs.append({"name": "rated", "label": "Turns", "kind": "turns", "required": False})
    return {
        "format": "evalsite.instrument/1", "key": "drawn", "version": 1, "language": "en",
        "title": draw(labels), "summary": draw(labels), "instructions": draw(labels),
        "source": {"cite": "-", "licence": "none", "exact": "-", "ours": "-"},
        "item": {"inputs": inputs, "outputs": outputs}, "layout": layout,
        "criteria": draw(criteria(is_pair=shape == "pair", with_turns=with_turns)),
        "comprehension": [
            {"question": f"Which is {n}?", "choices": ["1", "2"], "right": str(n), "why": "-"}
            for n in (1, 2)
        ],
        "design": {"k": 2, "set_size": 2},
    }  # fmt: skip


def _list_places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = (
        value.items() if isinstance(value, dict)
        else enumerate(value) if isinstance(value, list) else ()
    )  # fmt: skip
    own = [place] if place else []
    return own + [found for name, part in parts for found in _list_places(part, (*place, name))]


ODD = st.sampled_from([None, True, -1, 1.5, 10**12, "", "x", [], [None], {}, {"a": []}])


@st.composite
def spoiled(draw: st.DrawFn) -> Plain:
    """An instrument with something in one place that may not belong there."""
    content = copy.deepcopy(draw(instruments()))
    place = draw(st.sampled_from(_list_places(content)))
    holder: Any = content
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = draw(ODD)
    return content
