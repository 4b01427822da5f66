"""Bad input in uploaded files, from columns to ids: rows 11 to 26 of the list."""

from typing import Any

import pytest

from evalsite.data.items.importer import import_batch
from tests.support.uploads import GOOD, HEADER, Check, check, study, told, with_output

__all__ = ["check", "study"]  # fixtures


@pytest.mark.parametrize("content", ["", "\n\n  \n", f"{HEADER}\n", f"{HEADER}\n\n,,,\n \n"])
def test_bad_11_file_without_rows_is_refused(check: Check, content: str) -> None:
    checked = check(content)

    assert len(checked.faults) == 1
    assert "no rows" in told(checked)[0]


def test_bad_12_missing_column_lists_what_was_found_and_suggests_near_names(check: Check) -> None:
    checked = check(GOOD.replace("output", "outptu"))

    assert told(checked) == [
        "line 1, output: Which column holds the outputs? Found: item, mr, system, outptu. "
        "Did you mean “outptu”? Choose it (--map outptu=output)."
    ]


def test_bad_12_every_missing_column_is_told(check: Check) -> None:
    checked = check("a,b\n1,2\n")

    assert [fault.column for fault in checked.faults] == ["item", "mr", "system", "output"]
    assert "Which column did the systems get?" in told(checked)[1]
    # their names once
    assert ["Found: a, b" in sentence for sentence in told(checked)] == [True, False, False, False]


@pytest.mark.parametrize("twin", ["output", " Output ", "OUTPUT"])
def test_bad_13_duplicate_column_names_are_refused(check: Check, twin: str) -> None:
    checked = check(f"item,mr,system,output,{twin}\nm1,x,a,One.,Two.\n")

    assert "column_duplicate" in [fault.code for fault in checked.faults]


def test_bad_13_duplicate_columns_that_are_not_mapped_are_numbered(check: Check) -> None:
    header, *rows = GOOD.splitlines()
    checked = check("\n".join([f"{header},bleu,Bleu", *(f"{row},1,2" for row in rows)]))

    assert not checked.faults
    assert checked.header[-2:] == ["bleu", "Bleu (2)"]


@pytest.mark.parametrize("name", ["", " ", "Unnamed: 0", "__index_level_0__", "index"])
def test_bad_86_index_of_a_data_frame_is_left_out_unless_it_is_mapped(
    check: Check, name: str
) -> None:
    lines = GOOD.splitlines()
    numbered = [f"{name},{lines[0]}", *(f"{n},{line}" for n, line in enumerate(lines[1:]))]

    checked = check("\n".join(numbered))

    assert not checked.faults
    assert checked.header[0] == (name.strip() or "column 1")
    assert checked.mapping[checked.header[0]] == "-"
    assert checked.items[0].extra == {}


def test_column_named_index_that_counts_nothing_is_metadata(check: Check) -> None:
    lines = GOOD.splitlines()
    checked = check("\n".join([f"index,{lines[0]}", *(f"x,{line}" for line in lines[1:])]))

    assert checked.items[0].extra == {"index": "x"}


def test_bad_14_extra_columns_are_metadata_of_the_item(check: Check) -> None:
    rows = "".join(f"m1,x,{name},{name} text,0{n}\n" for n, name in enumerate(["a1", "b1", "c1"]))
    shared = "".join(f"m2,x,{name},{name} text,NA\n" for name in ["a1", "b1", "c1"])

    checked = check(f"item,mr,system,output,bleu\n{rows}{shared}")

    assert not checked.faults
    assert checked.items[0].extra == {"bleu": {"a1": "00", "b1": "01", "c1": "02"}}
    assert checked.items[1].extra == {"bleu": "NA"}


def test_bad_15_row_with_too_many_or_too_few_cells_is_refused_with_its_line(check: Check) -> None:
    checked = check(GOOD.replace("One.", "One., and more").replace(",gamma,Three.", ",gamma"))

    assert [(fault.line, fault.record) for fault in checked.faults] == [(2, 1), (4, 3)]
    assert "5 cells instead of 4" in told(checked)[0]
    assert "3 cells instead of 4" in told(checked)[1]


