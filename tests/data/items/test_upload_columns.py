"""Columns as other people name them: outputs told apart by letters, or by names of systems."""

import io
from typing import Any

import pytest

from evalsite.data.items.columns import OF_SYSTEM, guess_mapping, name_fields
from evalsite.data.items.items import CheckedItems as Checked
from evalsite.instruments.installed import installed_protocols
from tests.support.batches import told
from tests.support.checking import check_file
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db


def check(
    protocol: str,
    content: str,
    mapping: dict[str, str] | None = None,
    options: dict[str, Any] | None = None,
) -> Checked:
    study = make_study(protocol=protocol, items=0)
    source = io.BytesIO(content.encode())
    return check_file(source, study=study, mapping=mapping, options=options)


def guess(protocol: str, *header: str) -> list[str]:
    return list(guess_mapping(header, installed_protocols()[protocol]).values())


# --- letters, and names that platforms add ------------------------------------------------


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("choice_A", "output1"),
        ("Choice B", "output2"),
        ("outputA", "output1"),
        ("response-b", "output2"),
        ("option_2", "output2"),
        ("choice_A_id", "system1"),
        ("response_b_model", "system2"),
        ("output3_system", "system3"),
        ("model_a", "system1"),
        ("Input.choice_B", "output2"),
        ("Input.dialogue", "dialogue"),
        ("textA", "output1"),
        ("outputs", ""),
        ("systems", ""),
        ("choice", ""),
        ("answer_a", "output1"),
        ("reply_b", "output2"),
        ("input_text", "dialogue"),
        ("prompt", "dialogue"),
        ("question", "dialogue"),
        ("concept", ""),
    ],
)
def test_column_of_an_output_is_known_by_its_number_or_letter(column: str, field: str) -> None:
    assert guess("pairwise", column) == [field]


@pytest.mark.parametrize(
    ("protocol", "column", "field"),
    [
        ("magnitude", "Model Name", "system"),
        ("magnitude", "system-name", "system"),
        ("magnitude", "Generated Text", "output"),
        ("dialogue", "next_utterance", "output"),
        ("magnitude", "model_name_2", "system2"),
    ],
)
def test_names_that_people_write_for_systems_and_outputs_are_known(
    protocol: str, column: str, field: str
) -> None:
    assert guess(protocol, column) == [field]


def test_pairs_with_letters_need_no_hand_work_but_for_the_input() -> None:
    content = "concept,choice_A,choice_B,choice_A_id,choice_B_id\nuser: x,One.,Two.,b1,a1\n"

    refused = check("pairwise", content)
    checked = check("pairwise", content, {"concept": "dialogue"})

    assert [fault.column for fault in refused.faults] == ["dialogue"]
    assert told(checked) == []
    assert [(output.system, output.text) for output in checked.items[0].outputs] == [
        ("b1", "One."),
        ("a1", "Two."),
    ]


# --- one column for each system ------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "header"),
    [
        ("magnitude", "mr_id,mr,slug2slug,sheffield,baseline"),
        ("rrgen", "review,neural,template"),
        ("fluency", "id,dialogue,tuned,zero_shot"),
        ("dialogue", "item,group,dialogue,tuned,baseline"),
        ("pairwise", "dialogue,MarCo,HDSA"),
    ],
)
def test_columns_that_can_only_be_systems_are_taken_for_systems(protocol: str, header: str) -> None:
    names = header.split(",")

    assert [field == OF_SYSTEM for field in guess(protocol, *names)] == [
        name in {"slug2slug", "sheffield", "neural", "template", "tuned", "zero_shot",
                 "baseline", "MarCo", "HDSA"}
        for name in names
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "header"),
    [
        ("magnitude", "mr,one,two"),  # three outputs an item
        ("magnitude", "mr,one,two,three,four"),
        ("magnitude", "one,two,three"),  # no input is known
        ("rrgen", "review,neural"),  # may be anything
        ("rrgen", "review,neural,template,date"),
        ("rrgen", "review,neural,template,system"),
        ("rrgen", "review,neural,template,output1"),
        ("rrgen", "review,response,rating,bleu_score"),
        ("pairwise", "dialogue,alpha,beta,domain"),
    ],
)
def test_nothing_is_taken_for_a_system_where_there_is_doubt(protocol: str, header: str) -> None:
    assert OF_SYSTEM not in guess(protocol, *header.split(","))


def test_every_protocol_offers_the_field_and_a_missing_output_names_it() -> None:
    for config in installed_protocols().values():
        assert OF_SYSTEM in name_fields(config, {})

    faults = told(check("rrgen", "review,neural,template,date\na,b,c,d\n"))

    assert f"for each of them (--map COLUMN={OF_SYSTEM})" in " ".join(faults)


