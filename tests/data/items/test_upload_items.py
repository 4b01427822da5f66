"""From rows to items: rows 30 to 36 and 74 to 79 of the list of bad input, and real files."""

import hashlib
import io
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evalsite.data.items.importer import import_batch
from evalsite.data.items.items import CheckedItems as Checked
from evalsite.data.items.items import name_group, write_texts
from evalsite.data.tables.files import clean_file_name
from evalsite.studies.models import Study
from tests.support.checking import check_file
from tests.support.published import published_file
from tests.support.uploads import GOOD, HEADER, Check, check, study, told

__all__ = ["check", "study"]  # fixtures


# --- other formats, delimiters, names -----------------------------------------------


@pytest.mark.parametrize(("sign", "name"), [(";", "semicolon"), ("\t", "tab"), (",", "comma")])
def test_bad_33_delimiter_is_found_in_the_header_alone(check: Check, sign: str, name: str) -> None:
    rows = GOOD.replace(",", sign).replace("One.", '"One, two; three,,,;;;"')

    checked = check(rows)

    assert checked.delimiter == name
    assert checked.items[0].outputs[0].text == "One, two; three,,,;;;"


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\batch.csv", "batch.csv"),
        ("a\0b\u202e\n.csv", "ab.csv"),
        ("", "batch.csv"),
        ("..", "batch.csv"),
        ("x" * 300 + ".csv", "x" * 196 + ".csv"),
    ],
)
def test_bad_34_file_names_are_only_words_to_show(name: str, cleaned: str) -> None:
    assert clean_file_name(name) == cleaned


def test_bad_35_identical_texts_are_taken_with_a_warning(check: Check) -> None:
    checked = check(GOOD.replace("Two.", "One."))

    assert not checked.faults
    assert "same text" in checked.remarks[0].message


@pytest.mark.parametrize("score", ["0", "-1", "1.5", "007", "1000000", "７０", "x", " 70 "])
def test_bad_36_score_of_the_standard_must_be_a_whole_number(check: Check, score: str) -> None:
    checked = check(with_standard(score=score))

    assert [fault.place for fault in checked.faults] == ["line 2 (record 1), standard_score"]


def test_bad_36_standard_of_an_item_is_given_whole_or_not_at_all(check: Check) -> None:
    whole, none, torn = (
        check(with_standard()),
        check(with_standard(mr="", utterance="", score="")),
        check(with_standard(utterance="")),
    )

    assert whole.items[0].inputs["standard_score"] == "50"
    assert set(none.items[0].inputs) == {"mr"}
    assert told(torn) == [
        "line 2 (record 1), standard_utterance: The cell is empty, but standard_mr is filled. "
        "These columns go together: fill all of them, or none."
    ]


def with_standard(mr: str = "name[S]", utterance: str = "S.", score: str = "50") -> str:
    rows = "".join(
        f"m1,x,{name},{name} text,{mr},{utterance},{score}\n" for name in ("a1", "b1", "c1")
    )
    return f"{HEADER},standard_mr,standard_utterance,standard_score\n{rows}"


# --- items --------------------------------------------------------------------------


def test_bad_74_inputs_that_differ_within_an_item_are_refused_with_both_lines(
    check: Check,
) -> None:
    checked = check(GOOD.replace("name[A],gamma", "name[B],gamma"))

    assert told(checked) == [
        "line 4 (record 3), mr: “m1” has another input in line 4 (“name[B]”) than in line 2 "
        "(“name[A]”). Outputs that are compared need one input."
    ]


def test_rows_of_an_item_may_stand_apart(check: Check) -> None:
    rows = [
        f"{item},name[{item}],{system},{item} by {system}\n"
        for system in ("alpha", "beta", "gamma")
        for item in ("m2", "m1")
    ]

    checked = check(f"{HEADER}\n{''.join(rows)}")

    assert not checked.faults
    assert [item.key for item in checked.items] == ["m2", "m1"]
    assert [output.system for output in checked.items[1].outputs] == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize(("last", "found"), [("", 2), ("m1,name[A],d1,4\nm1,name[A],c1,3\n", 4)])