def test_bad_16_same_item_and_system_twice_is_refused_with_both_lines(check: Check) -> None:
    checked = check(GOOD + "m1,name[A],beta,Again.\n")

    assert told(checked) == [
        "line 5 (record 4), system: Item “m1” has two outputs of system “beta”, here and in "
        "line 3. Remove one."
    ]


def test_bad_16_same_item_twice_in_the_wide_form_is_refused_with_both_lines(check: Check) -> None:
    row = "m1,name[A],One.,a1,Two.,b1,Three.,c1\n"

    checked = check(f"mr_id,mr,ref1,team1,ref2,team2,ref3,team3\n{row}{row.replace('Two.', '2.')}")

    assert told(checked) == [
        "line 3 (record 2), mr_id: Item “m1” is in line 2 already. Remove one of the two."
    ]


def test_bad_17_item_of_an_earlier_batch_is_left_out(check: Check, study: Any) -> None:
    import_batch(study=study, checked=check(GOOD), file_name="a.csv", sha256="1", by=None)

    checked = check(GOOD + "m2,name[A],alpha,One.\nm2,name[A],beta,Two.\nm2,name[A],gamma,3.\n")

    assert told(checked) == []
    assert ([item.key for item in checked.items], checked.left_out) == (["m2"], 3)


@pytest.mark.parametrize("key", ["practice-1", "Practice-12"])
def test_bad_17_ids_of_practice_items_are_reserved(check: Check, key: str) -> None:
    checked = check(GOOD.replace("m1", key))

    assert "kept for practice items" in told(checked)[0]


def test_bad_18_ids_are_kept_as_text_exactly(check: Check, study: Any) -> None:
    keys = ["1", "01", "1.0", "NA", "null", "1e5", "001"]
    rows = "".join(
        f"{key},name[A],{system},Text.\n" for key in keys for system in ("alpha", "NA", "1.0")
    )

    checked = check(f"{HEADER}\n{rows}")
    import_batch(study=study, checked=checked, file_name="a.csv", sha256="1", by=None)

    stored = study.items.filter(batch__isnull=False)
    assert [item.key for item in stored] == keys
    assert {system.name for system in study.systems.all()} == {"alpha", "NA", "1.0"}


def test_bad_19_ids_that_differ_only_in_case_are_refused_as_confusable(check: Check) -> None:
    checked = check(GOOD + GOOD.partition("\n")[2].replace("m1", "M1"))

    assert len(checked.faults) == 1
    assert "“M1” differs from “m1” of line 2 only in case" in told(checked)[0]


def test_bad_19_slip_of_the_case_is_one_fault_without_its_consequences(check: Check) -> None:
    checked = check(GOOD.replace("m1,name[A],beta", "M1,name[A],beta"))

    assert [fault.line for fault in checked.faults] == [3]


def test_bad_19_ids_confusable_with_earlier_batches_are_refused(check: Check, study: Any) -> None:
    import_batch(study=study, checked=check(GOOD), file_name="a.csv", sha256="1", by=None)

    checked = check(GOOD.replace("m1", "M1"))

    assert "“M1” differs from “m1” that the study has already" in told(checked)[0]


@pytest.mark.parametrize("twin", ["Alpha", "al pha", "alph\uff41"])
def test_bad_19_confusable_names_of_systems_are_refused(check: Check, twin: str) -> None:
    checked = check(GOOD.replace("beta", twin))

    assert len(checked.faults) == 1
    assert "only in case, spaces or Unicode form" in told(checked)[0]


@pytest.mark.parametrize("blank", ["", "   ", "\u00a0"])
def test_bad_20_empty_texts_are_refused(check: Check, blank: str) -> None:
    checked = check(GOOD.replace("name[A]", blank).replace("Two.", blank))

    assert [fault.place for fault in checked.faults] == [
        "line 2 (record 1), mr",
        "line 3 (record 2), output",
    ]


