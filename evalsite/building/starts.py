"""The texts that a new instrument and a new question start with."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from evalsite.building.parameters import Plain, make_key, start_scale
from evalsite.instruments.checks import RESERVED_KEYS
from evalsite.instruments.scales import COMMENT, Scale, installed_scales
from evalsite.instruments.schema import FORMAT

# summary and instructions, by the outputs on a page
_STARTS = {
    "one": ("Each text is rated on its own.",
            "Read the text, then answer the questions about it."),
    "pair": ("Two texts are compared.",
             "Read both texts, then answer the questions about them."),
    "several": ("Several texts are rated side by side.",
                "Read all texts, then answer the questions about them."),
}  # fmt: skip


def start_draft(title: str, output_name: str = "") -> Plain:
    """Return a new instrument with one question, which is right as it stands but for its words.

    `output_name`: what a page calls an output, if it isn't to be the usual word.
    """
    scale = next(iter(installed_scales().values()))
    return {
        "format": FORMAT,
        "key": make_key(title),
        "version": 1,
        "language": "en",
        "title": title,
        "summary": _STARTS["one"][0],
        "source": {
            "cite": "Written for this study.", "licence": "none", "exact": "Nothing.",
            "ours": "Everything.",
        },
        "instructions": _STARTS["one"][1],
        "item": ({"output_name": output_name} if output_name else {}) | {
            "inputs": [{"name": "source", "label": "Source", "kind": "text"}],
            "outputs": {"kind": "text", "least": 1, "most": 1},
        },
        "layout": {"outputs": "one", "questions": "beside"},
        "criteria": [start_question("Quality", (), start_scale(scale))],
    }  # fmt: skip


def make_column(label: str, taken: Iterable[Any]) -> str:
    """Return a column for a question of this name, which no other one and no file has."""
    keys = {str(one) for one in taken}
    if make_key(label) in RESERVED_KEYS:
        label = f"{label} answer"
    return make_key(label, RESERVED_KEYS | keys | {"turn"} | {f"{key}_{COMMENT}" for key in keys})


def start_question(label: str, taken: Any, scale: Plain) -> Plain:
    kind = installed_scales()[scale["kind"]]
    question = {
        "key": make_column(label, taken), "label": label, "per": kind.asked[0],
        "question": _ask(kind, is_first=label == "Quality"), "scale": scale,
    }  # fmt: skip
    return question | ({"required": False} if kind.starts_optional else {})


def add_question(criteria: list[Plain], kind: str) -> None:
    """Add a question of this kind, or of the first one, on the scale that the last such one has."""
    scale = installed_scales().get(kind) or next(iter(installed_scales().values()))
    scales = [one.get("scale") for one in reversed(criteria)]
    # most instruments ask several questions on one scale
    same = (
        one for one in scales
        if isinstance(one, dict) and one.get("kind") == scale.name_kind() and "points" in one
    )  # fmt: skip
    label = "Comment" if scale.starts_optional else f"Question {len(criteria) + 1}"
    taken = {one.get("key") for one in criteria}
    criteria.append(start_question(label, taken, deepcopy(next(same, start_scale(scale)))))


def find_comment_kind() -> str:
    """Return the kind of a comment box, or "" where none is installed."""
    return next((kind for kind, one in installed_scales().items() if one.starts_optional), "")


def _ask(kind: type[Scale], *, is_first: bool) -> str:
    """Return the question that a new one of this kind starts with."""
    if kind.needs == "pair":
        return "Which one is better?"
    if kind.starts_optional:
        return "Do you have any comments?"
    return "How good is this text?" if is_first else "What do you think of it?"


def follow_outputs(draft: Plain, before: Any, now: str) -> None:
    """Let the texts that an instrument starts with speak of one text, of two or of several."""
    pairs = zip(_STARTS.get(str(before), ("", "")), _STARTS.get(now, ("", "")), strict=True)
    for name, (was, start) in zip(("summary", "instructions"), pairs, strict=True):
        if start and draft.get(name) == was:
            draft[name] = start


def follow_kind(question: Plain, before: Plain, scale: type[Scale]) -> None:
    """Let what another kind of answer starts with be as this kind has it."""
    was = installed_scales().get(str((before.get("scale") or {}).get("kind")))
    if was and was.starts_optional != scale.starts_optional:
        question.pop("required", None)
        question |= {"required": False} if scale.starts_optional else {}
    if not scale.directed:
        question.pop("better", None)
    for is_first in (True, False):
        if was and question.get("question") == _ask(was, is_first=is_first):
            question["question"] = _ask(scale, is_first=is_first)
            return
