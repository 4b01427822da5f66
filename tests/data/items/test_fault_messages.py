"""One file holds the sentences about faulty files, so that their English can be read in one place.

They are those of files of items, of ratings, of metric scores and of judges' labels; of each code,
the first.
"""

import ast
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

import evalsite
from evalsite.data.importing import Checked, Source, aim_at_study, check_source
from evalsite.data.items.importer import ITEMS
from evalsite.data.judges.importer import JUDGES
from evalsite.data.metrics.importer import METRICS
from evalsite.data.tables.reader import FileMapping
from evalsite.data.tables.table import Fault, group_faults
from evalsite.studies.models import Study
from tests.data.items.test_faulty_batches import CASES, HOSTILE, read_case
from tests.support.batches import import_rows, make_rows, write_csv
from tests.support.checking import check_file, check_labels, check_scores
from tests.support.factories import add_batch, launch
from tests.support.hostile_files import with_text, write_cell, write_rows, write_workbook
from tests.support.imported import Row, check, load, rows_for

pytestmark = pytest.mark.django_db

MESSAGES = Path(__file__).resolve().parents[3] / "fixtures" / "import_messages.txt"
# it takes a file of 100,000 pairs; what is asked of several files and of tools is in
# tests/data/tables and test_getting_in.py; turns are in tests/participation; and options only
# commands have
NOT_SHOWN = {
    "too_many_outputs", "decision_needed", "input_unclear", "no_file", "turns_not_supported",
    "option_unused",
    # of marked passages: test_bare_errors, test_marks_import and test_marked_turns have them
    "categories_many", "mark_twice", "questions_several", "turns_marked",
}  # fmt: skip
# the calls whose first argument is the code of a fault
_CALLS = {"Fault", "Refused", "Problem", "_blame", "_blame_answer"}
_LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")


def check_items(study: Study) -> Iterator[Checked]:
    known: set[str] = set()
    for name, expected in CASES.items():
        options = expected.get("options", {})
        checked = check_source(
            ITEMS,
            read_case(name),
            target=aim_at_study(study),
            mapping=FileMapping.read({}, options),
        )
        known |= {one.code for one in (*checked.faults, *checked.remarks)}
        yield checked
    for file in HOSTILE:
        # most are large
        if file.code and file.code not in known:
            known.add(file.code)
            yield check_source(ITEMS, io.BytesIO(file.make()), target=aim_at_study(study))

    for data in (
        _LOCKED,
        b"%PDF-1.7\n",
        b"output\nA text.\n",
        b"worker_id,text,rating\nw1,A text.\n",
        b"name[A] is a pub.,alpha,A is a pub.\nname[B] is a pub.,alpha,B is a pub.\n",
        write_workbook(write_rows() + f"<row>{write_cell('a') * 5}</row>"),
        with_text("NaN").encode(),
        with_text("[" + "long " * 500).encode(),
    ):
        yield check_source(ITEMS, io.BytesIO(data), target=aim_at_study(study))
    not_western = with_text("A@B").encode().replace(b"@", b"\x81")
    options = {"encoding": "windows-1252"}
    yield check_source(
        ITEMS,
        io.BytesIO(not_western),
        target=aim_at_study(study),
        mapping=FileMapping.read({}, options),
    )


def check_later_items(pairs: Study, replies: Study) -> Iterator[Checked]:
    """Check files of inputs that the studies have already."""
    for study, cells, options in (
        (replies, {"review": "Another review."}, {}),
        (replies, {"output": "Another output."}, {}),
        (replies, {"kind": "gold"}, {}),
        (replies, {}, {}),
        (replies, {"item": "again"}, {}),
        (replies, {"item": "new", "review": "A new review."}, {}),
        (pairs, {"system": "gamma"}, {"meets": ["gpt"]}),
    ):
        row = make_rows(study.config, items=1)[0] | cells
        yield check_file(io.BytesIO(write_csv([row]).encode()), study=study, options=options)
    tool = {"testIdx": 0, "provider": {"id": ""}, "vars": {}, "response": {"output": "One."}}
    yield check_file(io.BytesIO(json.dumps(tool).encode()), study=replies)


def change(rows: list[Row], at: int = 0, **cells: str) -> list[Row]:
    """Return these rows with other cells in one of them, and the new columns in all."""
    empty = dict.fromkeys(cells.keys() - rows[0].keys(), "")
    changed = [empty | row for row in rows]
    changed[at] |= cells
    return changed


