"""Bad input in uploaded files: rows 1 to 27 of the list, each with what is expected."""

import codecs
import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from evalsite.exchange.checking import Checked, check_file
from evalsite.exchange.importing import import_batch

HEADER = "item,mr,system,output"
GOOD = """\
item,mr,system,output
m1,name[A],alpha,One.
m1,name[A],beta,Two.
m1,name[A],gamma,Three.
"""

Check = Callable[..., Checked]


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Any:
    return make_study(items=0)


@pytest.fixture
def check(study: Any) -> Check:
    def run(content: str | bytes, mapping: dict[str, str] | None = None) -> Checked:
        data = content if isinstance(content, bytes) else content.encode()
        return check_file(io.BytesIO(data), study=study, mapping=mapping)

    return run


def told(checked: Checked) -> list[str]:
    return [str(fault) for fault in checked.faults]


def with_output(text: str) -> str:
    """A good file but for the text of its first output, written as it is."""
    return GOOD.replace("One.", text)


def test_bad_01_utf8_byte_order_mark_is_no_part_of_the_first_columns_name(check: Check) -> None:
    checked = check(codecs.BOM_UTF8 + GOOD.encode())

    assert not checked.faults
    assert checked.header[0] == "item"
    assert "byte order mark" in checked.encoding


@pytest.mark.parametrize(
    ("mark", "codec"),
    [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_bad_02_utf16_with_its_mark_is_read_and_said_so(
    check: Check, mark: bytes, codec: str
) -> None:
    checked = check(mark + with_output("Ünë 😀.").encode(codec))

    assert not checked.faults
    assert checked.encoding == "UTF-16"
    assert checked.items[0].outputs[0].text == "Ünë 😀."


def test_bad_03_windows_1252_is_refused_with_byte_and_line(check: Check) -> None:
    data = GOOD.replace("Three.", "Café.").encode("cp1252")

    checked = check(data)

    byte = data.index(b"\xe9") + 1
    assert told(checked) == [
        f"The file is not UTF-8 at byte {byte}, line 4. Save it as CSV UTF-8 and upload it again."
    ]


def test_bad_03_line_of_a_bad_byte_counts_every_kind_of_line_break(check: Check) -> None:
    checked = check(b"a\r\nb\rc\nd\r\n\xff")

    assert "at byte 11, line 5." in told(checked)[0]


def test_bad_03_bad_byte_beyond_the_first_block_is_placed(check: Check) -> None:
    rows = "".join(f"m{n},name[é],alpha,Text {n}.\n" for n in range(20_000))
    data = f"{HEADER}\n{rows}".encode() + b"\xff\n"

    checked = check(data)

    assert f"at byte {len(data) - 1}, line 20002." in told(checked)[0]


def test_bad_03_utf16_without_mark_is_refused(check: Check) -> None:
    checked = check(GOOD.encode("utf-16-le"))

    assert checked.faults
    assert not checked.items


def test_bad_04_mojibake_is_taken_exactly_and_warned_of(check: Check) -> None:
    checked = check(with_output("numbersâ€”there"))

    assert not checked.faults
    assert checked.items[0].outputs[0].text == "numbersâ€”there"
    (remark,) = checked.remarks
    assert "re-encoded" in remark.message
    assert remark.places == ["line 2 (record 1), output"]


def test_bad_04_only_the_first_3_places_are_listed(check: Check) -> None:
    rows = "".join(
        f"m{n},name[A],{system},Caf\u00c3\u00a9 {system} {n}.\n"
        for n in range(3)
        for system in ("alpha", "beta", "gamma")
    )

    checked = check(f"{HEADER}\n{rows}")

    remark = next(one for one in checked.remarks if "re-encoded" in one.message)
    assert (remark.count, len(remark.places)) == (9, 3)


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_bad_05_every_line_end_gives_the_same_items(check: Check, end: str) -> None:
    checked = check(GOOD.replace("\n", end))

    assert not checked.faults
    assert checked.items == check(GOOD).items


def test_bad_05_mixed_line_ends_are_taken(check: Check) -> None:
    checked = check(GOOD.replace("One.\n", "One.\r").replace("Two.\n", "Two.\r\n"))

    assert checked.items == check(GOOD).items


@pytest.mark.parametrize("inside", ["a\r\nb", "a\nb", "a\rb", "a\r\n\rb\n"])
def test_bad_05_line_breaks_inside_quoted_cells_are_kept(check: Check, inside: str) -> None:
    checked = check(with_output(f'"{inside}"'))

    assert not checked.faults
    assert checked.items[0].outputs[0].text == inside


def test_bad_06_doubled_quotes_and_delimiters_in_cells_are_exact(check: Check) -> None:
    checked = check(with_output('"He said ""no"", twice,\nand left."'))

    assert checked.items[0].outputs[0].text == 'He said "no", twice,\nand left.'


def test_bad_07_unclosed_quote_is_refused_with_the_line_where_it_opened(check: Check) -> None:
    rows = GOOD.replace("Two.", '"Two.')

    checked = check(rows)

    assert len(checked.faults) == 1
    assert "The quote that opens in line 3 is never closed" in told(checked)[0]


def test_bad_07_quote_that_swallows_the_next_quoted_cell_is_placed(check: Check) -> None:
    checked = check(GOOD.replace("One.", '"One.').replace("Three.", '"Three."'))

    assert "The quote that opens in line 2 ends in line 4" in told(checked)[0]


def test_bad_07_quote_that_opens_on_a_later_line_of_its_record_is_placed(check: Check) -> None:
    checked = check(GOOD.replace("m1,name[A],alpha,One.", '"m\n1","name\n[A]",alpha,"One.'))

    assert "The quote that opens in line 4 is never closed" in told(checked)[0]


def test_bad_08_nul_is_refused_with_its_position(check: Check) -> None:
    checked = check(with_output("On\0e."))

    assert told(checked) == [
        "line 2 (record 1), output: The 3. sign of the cell is the control character U+0000. "
        "Remove it."
    ]


def test_bad_09_encoded_surrogates_are_refused_with_their_position(check: Check) -> None:
    in_utf8 = check(with_output("One.").encode() + b"m2,x,y,\xed\xa0\x80\n")
    in_utf16 = check(codecs.BOM_UTF16_LE + GOOD.encode("utf-16-le") + b"\x00\xd8\x41\x00")

    assert "not UTF-8 at byte" in told(in_utf8)[0]
    assert "not UTF-16 at byte" in told(in_utf16)[0]


@pytest.mark.parametrize("sign", ["\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b", "\x1f"])
def test_bad_10_other_control_characters_are_refused(check: Check, sign: str) -> None:
    checked = check(with_output(f"On{sign}e."))

    assert [fault.place for fault in checked.faults] == ["line 2 (record 1), output"]


def test_bad_10_tab_and_line_break_are_taken_and_the_replacement_sign_is_warned_of(
    check: Check,
) -> None:
    checked = check(with_output('"One\tand\nmore \ufffd"'))

    assert not checked.faults
    assert checked.items[0].outputs[0].text == "One\tand\nmore \ufffd"
    assert "replacement sign" in checked.remarks[0].message


@pytest.mark.parametrize("content", ["", "\n\n  \n", f"{HEADER}\n", f"{HEADER}\n\n,,,\n \n"])
def test_bad_11_file_without_rows_is_refused(check: Check, content: str) -> None:
    checked = check(content)

    assert len(checked.faults) == 1
    assert "no rows" in told(checked)[0]


def test_bad_12_missing_column_lists_what_was_found_and_suggests_near_names(check: Check) -> None:
    checked = check(GOOD.replace("output", "outptu"))

    assert told(checked) == [
        "line 1, output: Column “output” is missing. Found: item, mr, system, outptu. "
        "Did you mean “outptu”? Map it, or rename it."
    ]


def test_bad_12_every_missing_column_is_told(check: Check) -> None:
    checked = check("a,b\n1,2\n")

    assert [fault.column for fault in checked.faults] == ["item", "mr", "system", "output"]


@pytest.mark.parametrize("twin", ["output", " Output ", "OUTPUT"])
def test_bad_13_duplicate_column_names_are_refused(check: Check, twin: str) -> None:
    checked = check(f"item,mr,system,output,{twin}\nm1,x,a,One.,Two.\n")

    assert len(checked.faults) == 1
    assert "2 columns have this name" in told(checked)[0]


def test_bad_13_column_without_a_name_is_refused(check: Check) -> None:
    checked = check("item,mr,,system,output\nm1,x,1,a,One.\n")

    assert told(checked)[0].startswith("line 1: Column 3 has no name.")


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

    checked = check(f"mr_id,mr,ref1,team1,ref2,team2,ref3,team3\n{row}{row}")

    assert told(checked) == [
        "line 3 (record 2), mr_id: Item “m1” stands in line 2 already. Remove one of the two."
    ]


def test_bad_17_item_of_an_earlier_batch_is_refused(check: Check, study: Any) -> None:
    import_batch(study=study, checked=check(GOOD), file_name="a.csv", sha256="1", by=None)

    checked = check(GOOD + "m2,name[A],alpha,One.\nm2,name[A],beta,Two.\nm2,name[A],gamma,3.\n")

    assert len(checked.faults) == 1
    assert "Item “m1” is in the study already" in told(checked)[0]


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
    ["=1+1", "+1", "-1", "@a", "/x", "..", "a b", " a", "a ", "it's", '"a""b"', '"a\nb"', "é",
     "x" * 129, "x" * 5000],
)  # fmt: skip
def test_bad_21_ids_that_a_spreadsheet_or_a_path_could_misread_are_refused(
    check: Check, key: str
) -> None:
    checked = check(GOOD.replace("m1", key))

    assert len(checked.faults) == 1
    assert "can't be an id" in told(checked)[0]
    assert len(told(checked)[0]) < 300


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
    assert "direction of writing" in checked.remarks[0].message


@pytest.mark.parametrize("text", ["👩‍👩‍👧", "e\u0301", "𝒳", "ﬁ", "नमस्ते"])
def test_bad_25_signs_beyond_the_common_ones_are_exact(check: Check, text: str) -> None:
    checked = check(with_output(text))

    assert checked.items[0].outputs[0].text == text
    assert not checked.faults


def test_bad_26_unicode_forms_are_kept_apart(check: Check) -> None:
    checked = check(GOOD.replace("One.", "caf\u00e9").replace("Two.", "cafe\u0301"))

    texts = [output.text for output in checked.items[0].outputs]
    assert texts == ["caf\u00e9", "cafe\u0301", "Three."]


def test_bad_27_cell_over_the_limit_is_refused(check: Check) -> None:
    checked = check(with_output("x" * (settings.UPLOAD_MAX_CELL + 1)))

    assert told(checked) == ["line 2: A cell is longer than 1,048,576 letters."]
    assert not check(with_output("x" * settings.UPLOAD_MAX_CELL)).faults


def test_bad_27_line_of_50_mb_is_refused_without_reading_it_whole(study: Any) -> None:
    source = io.BytesIO(f"{HEADER}\n".encode() + b"m1,x,a,b" * (50 * 1024 * 128))

    tracemalloc.start()
    checked = check_file(source, study=study)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert "longer than" in told(checked)[0]
    assert peak < 100 * 1024 * 1024


def test_bad_28_file_with_too_many_rows_is_refused_with_advice(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 2

    assert told(check(GOOD)) == [
        "line 4 (record 3): The file has more than 2 rows. "
        "Split it and upload the parts one after the other."
    ]


def test_file_with_too_many_columns_is_refused(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_COLUMNS = 4

    assert "5 columns; at most 4" in told(check(GOOD.replace("output", "output,more")))[0]
