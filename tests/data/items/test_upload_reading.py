"""Bad input in uploaded files, from bytes to cells: rows 1 to 10, 27 and 28 of the list."""

import codecs
import io
import tracemalloc
from typing import Any

import pytest
from django.conf import settings

from tests.support.checking import check_file
from tests.support.uploads import GOOD, HEADER, Check, check, study, told, with_output

__all__ = ["check", "study"]  # fixtures


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


def test_bad_03_windows_1252_is_refused_with_its_line_and_the_text_before(check: Check) -> None:
    (fault,) = check(GOOD.replace("Three.", "Café.").encode("cp1252")).faults

    assert (fault.code, fault.line) == ("not_utf8", 4)
    assert "after “m1,name[A],gamma,Caf”" in fault.message
    assert "confirm that it is Windows-1252" in fault.message


def test_bad_03_line_of_a_bad_byte_counts_every_kind_of_line_break(check: Check) -> None:
    (fault,) = check(b"a\r\nb\rc\nd\r\n\xff").faults

    assert (fault.code, fault.line) == ("not_utf8", 5)
    assert "at the start of this line" in fault.message


def test_bad_03_bad_byte_beyond_the_first_block_is_placed(check: Check) -> None:
    rows = "".join(f"m{n},name[é],alpha,Text {n}.\n" for n in range(20_000))
    data = f"{HEADER}\n{rows}".encode() + b"\xff\n"

    (fault,) = check(data).faults

    assert (fault.code, fault.line) == ("not_utf8", 20_002)


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
    assert told(checked)[0].startswith("line 3: A quote that opens in this line is never closed")


def test_bad_07_quote_that_swallows_the_next_quoted_cell_is_placed(check: Check) -> None:
    checked = check(GOOD.replace("One.", '"One.').replace("Three.", '"Three."'))

    assert told(checked)[0].startswith("line 2: A quote that opens in this line ends in line 4")


def test_bad_07_quote_that_opens_on_a_later_line_of_its_record_is_placed(check: Check) -> None:
    checked = check(GOOD.replace("m1,name[A],alpha,One.", '"m\n1","name\n[A]",alpha,"One.'))

    assert told(checked)[0].startswith("line 4: A quote that opens in this line is never closed")


def test_bad_08_nul_is_refused_with_its_position(check: Check) -> None:
    checked = check(with_output("On\0e."))

    (fault,) = checked.faults
    assert (fault.code, fault.place) == ("control_character", "line 2 (record 1), output")
    assert "(U+0000, character 3)" in fault.message


def test_bad_08_nul_in_a_column_name_is_refused_with_its_position(check: Check) -> None:
    checked = check(GOOD.replace("output", "output,od\0d").replace(".\n", ".,x\n"))

    (fault,) = checked.faults
    assert fault.line == 1
    assert "column 5" in fault.message
    assert "(U+0000, character 3)" in fault.message


def test_bad_09_encoded_surrogates_are_refused_with_their_position(check: Check) -> None:
    in_utf8 = check(with_output("One.").encode() + b"m2,x,y,\xed\xa0\x80\n")
    in_utf16 = check(codecs.BOM_UTF16_LE + GOOD.encode("utf-16-le") + b"\x00\xd8\x41\x00")

    assert [fault.code for fault in in_utf8.faults] == ["not_utf8"]
    assert [fault.code for fault in in_utf16.faults] == ["utf16_damaged"]


@pytest.mark.parametrize("sign", ["\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b", "\x1f"])
def test_bad_10_other_control_characters_are_refused(check: Check, sign: str) -> None:
    checked = check(with_output(f"On{sign}e."))

    assert [fault.place for fault in checked.faults] == ["line 2 (record 1), output"]


@pytest.mark.parametrize("sign", ["\x01", "\x08", "\x0b", "\x1f"])
def test_bad_10_control_characters_in_column_names_are_refused(check: Check, sign: str) -> None:
    checked = check(GOOD.replace("system", f"sy{sign}stem"))

    assert f"(U+{ord(sign):04X}, character 3)" in told(checked)[0]
    assert not checked.items


def test_bad_10_tab_and_line_break_are_taken_and_the_replacement_sign_is_warned_of(
    check: Check,
) -> None:
    checked = check(with_output('"One\tand\nmore \ufffd"'))

    assert not checked.faults
    assert checked.items[0].outputs[0].text == "One\tand\nmore \ufffd"
    assert "replacement character" in checked.remarks[0].message


def test_bad_27_cell_over_the_limit_is_refused(check: Check) -> None:
    checked = check(with_output("x" * (settings.UPLOAD_MAX_CELL + 1)))

    assert [(fault.code, fault.line) for fault in checked.faults] == [("cell_too_long", 2)]
    assert not check(with_output("x" * settings.UPLOAD_MAX_CELL)).faults


def test_bad_27_line_of_50_mb_is_refused_without_reading_it_whole(study: Any) -> None:
    source = io.BytesIO(f"{HEADER}\n".encode() + b"m1,x,a,b" * (50 * 1024 * 128))

    tracemalloc.start()
    checked = check_file(source, study=study)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [fault.code for fault in checked.faults] == ["cell_too_long"]
    assert peak < 100 * 1024 * 1024


def test_bad_28_file_with_too_many_rows_is_refused_with_advice(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 2

    (fault,) = check(GOOD).faults
    assert (fault.code, fault.place) == ("too_many_rows", "line 4 (record 3)")
    assert "import_batch --no-limit" in fault.message


def test_file_with_too_many_columns_is_refused(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_COLUMNS = 4

    (fault,) = check(GOOD.replace("output", "output,more")).faults
    assert fault.code == "too_many_columns"