def test_bad_20_output_that_is_truly_empty_is_marked_by_a_column(check: Check) -> None:
    content = "item,mr,system,output,output_is_empty\nm1,x,a1,,yes\nm1,x,b1,B,no\nm1,x,c1,C,\n"

    checked = check(content)
    contradicting = check(content.replace("a1,,yes", "a1,A,yes"))
    unknown = check(content.replace("a1,,yes", "a1,,y"))

    assert [output.text for output in checked.items[0].outputs] == ["", "B", "C"]
    assert "marked as empty, but holds a text" in told(contradicting)[0]
    assert "must be yes, no or nothing" in told(unknown)[0]


@pytest.mark.parametrize(
    "key",
    ["=1+1", "+1", "-1", "@a", "/x", "..", " a", "a ", "it's", '"a""b"', '"a\nb"', "x" * 129,
     "x" * 5000],
)  # fmt: skip
def test_bad_21_ids_that_a_spreadsheet_or_a_path_could_misread_are_refused(
    check: Check, key: str
) -> None:
    checked = check(GOOD.replace("m1", key))

    assert len(checked.faults) == 1
    assert "can't be an id" in told(checked)[0]
    assert len(told(checked)[0]) < 300


@pytest.mark.parametrize(
    ("key", "short"),
    [
        ("a  b c", "a-b-c"),
        ("Köln 1", "Koeln-1"),
        ("straße", "strasse"),
        ("é_b", "e_b"),
        ("newstest2021 doc#1", "newstest2021-doc-1"),
        ("第一", "item-0001"),
    ],
)
def test_an_id_with_spaces_or_other_letters_gets_a_short_one(
    check: Check, key: str, short: str
) -> None:
    checked = check(GOOD.replace("m1", key))

    assert not checked.faults
    assert [(item.key, item.extra["source_id"]) for item in checked.items] == [(short, key)]
    assert [remark.code for remark in checked.remarks] == ["ids_changed"]


def test_two_ids_never_get_the_same_short_one(check: Check) -> None:
    rows = GOOD.partition("\n")[2]

    checked = check(GOOD + rows.replace("m1", "x y") + rows.replace("m1", "x#y"))

    assert [item.key for item in checked.items] == ["m1", "x-y", "x-y-2"]


def test_bad_21_longest_id_and_all_its_signs_are_taken(check: Check) -> None:
    checked = check(GOOD.replace("m1", "A.b_c:d/e-" + "9" * 118))

    assert not checked.faults


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "<img onerror=alert(1) src=x>", "</textarea>", "{{7*7}}", "%s",
     "${x}", "=HYPERLINK(A1)", "@SUM", "-2+3"],
)  # fmt: skip
def test_bad_22_23_markup_templates_and_formulas_are_plain_text(check: Check, text: str) -> None:
    checked = check(with_output(text))

    assert not checked.faults
    assert checked.items[0].outputs[0].text == text


def test_bad_24_bidi_overrides_are_taken_and_warned_of(check: Check) -> None:
    checked = check(with_output("abc \u202edef\u202c שלום"))

    assert checked.items[0].outputs[0].text == "abc \u202edef\u202c שלום"
    assert "text direction" in checked.remarks[0].message


@pytest.mark.parametrize("text", ["👩‍👩‍👧", "e\u0301", "𝒳", "ﬁ", "नमस्ते"])
def test_bad_25_signs_beyond_the_common_ones_are_exact(check: Check, text: str) -> None:
    checked = check(with_output(text))

    assert checked.items[0].outputs[0].text == text
    assert not checked.faults


def test_bad_26_unicode_forms_are_kept_apart(check: Check) -> None:
    checked = check(GOOD.replace("One.", "caf\u00e9").replace("Two.", "cafe\u0301"))

    texts = [output.text for output in checked.items[0].outputs]
    assert texts == ["caf\u00e9", "cafe\u0301", "Three."]