def test_bad_75_wrong_number_of_outputs_names_item_found_and_wanted(
    check: Check, last: str, found: int
) -> None:
    checked = check(GOOD.replace("m1,name[A],gamma,Three.\n", last))

    assert told(checked) == [
        f"line 2 (record 1): Item “m1” has {found} outputs; the protocol wants 3."
    ]


def test_bad_75_wide_row_with_a_fourth_output_is_refused_not_cut(check: Check) -> None:
    header = "item,mr," + ",".join(f"output{n},system{n}" for n in range(1, 5))

    checked = check(f"{header}\nm1,x,One,a1,Two,b1,Three,c1,Four,d1\nm2,x,1,a1,2,b1,3,c1,,\n")

    assert told(checked) == ["line 2 (record 1): Item “m1” has 4 outputs; the protocol wants 3."]


def test_bad_76_blank_system_is_refused(check: Check) -> None:
    checked = check(GOOD.replace("beta", " "))

    assert told(checked) == [
        "line 3 (record 2), system: The system is empty. Name what produced this output."
    ]


@pytest.mark.parametrize("name", [" beta", "be\u200bta", "x" * 201, "tie", '"be\nta"'])
def test_bad_76_names_of_systems_that_mislead_are_refused(check: Check, name: str) -> None:
    checked = check(GOOD.replace("beta", name))

    assert [fault.column for fault in checked.faults] == ["system"]


def test_bad_77_ids_that_hold_names_of_systems_are_taken(check: Check) -> None:
    assert not check(GOOD.replace("m1", "alpha-17")).faults


def test_texts_that_name_a_system_are_warned_of(check: Check) -> None:
    checked = check(GOOD.replace("One.", "As Beta says."))

    assert any("name a system" in remark.message for remark in checked.remarks)


def test_bad_78_every_fault_gives_physical_line_and_record(check: Check) -> None:
    rows = GOOD.replace("One.", '"One\nand\r\nmore"').replace("Three.", " ")

    checked = check(rows)

    assert [(fault.line, fault.record) for fault in checked.faults] == [(6, 3)]


@pytest.mark.both_databases
def test_bad_79_rows_without_ids_are_numbered_on_over_batches(check: Check, study: Any) -> None:
    wide = "mr,output1,system1,output2,system2,output3,system3\n"
    row = "{},One,a1,Two,b1,Three,c1\n"
    first = check(wide + row.format("x") + row.format("y"))
    import_batch(study=study, checked=first, file_name="a.csv", sha256="1", by=None)

    second = check(wide + row.format("x") + row.format("z"))

    assert [item.key for item in first.items] == ["row-0001", "row-0002"]
    # the first row is in the study already, and left out
    assert [item.key for item in second.items] == ["row-0004"]
    assert len({item.group for item in [*first.items, *second.items]}) == 3


def test_bad_79_items_of_the_long_form_need_ids(check: Check) -> None:
    checked = check("mr,system,output\nx,a1,One\n")

    assert "Column “item” is missing" in told(checked)[0]


def test_file_with_k_faults_reports_exactly_those(check: Check) -> None:
    rows = [
        "m1,name[A],alpha,One.", "m1,name[A],beta,", "m1,name[A],gamma,Three.",
        "m2,name[B],alpha,One.,more", "m2,name[B],beta,Two.", "m2,name[B],gamma,Three.",
        "m3,name[C],alpha,One.", "m3,name[C],alpha,Two.", "m3,name[C],gamma,Three.",
        "m4,name[D],alpha,One.", "m4,name[D],beta,Two.",
        "=m5,name[E],alpha,One.", "=m5,name[E],beta,Two.",
    ]  # fmt: skip

    checked = check("\n".join([HEADER, *rows]))

    assert [fault.line for fault in checked.faults] == [3, 5, 9, 11, 13]
    assert not checked.items