def test_items_are_those_of_the_long_form() -> None:
    named = check("magnitude", "item,mr,a1,b1,c1\nm1,x,One.,Two.,Three.\nm2,y,1,2,3\n")
    long = check(
        "magnitude",
        "item,mr,system,output\nm1,x,a1,One.\nm1,x,b1,Two.\nm1,x,c1,Three.\n"
        "m2,y,a1,1\nm2,y,b1,2\nm2,y,c1,3\n",
    )

    assert told(named) == []
    assert [(item.key, item.group, item.inputs, item.outputs) for item in named.items] == [
        (item.key, item.group, item.inputs, item.outputs) for item in long.items
    ]


def test_pairs_are_made_of_three_systems_and_an_empty_cell_is_no_output() -> None:
    content = "item,dialogue,a1,b1,c1\nd1,user: x,One.,Two.,Three.\nd2,user: y,One.,,Three.\n"

    asked = check("pairwise", content)
    checked = check("pairwise", content, options={"empty_outputs": "none"})

    assert [fault.code for fault in asked.faults] == ["output_empty"]
    assert told(checked) == []
    assert [item.key for item in checked.items] == ["d1/1-2", "d1/1-3", "d1/2-3", "d2"]
    assert any("without an output of system “b1”" in str(remark) for remark in checked.remarks)


def test_bad_75_item_that_lacks_an_output_of_its_systems_is_refused() -> None:
    content = "item,mr,a1,b1,c1\nm1,x,One., ,Three.\n"

    checked = check("magnitude", content, options={"empty_outputs": "none"})

    assert told(checked) == ["line 2 (record 1): Item “m1” has 2 outputs; the protocol wants 3."]


def test_mapping_by_hand_makes_columns_systems_and_the_others_stay_metadata() -> None:
    content = "review,neural,template,date\nA room.,Thanks.,Thank you.,today\n"

    checked = check("rrgen", content, {"neural": OF_SYSTEM, "template": OF_SYSTEM})

    assert told(checked) == []
    assert checked.systems == ["neural", "template"]
    assert {item.extra["date"] for item in checked.items} == {"today"}
    assert [item.key for item in checked.items] == ["row-0001/1", "row-0001/2"]


@pytest.mark.parametrize("other", ["system", "output", "output1", "output_is_empty"])
def test_two_forms_at_once_are_refused(other: str) -> None:
    content = "review,a1,b1,more\nA room.,Thanks.,Thank you.,x\n"

    checked = check("rrgen", content, {"a1": OF_SYSTEM, "b1": OF_SYSTEM, "more": other})

    assert any("Choose one form" in fault for fault in told(checked))


@pytest.mark.parametrize("name", ["tie", "be\u200bta"])
def test_bad_76_column_whose_name_no_system_can_have_is_refused(name: str) -> None:
    content = f"review,{name},b1\nA room.,Thanks.,Thank you.\n"

    checked = check("rrgen", content, {name: OF_SYSTEM, "b1": OF_SYSTEM})

    assert [fault.column for fault in checked.faults] == [name]


def test_long_name_of_a_column_is_refused() -> None:
    checked = check("rrgen", f"review,system,output,{'x' * 201}\na,b,c,d\n")

    assert told(checked)[0] == (
        "line 1: The name of column 4 has 201 characters; at most 200 are taken. Shorten it."
    )


# --- files that are no batch ---------------------------------------------------------------


def test_file_of_one_column_is_told_what_parts_columns() -> None:
    assert told(check("rrgen", "item/review/system/output\na/b/c/d\n")) == [
        "line 1: The first line names only one column, “item/review/system/output”. Separate "
        "columns by commas, semicolons or tabs, and name them in the first line."
    ]


def test_file_of_ratings_is_told_where_it_belongs() -> None:
    content = "participant,item,system,criterion,value\nw1,1,alpha,fluency,3\n"

    assert told(check("rrgen", content)) == [
        "line 1: The rows seem to be ratings, not items. Import the batch first, then this file "
        "as ratings collected elsewhere."
    ]


@pytest.mark.parametrize("sign", [";", ",", "\t", "|"])
def test_bad_33_line_that_declares_the_delimiter_is_no_part_of_the_table(sign: str) -> None:
    rows = ["review", "system", "output"], ["A, room; here", "alpha", "Thank you"]
    lines = [sign.join(f'"{cell}"' for cell in row) for row in rows]

    checked = check("rrgen", "\n".join([f"sep={sign}", *lines]))

    assert told(checked) == []
    assert [(item.line, item.inputs) for item in checked.items] == [
        (3, {"review": "A, room; here"})
    ]
