"""Conversations in which errors are marked: outputs, and what was said before them."""

import json
from typing import Any

from evalsite.studies.models import Study
from tests.support.batches import import_rows
from tests.support.factories import launch
from tests.support.instruments import GALLERY, make_built_study

Turn = dict[str, Any]

# an emoji of five code points, one beyond U+FFFF, and an accent that combines
SIGNS = "Hello 👩‍👩‍👧 and 🙂 in the cafe\u0301: it closes early."
HEBREW = "תודה! 🙂 האם המעלית מתוקנת כבר?"
ASKED = (
    "Hi, I booked two nights at your hotel from Friday, and my mother, who is 81, will be with me. "
    "She can’t climb stairs. On the phone somebody told me that the lift was being repaired, and "
    "that the work would take until the end of the week, perhaps longer. Could you look up whether "
    "the lift will be running when we arrive, and if it isn’t, whether there is a room on the "
    "ground floor that we could have instead?"
)
ANSWERED = (
    "I have looked that up for you. According to the notice, the lift is out of order until "
    "Thursday evening, so it will be running again when you arrive on Friday.\n\n"
    "I have also moved you to room 12 on the ground floor, which has a garden and costs 20 euros "
    "more a night. If you would rather keep your room on the third floor, tell me before Friday "
    "at noon. Is there anything else that I can do for you?"
)
CALL = {"id": "c1", "function": {"name": "read_notice", "arguments": '{"about": "lift"}'}}
SAID: list[Turn] = [
    {"role": "system", "content": "You answer guests of the hotel. Be brief."},
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "name": "read_notice", "content": "Lift: out of order until Friday evening."},
    {"role": "assistant", "content": ANSWERED},
    {"role": "user", "content": HEBREW},
    {"role": "assistant", "content": [{"type": "text", "text": SIGNS}, {"text": "Good bye."}]},
]
BEFORE: list[Turn] = [
    {"role": "user", "content": "Is the lift running?"},
    {"role": "assistant", "content": "The lift is out of order until Friday."},
]
OUTPUT, SOURCE = json.dumps(SAID), json.dumps(BEFORE)


def make_content(**scale: Any) -> dict[str, Any]:
    """MQM of the gallery, for conversations: errors of them, and of what was said before."""
    content: dict[str, Any] = json.loads((GALLERY / "mqm.json").read_bytes())
    content["practice"] = []
    content["item"]["inputs"][0]["kind"] = "conversation"
    content["item"]["outputs"]["kind"] = "conversation"
    content["criteria"][0]["scale"] |= scale
    return content


def make_turns_study(*outputs: str, content: dict[str, Any] | None = None, **fields: Any) -> Study:
    """A live study with an item for each of these conversations."""
    study = make_built_study(
        content or make_content(),
        **{"k": 1, "set_size": len(outputs), "is_practice_on": False, "item_order": "uploaded"}
        | fields,
    )
    rows = [
        {"item": f"i{number}", "source": SOURCE, "system": "alpha", "output": output}
        for number, output in enumerate(outputs)
    ]
    import_rows(study, rows)
    return launch(study)


def mark(turn: int, quote: str, category: str = "awkward", **parts: Any) -> dict[str, Any]:
    """A mark as a page posts it; `text` is that of the turn, if it isn't one of the output."""
    said = BEFORE if parts.get("in") == "source" else SAID
    text = parts.pop("text", None) or str(said[turn - 1]["content"])
    start = text.index(quote)
    place = {"turn": turn, "start": start, "end": start + len(quote), "quote": quote}
    return {**place, "category": category, "severity": "minor", **parts}