def check_rating_files(study: Study, pairs: Study, replies: Study) -> Iterator[Checked]:
    rows = rows_for(study)
    for cells in (
        {"item": "item-02"},
        {"item": ""},
        {"item": "practice-1"},
        {"system": "gpt"},
        {"criterion": "warmth"},
        {"value": "7.5"},
        {"participant": ""},
        {"place": "first"},
        {"note": "n" * 5001},
        {"order_shown": "1 2"},
        {"simulated": "yes"},
    ):
        yield check(study, change(rows, **cells))
    yield check(study, change(change(rows, note="One."), 1, note="Two."))
    yield check(study, change(change(rows, submitted_at="12:00"), 1, submitted_at="12:01"))
    yield check(study, [*rows, rows[1]])
    yield check(study, rows[1:])
    yield check(study, rows[1:], keeps_incomplete=True)
    yield check(study, rows_for(study, ["w1", "W1"]))
    yield check(study, change(rows, place=""))
    yield check(study, [row | {"origin": "simulated"} for row in rows])
    yield check(study, [row | {"excluded": "yes", "person": "no"} for row in rows])
    yield check(study, [row | {"kind": "practice"} for row in rows])
    yield check(study, change(rows, kind="practice"))
    yield check(study, "participant,item,value,value\nw1,item-1,1,2\n")
    yield check(study, "participant,item\nw1,item-1\n")
    yield check(study, rows, {"value": "score"})
    yield check(study, rows, {"value": "system", "system": "system"})
    both = {"informativeness": "value:quality", "value": "value"}
    yield check(study, change(rows, informativeness="5"), both)
    yield check(replies, rows_for(replies)[1:])
    yield check(replies, change(rows_for(replies), criterion="x"), leave_out_faulty=True)
    yield check(pairs, change(rows_for(pairs), preferred="gpt"))
    load(study, rows)
    yield check(study, [row | {"note": "again"} for row in rows])
    launch(study)
    add_batch(study, items=1)
    yield check(study, rows_for(study, ["w9"]))


def check_metric_files(study: Study) -> Iterator[Checked]:
    head = "item,system,metric,value\n"
    good = "item-1,alpha,BLEU,0.31\n"
    for text in (
        head + good + "item-01,beta,BLEU,1\n",
        head + good + "item-2,newral,BLEU,1\n",
        head + good + ",beta,BLEU,1\n",
        head + good + "item-2,beta,,1\n",
        head + good + "item-2,beta,BLEU,one\n",
        head + good + "item-2,beta,BLEU\n",
        head + good + good,
        head + good + "item-2,beta,BLEU,\n",
        head + "practice-1,baseline,BLEU,1\n",
        head + good + "practice-1,baseline,BLEU,1\n",
        "item,system,metric\nitem-1,beta,BLEU\n",
        "item,system,output,BLEU\nitem-1,beta,x,0.5\n",
    ):
        yield check_scores(io.BytesIO(text.encode()), study=study)
    source = Source(study=study, file_name="bleu.csv", sha256="0" * 64)
    METRICS.store(
        checked=check_scores(io.BytesIO(f"{head}{good}".encode()), study=study),
        source=source,
        by=None,
    )
    yield check_scores(io.BytesIO(f"{head}{good}\n".encode()), study=study)


def check_judge_files(study: Study) -> Iterator[Checked]:
    head = "item,system,judge,value\n"
    good = "item-1,alpha,judge,31\n"
    for text in (
        head + good + "item-01,beta,judge,1\n",
        head + good + ",beta,judge,1\n",
        head + good + "item-2,beta,,1\n",
        head + good + "item-2,beta,judge,high\n",
        head + good + "item-2,beta,judge,\n",
        head + good + good,
        head + good + "practice-1,baseline,judge,1\n",
        head + good + "item-2,newral,judge,31\n",
        "item,judge\nitem-1,judge\n",
        "item,system,judge,value,run\nitem-1,alpha,judge,31,first\n",
        "item,system,judge,value,criterion\nitem-1,alpha,judge,31,warmth\n",
        "item,system,judge,value,reason\n" + f"item-1,alpha,judge,31,{'r' * 100_000}\n",
        "item,system,judge,value,prompt_version\nitem-1,alpha,judge,1,a\nitem-1,beta,judge,2,b\n",
    ):
        yield check_labels(io.BytesIO(text.encode()), study=study)
    JUDGES.store(
        checked=check_labels(io.BytesIO(f"{head}{good}".encode()), study=study),
        source=Source(study=study, file_name="labels.csv", sha256="0" * 64),
        by=None,
    )
    yield check_labels(io.BytesIO(f"{head}{good}".encode()), study=study)


