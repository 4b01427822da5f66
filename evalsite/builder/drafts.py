"""The whole form of the builder, read into a draft; names that changed are changed everywhere."""

from collections.abc import Container
from copy import deepcopy
from typing import Any

from evalsite.builder import entry_rules, examples, questions
from evalsite.builder.boxes import list_rows
from evalsite.builder.conditions import settle_outputs
from evalsite.builder.controls import Plain, find_control
from evalsite.builder.posts import Post
from evalsite.builder.reader import Reader
from evalsite.builder.renames import (
    rename_addresses,
    rename_answers,
    rename_columns,
    rename_questions,
    rename_texts,
)
from evalsite.builder.starts import follow_outputs, start_input
from evalsite.instruments.schema import KINDS_OF_OUTPUTS, Instrument

_EXAMPLES = ("examples", "practice")
_READERS = questions.READERS | entry_rules.READERS | examples.READERS
# outputs of an item, by the layout
_BOUNDS = {"one": (1, 1), "pair": (2, 2), "several": (3, 8)}
NOTHING = "nothing"


def read_revision(text: str | None) -> int:
    """Return the revision that a form was filled from; -1 where it doesn't say."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else -1


def read_draft(post: Post, base: Plain, kept_keys: Container[str] = ()) -> Plain:
    """Return the draft that this form says; `base` is the one that it was filled from.

    `kept_keys`: of a version, which don't follow their words any more.
    """
    reader = Reader(post, base, kept_keys, _READERS)
    draft = reader.read_part(
        Instrument, "", deepcopy(base), lambda control: control.name not in _EXAMPLES
    )
    _rename(reader, draft)
    # as the form knows the columns: what is chosen for the whole page comes after
    reader.item = draft.get("item", {})
    for part in _EXAMPLES:
        control = find_control(Instrument, part)
        if control:
            reader.read_rows(control, part, draft)
    _read_page(post, base, draft)
    post.finish()
    return draft


def _rename(reader: Reader, draft: Plain) -> None:
    item, base_item = draft.get("item", {}), reader.base.get("item", {})
    columns = {**reader.renamed["item.inputs"], **reader.renamed["item.output_columns"]}
    rename_columns(draft, columns)
    rename_texts(draft, _pair_names(reader, item, base_item))
    rename_questions(draft, reader.renamed["criteria"])
    for at, renamed in list(reader.renamed.items()):
        steps = at.split(".")
        # marks only label answers
        is_scale = steps[0] == "criteria" and len(steps) == 4 and steps[2] == "scale"
        if is_scale and steps[3] != "marks":
            key = str(reader.questions[int(steps[1])].get("key"))
            rename_answers(draft, key, steps[3], renamed)
    # a list before those inside it: their addresses have its keys
    for at in sorted(reader.renamed, key=lambda at: at.count(".")):
        rename_addresses(draft, at, reader.renamed[at])
    pers = {str(question.get("key")): question.get("per") for question in reader.questions}
    for question in reader.questions:
        settle_outputs(question.get("ask_if"), pers, str(question.get("per")))
        comment = question.get("comment")
        if isinstance(comment, dict):
            settle_outputs(comment.get("if"), pers, str(question.get("per")))


def _pair_names(reader: Reader, item: Plain, base_item: Plain) -> dict[str, str]:
    """Return what examples call each column now, by what they called it."""
    lists = ("inputs", "output_columns")
    before = examples.list_names([row for n in lists for row in list_rows(base_item.get(n))])
    now = examples.list_names([row for n in lists for row in list_rows(item.get(n))])
    offset = len(list_rows(base_item.get("inputs")))
    sources = [
        *reader.sources["item.inputs"],
        *(s if s is None else s + offset for s in reader.sources["item.output_columns"]),
    ]
    return {
        before[source]: name
        for source, name in zip(sources, now, strict=True)
        if source is not None
    }


# --- what the page asks first ---------------------------------------------------------


def find_shown_input(plain: Plain) -> int | None:
    """Return the number of the first input that people read."""
    item = plain.get("item")
    inputs = list_rows(item.get("inputs")) if isinstance(item, dict) else []
    return next(
        (n for n, row in enumerate(inputs) if row.get("kind") not in KINDS_OF_OUTPUTS), None
    )


def get_context(plain: Plain) -> str:
    """Return the kind of what people see beside the outputs."""
    number = find_shown_input(plain)
    return NOTHING if number is None else str(plain["item"]["inputs"][number].get("kind"))


def _read_page(post: Post, base: Plain, draft: Plain) -> None:
    """Read the kind of what people see; that there is nothing, the page says with a removal."""
    item: Any = draft.setdefault("item", {})
    context, number = post.read("context"), find_shown_input(draft)
    if context not in (get_context(base), NOTHING):
        inputs = list_rows(item.get("inputs"))
        if number is None:
            inputs.insert(0, start_input(context))
        else:
            inputs[number]["kind"] = context
        item["inputs"] = inputs
    was, now = base.get("layout", {}).get("outputs"), draft.get("layout", {}).get("outputs")
    if was != now and now in _BOUNDS:
        least, most = _BOUNDS[now]
        item["outputs"] = {**item.get("outputs", {}), "least": least, "most": most}
        follow_outputs(draft, was, now)
