"""What the page of the builder shows of a draft: fields filled from plain data, right or wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evalsite.building.condition_fields import describe_condition
from evalsite.building.drafts import DESIGN, list_columns
from evalsite.building.examples import (
    describe_answers,
    name_columns,
    write_answer,
    write_cell,
)
from evalsite.building.faults import describe_faults
from evalsite.building.fields import Field
from evalsite.building.parameters import (
    TABLE,
    Parameter,
    Plain,
    list_names,
    list_parameters,
    start_scale,
)
from evalsite.building.pictures import Picture, draw_answer
from evalsite.building.reuse import describe_origin
from evalsite.building.starts import find_comment_kind, start_draft, start_question
from evalsite.building.tables import describe_table
from evalsite.building.trying import render_preview
from evalsite.instruments.checks import check_instrument
from evalsite.instruments.scales import installed_scales
from evalsite.instruments.schema import (
    INPUT_KINDS,
    KINDS_OF_OUTPUTS,
    OUTPUT_KINDS,
    Instrument,
    write_structure,
)
from evalsite.instruments.texts import list_texts
from evalsite.studies.instruments import find_faults

_PERS = {
    "output": "An answer for each output",
    "item": "One answer for the item",
    "turn": "An answer for each turn",
}


@dataclass(frozen=True)
class Kind:
    """A tile for a kind of answer."""

    value: str
    title: str
    picture: Picture
    is_chosen: bool
    is_off: bool


def build_page(draft: Plain, opened: str = "") -> dict[str, Any]:
    """Return the context of the builder for this draft; `opened`: the question to open."""
    faults = find_faults(draft)
    found = describe_faults(faults, draft)
    faulty = {one.anchor for one in found}
    criteria = _objects(draft.get("criteria"))
    return {
        "draft": draft,
        "faults": found,
        "faulty": faulty,
        "comment_kind": find_comment_kind(),
        "about": _list_about(draft),
        "page": _describe_page(draft),
        "questions": [
            _describe_question(number, one, criteria, draft, faulty | {f"q-{opened}"})
            for number, one in enumerate(criteria)
        ],
        "examples": _describe_examples(draft, "examples"),
        "practice": _describe_examples(draft, "practice"),
        "check": _describe_check(draft),
        "entry": _describe_entry(draft),
        "design": _list_design(draft),
        "source": _list_source(draft),
        "languages": _describe_languages(draft),
        "preview": make_preview(draft),
    }


def _objects(value: Any) -> list[Plain]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _list_about(draft: Plain) -> list[Field]:
    return [
        Field("title", "Title", draft.get("title", "")),
        Field("summary", "Summary", draft.get("summary", ""), help="One sentence for researchers."),
    ]


# how outputs of these kinds are written in a box
_STRUCTURES = {
    "conversation": "A JSON list of turns, each with “role” and “content”.",
    "table": "CSV, with the names of its columns first.",
}


def _describe_page(draft: Plain) -> dict[str, Any]:
    item, layout = draft.get("item", {}), draft.get("layout", {})
    outputs = item.get("outputs", {})
    kinds = tuple((kind, kind.capitalize()) for kind in sorted(INPUT_KINDS))
    chosen = layout.get("outputs", "one")
    fields = [
        Field("outputs", "Outputs on a page", chosen, "select",
              choices=(("one", "One"), ("pair", "Two, side by side"), ("several", "Several"))),
        Field("questions", "Questions", layout.get("questions", "beside"), "select",
              choices=(("beside", "Beside the output"), ("below", "Below the output"),
                       ("under each output", "Under each output"))),
        Field("inputs-place", "Inputs", layout.get("inputs", "above"), "select",
              choices=(("above", "Above the outputs"), ("beside", "Beside the outputs"),
                       ("none", "Not shown"))),
        Field("order", "Order of outputs", layout.get("order", "random"), "select",
              choices=(("random", "Random and balanced"), ("given", "As in the file"))),
        Field("out-kind", "Kind of output", outputs.get("kind", "text"), "select",
              choices=tuple((kind, kind.capitalize()) for kind in sorted(OUTPUT_KINDS))),
        Field("item-output_name", "What a page calls an output",
              item.get("output_name", ""), help="If empty: “Response”."),
    ]  # fmt: skip
    if chosen == "one":
        del fields[3]  # the order of outputs
    if chosen == "several":
        fields.insert(1, Field("out-most", "At most so many", outputs.get("most", 3), "whole"))
    own = [one.get("name") for one in _objects(item.get("output_columns"))]
    inputs = [
        {
            "number": number,
            "was": column.get("name", ""),
            "fields": [
                Field(f"in-{number}-label", "Name on the page", column.get("label", "")),
                Field(f"in-{number}-name", "Column in uploads", column.get("name", "")),
                Field(f"in-{number}-kind", "Kind", column.get("kind", "text"), "select",
                      choices=kinds),
                *_describe_use(f"in-{number}", column, is_single=chosen == "one",
                               is_of_output=column.get("name") in own),
                Field(f"in-{number}-required", "Every item has it", column.get("required", True),
                      "flag"),
            ],
        }
        for number, column in enumerate(list_columns(item))
    ]  # fmt: skip
    columns = [*(str(one["was"]) for one in inputs), "system", "output"]
    if chosen != "one":
        columns.insert(0, "item")
    return {"fields": fields, "inputs": inputs, "columns": ", ".join(columns)}


def _describe_use(
    at: str, column: Plain, *, is_single: bool, is_of_output: bool
) -> Iterator[Field]:
    """Yield what a column that only questions use belongs to."""
    if column.get("kind") in KINDS_OF_OUTPUTS and (is_single or is_of_output):
        yield Field(
            f"{at}-of", "Belongs to", "output" if is_of_output else "input", "select",
            choices=(("output", "The output"), ("input", "The inputs, whatever the output")),
            help="Only questions use this column. Outputs of the same inputs are compared with "
                 "each other.",
        )  # fmt: skip


# --- questions ----------------------------------------------------------------------


def _describe_question(
    number: int, one: Plain, criteria: list[Plain], draft: Plain, faulty: set[str]
) -> dict[str, Any]:
    at = f"q-{number}"
    scale = one.get("scale") if isinstance(one.get("scale"), dict) else {}
    kind = str((scale or {}).get("kind", ""))
    cls = installed_scales().get(kind)
    parameters = list_parameters(cls) if cls else {}
    is_pair = draft.get("layout", {}).get("outputs") == "pair"
    return {
        "at": at,
        "number": number + 1,
        "key": one.get("key", ""),
        "label": one.get("label", ""),
        "kind": cls.name_title() if cls else kind,
        "is_open": at in faulty or len(criteria) == 1,
        "origin": describe_origin(one),
        "may_require": is_supported("required"),
        "is_first": number == 0,
        "is_last": number == len(criteria) - 1,
        "names": [
            Field(f"{at}-label", "Name", one.get("label", ""),
                  help="Shown above the question and in results."),
            Field(f"{at}-key", "Column in exports", one.get("key", "")),
        ],
        "texts": [
            Field(f"{at}-question", "What participants are asked", one.get("question", ""), "area"),
            Field(f"{at}-definition", "Definition", one.get("definition", ""), "area",
                  help="Always in view. Markdown."),
        ],
        "kinds": [
            Kind(name, each.name_title(), draw_answer(name),
                 is_chosen=name == kind, is_off=each.needs == "pair" and not is_pair)
            for name, each in installed_scales().items()
        ],
        "tables": [
            describe_table(f"{at}-p-{name}", parameter, scale or {}, list_names(cls))
            for name, parameter in parameters.items()
            if cls and parameter.control == "table"
        ],
        "parameters": [
            _describe_parameter(f"{at}-p-{name}", parameter, (scale or {}).get(name), draft)
            for name, parameter in parameters.items()
            if parameter.control not in ("table", "group")
            and not (name == "statements" and (scale or {}).get("from_column"))
        ],
        "groups": [
            _describe_group(f"{at}-p-{name}", parameter, (scale or {}).get(name))
            for name, parameter in parameters.items()
            if parameter.control == "group"
        ],
        "settings": _list_settings(at, one, kind, draft),
        "condition": describe_condition(at, one, criteria[:number])
        if (number or one.get("ask_if")) and is_supported("ask_if") else None,
    }  # fmt: skip


def _describe_parameter(name: str, parameter: Parameter, value: Any, draft: Plain) -> Field:
    shown = value if parameter.control == "flag" else parameter.write(value)
    choices = parameter.choices
    if parameter.column_kind:
        columns = list_columns(draft.get("item", {}))
        names = [
            str(one.get("name")) for one in columns if one.get("kind") == parameter.column_kind
        ]
        lost = [shown] if shown and shown not in names else []
        choices += tuple((one, f"The column {one}") for one in names)
        choices += tuple((one, f"{one} (no longer a column of statements)") for one in lost)
    return Field(name, parameter.label, shown, parameter.control, parameter.help, choices)


def _describe_group(name: str, parameter: Parameter, value: Any) -> dict[str, Any]:
    """Return the table of a group, and its other fields once there are rows."""
    given = value if isinstance(value, dict) else {}
    parts = dict(parameter.parts)
    table = describe_table(f"{name}-{TABLE}", parts.pop(TABLE), given, parameter.parts)
    fields = [
        _describe_parameter(f"{name}-{part}", one, given.get(part), {})
        for part, one in parts.items()
    ]
    return {"label": parameter.label, "table": table, "fields": fields if table.rows else []}


def _list_settings(at: str, one: Plain, kind: str, draft: Plain) -> list[Field]:
    """List what any question may have, as far as this version can ask it."""
    fields = []
    has_turns = draft.get("item", {}).get("outputs", {}).get("kind") == "conversation"
    pers = [per for per in _PERS if _takes_per(kind, per)
            and (per != "turn" or has_turns or one.get("per") == "turn")]  # fmt: skip
    is_one = draft.get("layout", {}).get("outputs") == "one"
    if is_one and "output" in pers and one.get("per") != "item":
        pers = [per for per in pers if per != "item"]  # the item is its output
    names = _PERS | (
        {"output": "An answer for the whole conversation"} if has_turns and is_one else {}
    )
    if len(pers) > 1:
        fields.append(Field(f"{at}-per", "Asked", one.get("per", ""), "select",
                            choices=tuple((per, names[per]) for per in pers)))  # fmt: skip
    if one.get("per") == "turn":
        fields += _list_turns(at, one.get("turns"), draft)
    if is_supported("comment"):
        comment = one.get("comment") if isinstance(one.get("comment"), dict) else {}
        fields.append(
            Field(f"{at}-comment", "Comment", (comment or {}).get("ask", ""), "select",
                  choices=(("", "No comment"), ("optional", "Optional comment"),
                           ("required", "Required comment"))))  # fmt: skip
    if is_supported("required"):
        fields.append(Field(f"{at}-required", "Required", one.get("required", True), "flag"))
    return fields


def _list_turns(at: str, turns: Any, draft: Plain) -> list[Field]:
    turns = turns if isinstance(turns, dict) else {}
    roles = turns.get("roles", [])
    columns = [
        str(column.get("name"))
        for column in list_columns(draft.get("item", {}))
        if column.get("kind") == "turns"
    ]
    return [
        Field(f"{at}-roles", "Turns of", ", ".join(map(str, roles)) if roles else "",
              help="Roles in the conversations, separated by commas."),
        Field(f"{at}-marked", "Which of them", turns.get("marked_by", ""), "select",
              choices=(("", "All"), *((name, f"Those named in {name}") for name in columns)),
              help="Add an input of the kind Turns to name them in a column, such as 2;4."),
    ]  # fmt: skip


def _probe(**question: Any) -> set[str]:
    """Return the codes of a small instrument whose last question has these keys."""
    draft = start_draft("Probe")
    last = start_question("Second", ("quality",), draft["criteria"][0]["scale"]) | question
    draft["criteria"] = [draft["criteria"][0], last]
    return {fault.code for fault in check_instrument(draft, is_foreign=True)}


@lru_cache(maxsize=8)
def is_supported(name: str) -> bool:
    """Tell whether questions of this version can have this key."""
    value = {
        "comment": {"ask": "optional"}, "required": False,
        "ask_if": {"criterion": "quality", "answered": True},
    }[name]  # fmt: skip
    return not _probe(**{name: value})


@lru_cache(maxsize=64)
def _takes_per(kind: str, per: str) -> bool:
    scale = installed_scales().get(kind)
    if scale is None:
        return False
    if per == "turn":
        return "turn" in scale.asked
    return not _probe(scale=start_scale(scale), per=per) & {
        "wrong_per", "not_supported", "not_allowed",
    }  # fmt: skip


# --- before and after ---------------------------------------------------------------


def _describe_examples(draft: Plain, part: str) -> list[dict[str, Any]]:
    """Return the items of this part and an empty one, each with its fields."""
    items = _objects(draft.get(part))
    return [_describe_example(draft, part, number, one) for number, one in enumerate([*items, {}])]


def _describe_example(draft: Plain, part: str, number: int, one: Plain) -> dict[str, Any]:
    at, is_gold = f"{part}-{number}", part == "practice"
    item = draft.get("item", {})
    most = item.get("outputs", {}).get("most", 1)
    count = min(most, 10) if isinstance(most, int) else 1
    inputs, outputs = one.get("inputs", {}), one.get("outputs", [])
    answers = one.get("gold" if is_gold else "ratings", {})
    columns = [_objects(item.get(name)) for name in ("inputs", "output_columns")]
    names = name_columns([*columns[0], *columns[1]])
    said = "Right answer" if is_gold else "Rating"
    notation = (
        "As in a gold column: 4, 3..5 or a word. For several outputs or turns, separate the "
        "answers with commas."
    )
    return {
        "number": number + 1,
        "is_new": not one,
        "fields": [
            *(
                Field(f"{at}-in-{name}", str(column.get("label")),
                      write_structure(inputs.get(name, "")), "area")
                for name, column in zip(names, columns[0], strict=False)
            ),
            *(
                Field(f"{at}-in-{name}", str(column.get("label") or name), write_cell(one, name),
                      "area", "One a line." if column.get("kind") == "statements" else "")
                for name, column in zip(names[len(columns[0]) :], columns[1], strict=True)
            ),
            *(
                Field(f"{at}-out-{place}", f"Output {place + 1}" if count > 1 else "Output",
                      write_structure(outputs[place]) if place < len(outputs) else "", "area",
                      _STRUCTURES.get(str(item.get("outputs", {}).get("kind")), ""))
                for place in range(count)
            ),
            *(
                Field(f"{at}-answer-{criterion.get('key')}", f"{said}: {criterion.get('label')}",
                      write_answer(answers.get(criterion.get("key")), criterion, is_gold=is_gold),
                      help=(notation if first == 0 else "") if is_gold
                      else describe_answers(criterion))
                for first, criterion in enumerate(_objects(draft.get("criteria")))
            ),
            Field(f"{at}-why", "Why", one.get("why", ""), "area"),
        ],
    }  # fmt: skip


def _describe_check(draft: Plain) -> list[list[Field]]:
    found = []
    for number, one in enumerate([*_objects(draft.get("comprehension")), {}]):
        at = f"check-{number}"
        lines = [f"*{choice}" if choice == one.get("right") else str(choice)
                 for choice in one.get("choices", ())]  # fmt: skip
        found.append([
            Field(f"{at}-question", "Question", one.get("question", "")),
            Field(f"{at}-choices", "Answers", "\n".join(lines), "area",
                  help="One a line, with a * before the right one."),
            Field(f"{at}-why", "Why", one.get("why", "")),
        ])  # fmt: skip
    return found


def _describe_entry(draft: Plain) -> dict[str, Any]:
    before = draft.get("eligibility")
    eligibility = before if isinstance(before, dict) else {}
    accept = eligibility.get("accept", {})
    if eligibility and not _is_plain(eligibility, accept):
        return {"questions": [], "words": [], "count": len(eligibility["questions"])}
    questions = []
    for number, one in enumerate([*_objects(eligibility.get("questions")), {}]):
        at = f"entry-{number}"
        allowed = accept.get(one.get("key"), [])
        lines = [
            ("*" if choice.get("value") in allowed else "") + str(choice.get("label", ""))
            for choice in _objects(one.get("choices"))
        ]
        questions.append({
            "at": at, "key": one.get("key", ""),
            "fields": [
                Field(f"{at}-label", "Question", one.get("label", "")),
                Field(f"{at}-choices", "Answers", "\n".join(lines), "area",
                      help="One a line, with a * before those that may take part."),
            ],
        })  # fmt: skip
    words = [
        Field("entry-rule", "Who may take part, in words", eligibility.get("rule", "")),
        Field("entry-refusal", "What others are told", eligibility.get("refusal", "")),
    ]
    return {"questions": questions, "words": words, "count": len(questions) - 1}


def _is_plain(eligibility: Plain, accept: Any) -> bool:
    """Tell whether these entry questions can be shown as lists of answers, some of which do."""
    questions = _objects(eligibility.get("questions"))
    return (
        isinstance(accept, dict)
        and all(isinstance(rule, list) for rule in accept.values())
        and all(one.get("choices") for one in questions)
    )


def _list_design(draft: Plain) -> list[Field]:
    design = draft.get("design", {})
    return [
        *(
            Field(f"design-{name}", label, design.get(name, default), "whole")
            for (name, default), label in zip(
                DESIGN, ("Answers per item", "Items in a set"), strict=True
            )
        ),
        Field("minutes", "Minutes per item", draft.get("minutes_per_item", 1.0)),
    ]


def _list_source(draft: Plain) -> list[Field]:
    source = draft.get("source", {})
    return [
        Field("source-cite", "Source", source.get("cite", "")),
        Field("source-url", "Address", source.get("url", "")),
        Field("source-licence", "Licence of its words", source.get("licence", ""),
              help="“none” where nothing but a method was taken."),
        Field("source-notice", "Notice that the licence asks for", source.get("notice", "")),
        Field("source-exact", "To the letter", source.get("exact", "")),
        Field("source-ours", "Ours", source.get("ours", "")),
    ]  # fmt: skip


def _describe_languages(draft: Plain) -> dict[str, Any]:
    known = list_texts(draft)
    translations = draft.get("translations")
    rows = []
    for language, texts in translations.items() if isinstance(translations, dict) else ():
        done = len(known.keys() & texts.keys()) if isinstance(texts, dict) else 0
        rows.append({"tag": language, "done": done, "missing": len(known) - done})
    return {"own": draft.get("language", ""), "count": len(known), "rows": rows}


# --- preview ------------------------------------------------------------------------


def make_preview(draft: Plain) -> str:
    """Return the page of an item; with faults, that of what is right so far; "" if nothing is."""
    if not find_faults(draft):
        return render_preview(Instrument.model_validate(draft))
    bare = {name: value for name, value in draft.items()
            if name not in ("examples", "practice", "comprehension", "translations",
                            "eligibility", "title", "summary", "instructions")}  # fmt: skip
    bare |= {"title": "Preview", "summary": "Preview", "instructions": "Preview"}
    right: list[Plain] = []
    for one in _objects(draft.get("criteria")):
        if not find_faults(bare | {"criteria": [*right, one]}):
            right.append(one)
    if not right:
        return ""
    return render_preview(Instrument.model_validate(bare | {"criteria": right}))
