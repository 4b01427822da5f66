"""What becomes of the texts of items: messages, reasoning, lost values, odd characters."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from evalsite.data.items.items import CheckedItems
from evalsite.data.uploads import pack_files
from tests.support.checking import check_file
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "getting_in"
USER = {"role": "user", "content": "Name a bird."}
TALK = [USER, {"role": "assistant", "content": "A robin."}, {"role": "user", "content": "Why?"}]


def check(rows: list[dict[str, Any]], kind: str = "one", **options: str) -> CheckedItems:
    study = make_built_study(json.loads((FOLDER / f"study_{kind}.json").read_bytes()))
    data = "\n".join(map(json.dumps, rows)).encode()
    return check_file(io.BytesIO(data), study=study, options=options)


def make_row(prompt: Any = "Q", output: Any = "A", number: int = 1) -> dict[str, Any]:
    return {"id": f"q{number}", "prompt": prompt, "system": "alpha", "output": output}


def codes(checked: CheckedItems) -> list[str]:
    return [fault.code for fault in checked.faults]


def read_texts(checked: CheckedItems) -> tuple[str, str]:
    (item,) = checked.items
    return item.inputs["prompt"], item.outputs[0].text


@pytest.mark.parametrize(
    ("kind", "prompt", "shown"),
    [
        ("one", [USER], "Name a bird."),
        ("one", TALK, "User: Name a bird.\n\nAssistant: A robin.\n\nUser: Why?"),
        ("chat", TALK, json.dumps(TALK, separators=(",", ":"))),
        ("one", [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "Hi"),
        ("one", "[1, 2]", "[1, 2]"),
    ],
)
def test_messages_are_text_or_turns_as_the_study_shows_them(kind, prompt, shown):
    checked = check([make_row(prompt)], kind)

    assert codes(checked) == []
    assert read_texts(checked)[0] == shown


def test_the_output_of_messages_is_their_last_answer():
    turns = [
        {"role": "assistant", "content": "Let me look."},
        {"role": "tool", "content": "9"},
        {"role": "assistant", "content": "Nine."},
    ]

    assert read_texts(check([make_row("Q", turns)])) == ("Q", "Nine.")


@pytest.mark.parametrize(
    ("answer", "shown", "kept"),
    [("leave-out", "Name a bird.", "Be brief."), ("keep", "System: Be brief.", None)],
)
def test_a_system_prompt_of_a_table_is_asked_about(answer, shown, kept):
    rows = [make_row([{"role": "system", "content": "Be brief."}, USER])]

    asked = check(rows)
    checked = check(rows, **{"outputs_system-prompts": answer})

    assert codes(asked) == ["decision_needed"]
    assert read_texts(checked)[0].startswith(shown)
    assert checked.items[0].extra.get("system_prompt") == kept


def test_reasoning_of_a_table_is_asked_about_and_kept():
    rows = [make_row("Q", "<think>Well.</think>\nNoon.")]

    asked = check(rows)
    checked = check(rows, outputs_reasoning="leave-out")

    assert codes(asked) == ["decision_needed"]
    assert read_texts(checked) == ("Q", "Noon.")
    assert checked.items[0].extra["reasoning"] == "Well."
    assert read_texts(check(rows, outputs_reasoning="keep"))[1] == rows[0]["output"]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_of_its_own_is_shown_only_if_that_is_chosen(name):
    rows = [make_row() | {name: "Well, a robin."}]

    offered = check(rows)
    shown = check(rows, **{"outputs_show-reasoning": "yes"})

    assert codes(offered) == []
    assert read_texts(offered)[1] == "A"
    assert offered.items[0].extra[name] == "Well, a robin."
    (decision,) = offered.decisions
    assert (decision.key, decision.is_made) == ("outputs_show-reasoning", False)
    assert [value for value, *_ in decision.choices] == ["yes", "no"]
    assert read_texts(shown)[1] == "Well, a robin.\n\nA"
    assert [note["code"] for note in shown.import_notes] == ["outputs_show-reasoning"]


def test_reasoning_beside_a_batch_result_is_offered():
    request = {"custom_id": "1", "method": "POST", "url": "/v1", "body": {"messages": [USER]}}
    message = {"role": "assistant", "content": "A robin.", "reasoning_content": "Hm."}
    result = {
        "custom_id": "1",
        "response": {
            "status_code": 200,
            "body": {"model": "alpha", "choices": [{"message": message}]},
        },
    }
    study = make_built_study(json.loads((FOLDER / "study_one.json").read_bytes()))
    files = [("in.jsonl", json.dumps(request)), ("out.jsonl", json.dumps(result))]
    packed = pack_files(
        [(name, lambda text=text: io.BytesIO(text.encode())) for name, text in files]
    )

    checked = check_file(packed, study=study)

    assert codes(checked) == []
    assert read_texts(checked)[1] == "A robin."
    assert [decision.key for decision in checked.decisions] == ["outputs_show-reasoning"]


def answer_anthropic(parts):
    message = {"role": "assistant", "model": "alpha", "content": parts}
    return [
        ("in.jsonl", {"custom_id": "1", "params": {"messages": [USER]}}),
        ("out.jsonl", {"custom_id": "1", "result": {"type": "succeeded", "message": message}}),
    ]


def answer_gemini(parts):
    request = {"contents": [{"role": "user", "parts": [{"text": "Name a bird."}]}]}
    candidate = {"content": {"role": "model", "parts": parts}}
    response = {"candidates": [candidate], "modelVersion": "alpha"}
    return [("out.jsonl", {"key": "1", "request": request, "response": response})]


def answer_inspect(parts):
    message = {"role": "assistant", "content": parts}
    output = {"model": "alpha", "choices": [{"message": message, "stop_reason": "stop"}]}
    sample = {"id": "1", "epoch": 1, "input": "Name a bird.", "output": output}
    log = {"status": "success", "eval": {"model": "alpha", "task": "t"}, "samples": [sample]}
    return [("out.json", log)]


def answer_openai(parts):
    body = {"model": "alpha", "output": parts}
    return [
        ("in.jsonl", {"custom_id": "1", "url": "/v1/responses", "body": {"input": [USER]}}),
        ("out.jsonl", {"custom_id": "1", "response": {"status_code": 200, "body": body}}),
    ]


TEXT = {"type": "text", "text": "A robin."}


@pytest.mark.parametrize(
    ("answer", "parts", "reasoning"),
    [
        (
            answer_anthropic,
            [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, TEXT],
            "Hm.",
        ),
        (answer_anthropic, [{"type": "redacted_thinking", "data": "x"}, TEXT], ""),
        (answer_gemini, [{"text": "Hm.", "thought": True}, {"text": "A robin."}], "Hm."),
        (answer_inspect, [{"type": "reasoning", "reasoning": "Hm."}, TEXT], "Hm."),
        (
            answer_inspect,
            [{"type": "reasoning", "reasoning": "zB3x", "summary": "Hm.", "redacted": True}, TEXT],
            "Hm.",
        ),
        (
            answer_openai,
            [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "message", "content": [{"type": "output_text", "text": "A robin."}]},
            ],
            "Hm.",
        ),
    ],
)
def test_reasoning_in_parts_of_a_message_is_offered_and_never_shown_unasked(
    answer, parts, reasoning
):
    study = make_built_study(json.loads((FOLDER / "study_one.json").read_bytes()))
    packed = pack_files(
        [
            (name, lambda row=row: io.BytesIO(json.dumps(row).encode()))
            for name, row in answer(parts)
        ]
    )

    checked = check_file(packed, study=study)
    packed.seek(0)
    shown = check_file(packed, study=study, options={"outputs_show-reasoning": "yes"})

    assert codes(checked) == []
    assert read_texts(checked)[1] == "A robin."
    assert [decision.key for decision in checked.decisions] == (
        ["outputs_show-reasoning"] if reasoning else []
    )
    assert read_texts(shown)[1] == (f"{reasoning}\n\nA robin." if reasoning else "A robin.")


def test_reasoning_without_an_end_leaves_an_empty_output():
    rows = [make_row("Q", "<thinking>Well"), make_row("R", "Noon.", 2)]

    checked = check(rows, outputs_reasoning="leave-out")
    left = check(rows, outputs_reasoning="leave-out", empty_outputs="leave-out")

    assert codes(checked) == ["output_empty"]
    assert [item.key for item in left.items] == ["q2"]


@pytest.mark.parametrize("word", ["nan", "NaN", "None", "null"])
def test_outputs_that_are_only_a_lost_value_are_asked_about(word):
    rows = [make_row("Q", word), make_row("R", word, 2), make_row("S", "Noon.", 3)]

    assert codes(check(rows)) == ["decision_needed"]
    assert len(check(rows, missing="-").items) == 3
    assert codes(check(rows, missing=word)) == ["output_empty"] * 2
    # once it may well be an answer
    assert codes(check(rows[1:])) == []


@pytest.mark.parametrize(("answer", "text"), [("space", "A robin."), ("remove", "Arobin.")])
def test_control_characters_of_texts_are_replaced_on_demand(answer, text):
    rows = [make_row("Q", "A\x0brobin.")]

    asked = check(rows)
    checked = check(rows, control_characters=answer)

    assert codes(asked) == ["control_character"]
    assert "control_characters" in {decision.key for decision in asked.decisions}
    assert read_texts(checked)[1] == text


def test_control_characters_of_ids_stay_a_fault():
    row = make_row() | {"id": "q\x0b1"}

    assert codes(check([row], control_characters="remove")) == ["control_character"]


@pytest.mark.parametrize(
    "prompt", ["User: Hi.\nAssistant: Hello.", "Kunde: Hallo.\nAssistent: Guten Tag.", "Hi."]
)
def test_known_speakers_are_turns_unasked(prompt):
    assert read_texts(check([make_row(prompt)], "chat"))[0] == prompt


def test_other_words_before_a_colon_are_asked_about():
    prompt = "Context: The lamp is on.\nQuestion: Is it?"

    assert codes(check([make_row(prompt)], "chat")) == ["decision_needed"]
    shown = read_texts(check([make_row(prompt)], "chat", prompts="text"))[0]
    assert json.loads(shown) == [{"role": "user", "content": prompt}]
    assert read_texts(check([make_row(prompt)], "chat", prompts="conversation"))[0] == prompt


# --- outputs that are missing -------------------------------------------------------------


def make_wide(*texts: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"q{number}", "prompt": f"Q{number}", "alpha": text, "beta": "B."}
        for number, text in enumerate(texts, start=1)
    ]


@pytest.mark.parametrize(
    ("answer", "outputs"),
    [
        ("show", [("q1", "A."), ("q1", "B."), ("q2", ""), ("q2", "B.")]),
        ("leave-out", [("q1", "A."), ("q1", "B.")]),
        ("none", [("q1", "A."), ("q1", "B."), ("q2", "B.")]),
    ],
)
def test_an_empty_cell_of_a_system_is_asked_about(answer, outputs):
    rows = make_wide("A.", None)

    asked = check(rows)
    checked = check(rows, empty_outputs=answer)

    assert codes(asked) == ["output_empty"]
    assert [(item.extra.get("item", item.key), item.outputs[0].text) for item in checked.items] == (
        outputs
    )


def test_an_input_without_an_id_is_left_out_for_every_system():
    rows = [
        {"prompt": "Q1", "system": "alpha", "output": ""},
        {"prompt": "Q1", "system": "beta", "output": "B."},
        {"prompt": "Q2", "system": "beta", "output": "C."},
    ]

    checked = check(rows, empty_outputs="leave-out")

    assert [item.outputs[0].text for item in checked.items] == ["C."]


# --- columns that go together -------------------------------------------------------------


def test_two_columns_of_one_input_are_shown_in_their_order():
    study = make_built_study(json.loads((FOLDER / "study_one.json").read_bytes()))
    data = b"id,text,query,alpha,beta\n1,A text.,A question?,Yes.,No.\n2,,Why?,So.,Oh.\n"

    checked = check_file(
        io.BytesIO(data), study=study, mapping={"text": "prompt", "query": "prompt"}
    )

    assert codes(checked) == []
    assert [item.inputs["prompt"] for item in checked.items][::2] == [
        "A text.\n\nA question?", "Why?",
    ]  # fmt: skip