def list_sentences(checks: Iterable[Checked]) -> dict[str, str]:
    found: dict[str, str] = {}
    for checked in checks:
        for one in (*checked.faults, *checked.remarks):
            found.setdefault(one.code, str(one))
    return found


def list_codes() -> set[str]:
    """List the codes that stand in the code of imports."""
    root = Path(evalsite.__file__).parent
    folders = ("", "items", "ratings", "metrics", "judges", "management/commands")
    files = [path for name in folders for path in (root / "data" / name).glob("*.py")]
    codes: set[str] = set()
    for path in [*files, root / "lib" / "rating_columns.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                first = node.args[0]
                if name in _CALLS and isinstance(first, ast.Constant):
                    codes.add(str(first.value))
    return codes


@pytest.fixture
def sentences(make_study: Callable[..., Any]) -> dict[str, dict[str, str]]:
    study, pairs, replies = (
        make_study(items=0, protocol=name) for name in ("magnitude", "pairwise", "rrgen")
    )
    for rated in (study, pairs, replies):
        import_rows(rated, make_rows(rated.config, items=2))
    return {
        "items": list_sentences(
            [
                *check_items(make_study(protocol="magnitude", items=0)),
                *check_later_items(pairs, replies),
            ]
        ),
        "labels of judges": list_sentences(check_judge_files(study)),
        "metric scores": list_sentences(check_metric_files(study)),
        "ratings": list_sentences(check_rating_files(study, pairs, replies)),
    }


@pytest.mark.slow
def test_sentences_about_faulty_files_are_those_of_the_list(
    sentences: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    text = "\n".join(
        f"# {kind}\n" + "".join(f"{code}: {found[code]}\n" for code in sorted(found))
        for kind, found in sorted(sentences.items())
    )
    (tmp_path / MESSAGES.name).write_text(text, encoding="utf-8")

    assert text == MESSAGES.read_text(encoding="utf-8"), (
        f"Read {tmp_path / MESSAGES.name}; if its English is better, copy it to {MESSAGES}."
    )
    assert list_codes() - {code for found in sentences.values() for code in found} == NOT_SHOWN


# --- equal faults -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ([3], "line 3, value"),
        ([3, 5], "lines 3 and 5, value"),
        ([3, 5, 6], "lines 3, 5 and 6, value"),
        ([*range(3, 217)], "lines 3, 4 and 212 more, value"),
    ],
)
def test_equal_faults_are_one_with_their_lines(lines: list[int], place: str) -> None:
    faults = [Fault("value_invalid", "It is empty.", "value", line) for line in lines]
    other = Fault("value_invalid", "It is empty.", "system", 4)

    first, second = group_faults([*faults, other])

    assert (first.place, first.count) == (place, len(lines))
    assert (second.place, second.count) == ("line 4, system", 1)


def test_equal_faults_of_a_sheet_are_one_with_their_rows() -> None:
    faults = [Fault("cell_empty", "It is empty.", line=line, unit="row") for line in (2, 7)]

    assert [str(group) for group in group_faults(faults)] == ["rows 2 and 7: It is empty."]


@pytest.mark.parametrize("purpose", ["items", "ratings", "metrics"])
def test_a_page_lists_equal_faults_of_every_kind_of_file_once(
    staff_client: Any, make_study: Callable[..., Any], purpose: str
) -> None:
    study = make_study(items=1, protocol="magnitude")
    header = {
        "items": "item,mr,system,output\n",
        "ratings": "participant,item,system,value\n",
        "metrics": "item,system,metric,value\n",
    }[purpose]
    data = (header + "a,b\n" * 150).encode()

    sent = {"file": SimpleUploadedFile("a.csv", data), "pasted": "", "purpose": purpose}
    new = reverse("admin:upload-new", args=[study.pk])
    page = staff_client.post(new, sent, follow=True).content.decode()

    assert page.count('data-code="row_width"') == 1
    assert "lines 2, 3 and 148 more" in page
