"""Text files with other numbers of lines: where a line is missing, and what becomes of it."""

import gettext
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import django
import pytest

from evalsite.data.tables.batch import Batch, convert
from evalsite.data.tables.files import SourceFile
from evalsite.data.tables.missing_lines import find_missing
from evalsite.data.tables.table import Refused


def read_translations(language: str) -> dict[str, str]:
    """Return short texts with their translations: those of Django's own admin."""
    folder = Path(django.__file__).parent / "contrib/admin/locale" / language / "LC_MESSAGES"
    with (folder / "django.mo").open("rb") as file:
        catalog: dict[Any, str] = vars(gettext.GNUTranslations(file))["_catalog"]
    return {
        text: translated
        for text, translated in catalog.items()
        if isinstance(text, str) and text and translated and "\n" not in text + translated
    }


GERMAN = read_translations("de")
# sorted, neighbours would begin alike
SOURCES = Random(1).sample(sorted(text for text in GERMAN if len(text.split()) > 2), 60)


def locate(whole: list[str], short: list[str]) -> list[int]:
    return find_missing(
        lambda: iter(whole), lambda: iter(short), len(whole), len(whole) - len(short)
    )


def leave_out(texts: list[str], *numbers: int) -> list[str]:
    return [text for number, text in enumerate(texts, 1) if number not in numbers]


def pack(**texts: list[str]) -> list[SourceFile]:
    def open_text(lines: list[str]) -> Any:
        return lambda: BytesIO("".join(f"{line}\n" for line in lines).encode())

    return [SourceFile(f"{name}.txt", open_text(lines)) for name, lines in texts.items()]


def refuse(files: list[SourceFile], **answers: str) -> Refused:
    with pytest.raises(Refused) as caught:
        convert(files, answers={f"lines:{name}.txt": text for name, text in answers.items()})
    return caught.value


def join(files: list[SourceFile], **answers: str) -> tuple[Batch, list[dict[str, str]]]:
    batch = convert(files, answers={f"lines:{name}.txt": text for name, text in answers.items()})
    return batch, [dict(zip(batch.header, row, strict=True)) for row in batch.rows]


def test_lines_of_another_language_tell_most_places_and_few_wrong_ones() -> None:
    german = [GERMAN[text] for text in SOURCES]

    places = [locate(SOURCES, leave_out(german, number)) for number in range(1, 61)]

    right = sum(place == [number] for number, place in enumerate(places, 1))
    wrong = sum(place not in ([], [number]) for number, place in enumerate(places, 1))
    assert right >= 40
    assert wrong <= 10
    assert all(abs(place[0] - number) <= 3 for number, place in enumerate(places, 1) if place)


def test_lines_of_the_same_language_tell_every_place() -> None:
    texts = [f"{text} (edited)" for text in SOURCES]

    assert all(locate(SOURCES, leave_out(texts, number)) == [number] for number in range(1, 61))
    assert locate(SOURCES, leave_out(texts, 7, 23, 24, 60)) == [7, 23, 24, 60]


def test_no_place_is_named_where_texts_have_nothing_in_common() -> None:
    random = Random(7)
    whole = ["a" * random.randint(20, 80) for _ in range(60)]
    short = ["b" * random.randint(5, 400) for _ in range(59)]

    assert locate(whole, short) == []
    assert locate(["Yes."] * 60, ["Ja."] * 59) == []
    # another file altogether
    assert locate(SOURCES, SOURCES[:12]) == []
    assert locate(SOURCES, []) == []


def test_a_place_among_20000_lines_is_found() -> None:
    random = Random(3)
    texts = [f"{random.choice(SOURCES)} {random.randint(1, 9_999)}" for _ in range(20_000)]

    assert locate(texts, leave_out(texts, 12_345)) == [12_345]
    # more pairs than are compared
    assert locate(texts, leave_out(texts, *range(1, 41))) == []