def test_groups_clusters_and_kinds_are_taken_and_checked(check: Check) -> None:
    header = "item,group,cluster,kind,mr,system,output,gold_informativeness,gold_why"
    rows = [f"m1,g1,c1,gold,x,{name},{name} text,1<2,Why." for name in ("a1", "b1", "c1")]

    good = check("\n".join([header, *rows]))
    bad = check("\n".join([header, *rows]).replace("gold,", "golden,").replace("g1", "g 1"))
    torn = check("\n".join([header, *rows]).replace("1<2", "1<4"))
    none = check("\n".join([header, *rows]).replace("1<2", ""))

    (item,) = good.items
    assert (item.group, item.cluster, item.kind) == ("g1", "c1", "gold")
    assert item.gold == {"informativeness": "1<2", "why": "Why."}
    assert [fault.column for fault in bad.faults] == ["group", "kind"]
    assert [fault.column for fault in torn.faults] == ["gold_informativeness"]
    assert "needs a right answer" in told(none)[0]


@pytest.mark.parametrize("kind", ["gold", "attention"])
def test_it_is_said_how_checks_are_handed_out(check: Check, study: Any, kind: str) -> None:
    header = "item,kind,mr,system,output,gold_informativeness"
    rows = [f"m{n},{kind},x{n},{name},{name} text,1<2" for n in "12" for name in ("a1", "b1", "c1")]

    waiting = check("\n".join([header, *rows]))
    handed_out = check("\n".join([header, *rows]).replace(f",{kind},", ",practice,"))

    (remark,) = waiting.remarks
    assert remark.message == (
        f"Items of kind {kind}, which nobody gets, since the settings ask for no checks"
    )
    assert (remark.count, remark.places[0]) == (2, "line 2 (record 1), kind")
    assert not waiting.faults
    assert not handed_out.remarks

    study.checks_per_person = 2
    (remark,) = check("\n".join([header, *rows])).remarks
    assert "come as checks, 2 per person" in remark.message


def test_mapping_of_the_researcher_wins_over_the_guess(check: Check) -> None:
    content = GOOD.replace("output", "words").replace("mr", "meaning")

    checked = check(content, {"words": "output", "meaning": "mr", "gone": "item"})

    assert not checked.faults


def test_mapping_refuses_two_columns_in_one_field_and_two_forms_at_once(check: Check) -> None:
    twice = check(GOOD, {"mr": "kind", "item": "kind"})
    both = check(GOOD, {"mr": "output1", "output": "output"})
    unknown = check(GOOD, {"mr": "output²"})

    assert "both mapped to “kind”" in " ".join(told(twice))
    assert "Choose one form" in " ".join(told(both))
    assert "no field “output²”" in " ".join(told(unknown))


# --- protocols with one output an item ------------------------------------------------


