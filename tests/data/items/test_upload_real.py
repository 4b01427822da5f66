"""Every real file goes in, or is refused with a sentence that helps; columns guessed right."""

import csv
import io
import json

import pytest

from evalsite.data.items.items import CheckedItems as Checked
from tests.support.batches import told
from tests.support.checking import check_file
from tests.support.factories import make_study
from tests.support.published import published_file
from tests.support.sheets import write_workbook

pytestmark = pytest.mark.django_db

PAIRS = "pairs_by_letter.csv"
DIALOGUES = "dialogues_in_html.csv"


def read(name: str) -> bytes:
    return published_file(name).read_bytes()


def check(protocol: str, data: bytes, mapping: dict[str, str] | None = None) -> Checked:
    study = make_study(protocol=protocol, items=0)
    return check_file(io.BytesIO(data), study=study, mapping=mapping)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "protocol", "items", "systems"),
    [
        ("rankme/batch_wide.csv", "magnitude", 100, 3),
        ("rankme/batch_long.csv", "magnitude", 100, 3),
        ("marco_pairwise/batch_long.csv", "pairwise", 1484, 3),
        (DIALOGUES, "fluency", 9, 4),
        (DIALOGUES, "dialogue", 9, 4),
    ],
)
def test_real_batch_goes_in_with_no_hand_work(
    name: str, protocol: str, items: int, systems: int
) -> None:
    checked = check(protocol, read(name))

    assert told(checked) == []
    assert (len(checked.items), len(checked.systems)) == (items, systems)


def test_pairs_of_letters_go_in_once_their_input_is_mapped() -> None:
    refused = check("pairwise", read(PAIRS))
    checked = check("pairwise", read(PAIRS), {"concept": "dialogue"})

    assert told(refused) == [
        "line 1, dialogue: Which column did the systems get? Found: concept, choice_A, choice_B, "
        "choice_A_id, choice_B_id. Did you mean “concept”? Choose it (--map concept=dialogue)."
    ]
    assert told(checked) == []
    firsts = [item.outputs[0].system for item in checked.items]
    assert (len(firsts), firsts.count("supervised")) == (9, 4)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "protocol", "words"),
    [
        (
            "rankme/stp1_rankME.csv",
            "magnitude",
            "100 items have 3 rows that differ only in columns",
        ),
        (
            "rankme/stp2_likert_inf.csv",
            "magnitude",
            "100 items have 7 rows that differ only in columns",
        ),
        ("rankme/ratings_long.csv", "magnitude", "seem to be ratings, not items."),
        ("marco_pairwise/ratings_long.csv", "pairwise", "seem to be ratings, not items."),
        (
            "marco_pairwise/human_annotation.json",
            "pairwise",
            "Column “item” is missing. Found: file, info.",
        ),
        (
            "squality/all-responses.jsonl",
            "rrgen",
            "did the systems get? Found: passage-id",
        ),
    ],
)
def test_real_file_that_is_no_batch_is_refused_with_a_sentence_that_helps(
    name: str, protocol: str, words: str
) -> None:
    checked = check(protocol, read(name))

    assert words in told(checked)[0]
    assert not checked.items


def test_real_batch_is_the_same_in_every_format() -> None:
    content = io.StringIO(read("rankme/batch_wide.csv").decode(), newline="")
    rows = list(csv.DictReader(content))
    lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    sheet = write_workbook([list(rows[0]), *(list(row.values()) for row in rows)])

    tables = [check("magnitude", data) for data in (read("rankme/batch_wide.csv"), lines, sheet)]

    assert [told(checked) for checked in tables] == [[], [], []]
    contents = [
        [(item.key, item.group, item.inputs, item.outputs) for item in checked.items]
        for checked in tables
    ]
    assert contents[0] == contents[1] == contents[2]