def test_answers_put_an_empty_line_in_or_leave_the_item_out() -> None:
    files = pack(source=SOURCES, a=SOURCES, b=leave_out(SOURCES, 23))
    fault = refuse(files)

    assert fault.code == "lines_differ"
    (question,) = fault.questions
    assert question.key == "lines:b.txt"
    assert [key for key, *_ in question.choices] == ["empty:23", "leave-out:23"]
    assert [line[0] for line in question.around] == [22, 23, 24]
    assert [(is_place, is_shifted) for *_, is_place, is_shifted in question.around] == [
        (False, False), (True, True), (False, True),
    ]  # fmt: skip
    batch, rows = join(files, b="empty:23")
    assert len(rows) == 120
    assert [row["output"] for row in rows if row["item"] == "23"] == [SOURCES[22], ""]
    assert [row["item"] for row in rows if row["output_is_empty"]] == ["23"]
    assert {row["output"] for row in rows if row["item"] == "24"} == {SOURCES[23]}
    assert [*batch.made] == ["lines:b.txt"]
    batch, rows = join(files, b="leave-out:23")
    assert [row["item"] for row in rows[::2]] == [str(n) for n in range(1, 61) if n != 23]
    assert all(row["output"] == row["source"] for row in rows)


@pytest.mark.parametrize(
    "answer", ["empty:61", "empty:23,24", "empty:0", "empty:x", "empty", "drop:23", "empty:٣"]
)
def test_answer_that_does_not_fit_the_file_is_asked_again(answer: str) -> None:
    files = pack(source=SOURCES, a=SOURCES, b=leave_out(SOURCES, 23))

    assert [question.key for question in refuse(files, b=answer).questions] == ["lines:b.txt"]


def test_line_that_inputs_lack_can_only_be_left_out() -> None:
    files = pack(source=leave_out(SOURCES, 5), a=SOURCES, b=SOURCES)

    (question,) = refuse(files).questions

    assert [key for key, *_ in question.choices] == ["leave-out:5"]
    _, rows = join(files, source="leave-out:5")
    assert len(rows) == 118
    assert all(row["output"] == row["source"] for row in rows)


def test_line_that_is_too_many_is_left_out_of_its_file_alone() -> None:
    broken = [*SOURCES[:9], "A second paragraph with nothing in common.", *SOURCES[9:]]
    files = pack(source=SOURCES, a=SOURCES, b=broken)

    (question,) = refuse(files).questions

    assert [key for key, *_ in question.choices] == ["leave-out:10"]
    _, rows = join(files, b="leave-out:10")
    assert len(rows) == 120
    assert all(row["output"] == row["source"] for row in rows)


def test_several_files_are_asked_about_each() -> None:
    files = pack(
        source=SOURCES, a=leave_out(SOURCES, 3, 40), b=leave_out(SOURCES, 23),
        reference=SOURCES,
    )  # fmt: skip

    asked = {question.key: question.choices for question in refuse(files).questions}

    assert [key for key, *_ in asked["lines:a.txt"]] == ["empty:3,40", "leave-out:3,40"]
    left = refuse(files, a="empty:3,40").questions
    assert [question.key for question in left] == ["lines:b.txt"]
    _, rows = join(files, a="leave-out:3,40", b="empty:23")
    assert len(rows) == 116
    assert [(row["item"], row["system"]) for row in rows if row["output_is_empty"]] == [("23", "b")]


def test_gap_that_no_text_locates_offers_no_place() -> None:
    files = pack(source=["Yes."] * 60, a=["Ja."] * 60, b=["Ja."] * 59)

    (question,) = refuse(files).questions

    assert (question.choices, question.around) == ((), ())
    # whoever knows the place can say it
    _, rows = join(files, b="empty:7")
    assert [row["item"] for row in rows if not row["output"]] == ["7"]


def test_empty_lines_at_the_end_of_a_file_are_no_lines() -> None:
    batch, rows = join(pack(source=SOURCES, a=[*SOURCES, "", ""], b=SOURCES))

    assert len(rows) == 120
    assert len(batch.remarks) == 1
    # but an empty output is one where all files have as many lines
    _, rows = join(pack(source=SOURCES, a=[*SOURCES[:-1], ""], b=SOURCES))
    assert [row["item"] for row in rows if not row["output"]] == ["60"]
    _, rows = join(pack(source=[*SOURCES, ""], a=[*SOURCES, "", ""]))
    assert len(rows) == 60