@pytest.fixture
def single(study: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The study, as if its protocol showed one output at a time."""
    outputs = study.config.item.outputs.model_copy(update={"least": 1, "most": 1})
    item = study.config.item.model_copy(update={"outputs": outputs})
    shown = study.config.model_copy(update={"item": item, "criteria": []})
    monkeypatch.setattr(Study, "config", shown)
    return study


def run(study: Any, content: str) -> Checked:
    return check_file(io.BytesIO(content.encode()), study=study)


def test_repeated_item_becomes_the_group_where_outputs_are_shown_one_by_one(single: Any) -> None:
    checked = run(single, GOOD + "m2,name[B],alpha,Four.\n")

    assert not checked.faults
    assert [item.key for item in checked.items] == ["m1/1", "m1/2", "m1/3", "m2"]
    assert {item.group for item in checked.items[:3]} == {"m1"}
    assert [item.extra for item in checked.items[2:]] == [{"item": "m1"}, {}]


def test_made_ids_never_fall_on_ids_of_the_file(single: Any) -> None:
    checked = run(single, GOOD + "m1/2,name[B],alpha,Four.\n")

    assert "“m1/2” for one of them is too long or taken" in told(checked)[0]


def test_right_answer_of_a_wide_row_is_refused_where_its_outputs_are_items(
    make_study: Any,
) -> None:
    study = make_study(protocol="fluency", items=0)
    wide = "dialogue,gold_fluency,output1,system1,output2,system2\n"

    several = run(study, f"{wide}A: x,5,One.,alpha,Two.,beta\n")
    one = run(study, f"{wide}A: x,5,One.,alpha,,\nA: y,,One.,alpha,Two.,beta\n")

    assert told(several) == [
        "line 2 (record 1), gold_fluency: Each of the 2 outputs in this row is a separate item, "
        "so one right answer can't apply to all of them. Give each output a row."
    ]
    assert [item.gold for item in one.items] == [{"fluency": "5"}, {}, {}]


def test_groups_without_a_name_are_remarked_on_by_their_place(single: Any) -> None:
    rows = [line.split(",", 1)[1] for line in GOOD.splitlines()]

    checked = run(single, "\n".join([*rows, "name[B],alpha,Four."]))

    assert {str(remark) for remark in checked.remarks} == {
        f"Groups without an output of system “{name}” (1 found). First: line 5 (record 4)"
        for name in ("beta", "gamma")
    }


def test_systems_that_share_no_inputs_are_remarked_on_in_one_sentence(single: Any) -> None:
    rows = "mr,system,output\nname[A],alpha,One.\nname[B],beta,Two.\nname[C],beta,Three.\n"

    checked = run(single, rows)

    assert [str(remark) for remark in checked.remarks] == [
        "No inputs have outputs of two systems: the 2 systems can be compared only across "
        "different inputs."
    ]


# --- real files, random files ---------------------------------------------------------


@pytest.mark.parametrize("name", ["batch_wide.csv", "batch_long.csv"])
def test_rankme_is_guessed_right_with_no_hand_work(study: Any, name: str) -> None:
    with published_file(f"rankme/{name}").open("rb") as source:
        checked = check_file(source, study=study)

    assert not checked.faults
    assert (len(checked.items), checked.outputs) == (100, 300)
    assert checked.systems == ["baseline", "sheffield_v2", "slug2slug"]


def test_rankme_wide_and_long_give_the_same_items(study: Any) -> None:
    found = []
    for name in ("batch_wide.csv", "batch_long.csv"):
        with published_file(f"rankme/{name}").open("rb") as source:
            checked = check_file(source, study=study)
        found.append([(one.key, one.group, one.inputs, one.outputs) for one in checked.items])

    assert found[0] == found[1]


_fuzz = hypothesis_settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_cell = st.one_of(
    st.sampled_from(["", "m1", "m2", "alpha", "beta", "gamma", '"', '""', "a\nb", "\0", "=1"]),
    st.text(max_size=5),
)


@pytest.mark.slow
@_fuzz
@given(data=st.binary(max_size=300))
def test_random_bytes_are_refused_and_never_break_the_reader(study: Any, data: bytes) -> None:
    checked = check_file(io.BytesIO(data), study=study)

    assert checked.faults
    assert not checked.items


@pytest.mark.slow
@_fuzz
@given(rows=st.lists(st.lists(_cell, min_size=3, max_size=5), max_size=8))
def test_random_tables_are_taken_whole_or_refused_whole(study: Any, rows: list[Any]) -> None:
    content = "\n".join([HEADER, *(",".join(row) for row in rows)])

    checked = check_file(io.BytesIO(content.encode("utf-8", "replace")), study=study)

    assert bool(checked.items) != bool(checked.faults)
    assert all(len(item.outputs) == 3 for item in checked.items)


_text = st.text(st.characters(exclude_categories=["Cs"]))


@given(inputs=st.dictionaries(_text, _text, max_size=4))
def test_texts_are_written_exactly_as_json_writes_them(inputs: dict[str, str]) -> None:
    assert write_texts(inputs.items()) == json.dumps(inputs)
    assert (
        name_group(inputs)
        == "inputs-"
        + hashlib.sha256(
            json.dumps(inputs, sort_keys=True, ensure_ascii=False).encode()
        ).hexdigest()[:16]
    )
