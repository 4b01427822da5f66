"""Bundles that were damaged, tampered with or made to do harm: found, told, and never a crash."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.exports.bundle import read as opening
from evalsite.exports.bundle.format import CHECKSUMS
from tests.bundles import bundle_of, change, check, pack, read_files, sum_up, zip_files
from tests.factories import launch, make_study

KEPT = Path(__file__).resolve().parent.parent / "fixtures" / "bundle" / "format-2.zip"
Rows = list[dict[str, Any]]

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def bundle() -> bytes:
    return bundle_of("magnitude")


# --- damage ---------------------------------------------------------------------------


def test_any_changed_byte_of_any_file_is_found(bundle):
    files = read_files(bundle)
    draw = Random(1)

    for name, data in files.items():
        for place in {0, len(data) - 1, draw.randrange(len(data))}:
            changed = bytearray(data)
            changed[place] ^= 1 << draw.randrange(8)
            report = check(zip_files(files | {name: bytes(changed)}))
            assert report.faults, (name, place)


def test_fault_names_the_file_that_was_changed(bundle):
    files = read_files(bundle)
    files["data/ratings.csv"] = files["data/ratings.csv"].replace(b"counted", b"surplus", 1)

    report = check(zip_files(files))

    assert report.faults == [
        "data/ratings.csv is not as checksums.txt says: its SHA-256 is another."
    ]


def test_archive_with_flipped_bits_never_breaks_the_check(bundle):
    draw = Random(2)

    for _ in range(60):
        changed = bytearray(bundle)
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        assert isinstance(check(bytes(changed)).faults, list)


def test_archive_that_was_cut_off_is_told_so(bundle):
    for length in (0, 1, 100, len(bundle) // 2, len(bundle) - 1):
        assert check(bundle[:length]).faults == [
            "This is no .zip archive, or a part of it is missing."
        ]


def test_file_that_is_missing_or_not_listed_is_named(bundle):
    files = read_files(bundle)
    plan = files.pop("design/plan.csv")

    assert check(zip_files(files)).faults == [
        "design/plan.csv is listed in checksums.txt, but missing."
    ]
    files |= {"design/plan.csv": plan, "more.txt": b""}
    assert check(zip_files(files)).faults == ["more.txt is not listed in checksums.txt."]
    assert check(zip_files({"a.txt": b""})).faults == ["checksums.txt is missing."]


# --- archives made to do harm (S7) ------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../a",
        "/etc/a",
        "a/../b",
        "C:\\a",
        "a\\b",
        "a//b",
        ".a",
        "a/.b",
        "a\nb",
        "ä",
        "folder/",
        "~a",
    ],
)
def test_names_that_lead_elsewhere_are_refused(bundle, name):
    files = read_files(bundle) | {name: b"x"}

    (fault,) = check(zip_files(sum_up(files))).faults

    assert "No bundle has such a name" in fault


def test_name_with_a_nul_in_it_is_refused(bundle):
    files = read_files(bundle) | {"more_txt": b"x"}
    packed = zip_files(sum_up(files)).replace(b"more_txt", b"more\x00txt")

    assert "No bundle has such a name" in check(packed).faults[0]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["study.json", "STUDY.json"])
def test_name_that_stands_twice_is_refused(bundle, name):
    target = io.BytesIO(bundle)
    with zipfile.ZipFile(target, "a") as archive:
        archive.writestr(name, b"{}")

    assert check(target.getvalue()).faults == ["The archive has 'study.json' twice."]


def test_file_that_unpacks_to_far_more_than_it_takes_is_refused(bundle):
    bomb = zip_files(read_files(bundle) | {"bomb.txt": bytes(50 * 1024**2)})

    assert check(bomb).faults == ["bomb.txt unpacks to more than 200 times its size."]


def test_archive_of_too_many_files_is_refused(bundle):
    many = {f"f{number}": b"" for number in range(opening.MOST_FILES + 1)}

    assert "1,001 files" in check(zip_files(many)).faults[0]


def test_archive_that_is_too_large_is_refused(bundle, monkeypatch):
    monkeypatch.setattr(opening, "MOST_BYTES", 10_000)

    assert "more than 10,000" in check(bundle).faults[0]


def test_encrypted_or_oddly_compressed_files_are_refused(bundle):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("study.json", b"{}")
    encrypted = bytearray(zip_files({"study.json": b"{}"}))
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1

    assert "compressed in a way" in check(target.getvalue()).faults[0]
    assert check(bytes(encrypted)).faults == ["study.json is encrypted. A bundle never is."]


# --- tampered with by somebody who mends the checksums ------------------------------------


def first(rows: Rows, **having: Any) -> dict[str, Any]:
    return next(row for row in rows if having.items() <= row.items())


def rated(rows: Rows) -> dict[str, Any]:
    return first(rows, status="counted", outcome="rated")


def set_value(value: Any) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        rated(rows)["ratings"][0][2] = value

    return edit


def set_field(name: str, value: Any) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        rated(rows)[name] = value

    return edit


def drop(name: str) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        del rows[0][name]

    return edit


def repeat_first(rows: Rows) -> Rows:
    return [rows[0], *rows]


def take_same_place(rows: Rows) -> None:
    one, two = [row for row in rows if row["number"] is not None][:2]
    two |= {"item": one["item"], "number": one["number"], "set": None}


def rate_twice(rows: Rows) -> None:
    rated(rows)["ratings"].append(rated(rows)["ratings"][0])


def rate_unknown_output(rows: Rows) -> None:
    rated(rows)["ratings"][0][1] = 99


def rate_unknown_criterion(rows: Rows) -> None:
    rated(rows)["ratings"][0][0] = "beauty"


@pytest.mark.parametrize(
    ("file", "edit", "fault"),
    [
        ("annotations", set_value(0), "0 is no value of informativeness"),
        ("annotations", set_value(1_000_000), "is no value of informativeness"),
        ("annotations", set_value(None), "None is no value of informativeness"),
        ("annotations", set_value(True), "value can't be True"),
        ("annotations", set_value("70"), "value can't be '70'"),
        ("annotations", set_value(55_555), "annotation .* is not as recorded"),
        ("annotations", set_field("participant", "p-nobody"), "the participant is unknown"),
        ("annotations", set_field("item", "no-item"), "item no-item is not in"),
        ("annotations", set_field("version", 7), "the version is unknown"),
        ("annotations", set_field("status", "pilot"), "counted ones fill places"),
        ("annotations", set_field("status", "best"), "status can't be 'best'"),
        ("annotations", set_field("number", 9), "has no place 9 of item"),
        ("annotations", set_field("order_shown", [0, 0, 1]), "order_shown is off"),
        ("annotations", set_field("started_at", "yesterday"), "started_at can't be"),
        ("annotations", set_field("started_at", "2026-11-21T12:00:00"), "started_at can't be"),
        ("annotations", set_field("note", "a\x00b"), "note can't be"),
        ("annotations", set_field("key", "no uuid"), "key can't be"),
        ("annotations", set_field("ratings", 5), "something is missing, or of another kind"),
        ("annotations", set_field("ratings_file", "x"), "the file of ratings is unknown"),
        ("annotations", repeat_first, "stands twice"),
        ("annotations", take_same_place, "is taken|has answered this item already"),
        ("annotations", rate_twice, "a rating stands twice"),
        ("annotations", rate_unknown_output, "the item has no output 99"),
        ("annotations", rate_unknown_criterion, "there is no criterion beauty"),
        ("annotations", lambda rows: rows[1:], "counts|not as recorded"),
        ("items", repeat_first, "stands twice"),
        ("items", lambda rows: rows[0].update(key="=1+1"), "no item can have the id"),
        ("items", lambda rows: rows[0].update(batch="x"), "its batch is not in study.json"),
        ("items", lambda rows: rows[0].update(repeat_of="x"), "repeat_of is off"),
        ("items", lambda rows: rows[0].update(group=5), "group can't be 5"),
        ("participants", repeat_first, "stands twice"),
        ("participants", lambda rows: rows[0].update(tries=-1), "tries can't be -1"),
        ("participants", drop("cursor"), "cursor is missing"),
        ("exclusions", lambda rows: rows[0].update(annotation="x"), "names one thing"),
        ("exclusions", lambda rows: rows[0].update(reason="other"), "tells of other decisions"),
    ],
)
def test_records_that_cannot_be_are_told_with_their_line(bundle, file, edit, fault):
    report = check(change(bundle, f"records/{file}.jsonl", edit))

    assert re.search(fault, " ".join(report.faults)), report.faults


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        ("study.json", lambda about: about | {"format": "other"}, "does not say that this is"),
        ("study.json", lambda about: about["counts"].update(ratings=1), "counts ratings as 1"),
        ("study.json", lambda about: about["study"].update(k=2), "has 3 places in"),
        ("study.json", lambda about: about["study"].update(state="open"), "state can't be"),
        ("study.json", lambda about: drop("title")([about["study"]]), "title is missing"),
        ("study.json", lambda about: about["study"].update(systems=["a", "a"]), "stands twice"),
        ("study.json", lambda about: [about], "does not say that this is"),
        ("versions/1.json", lambda content: content | {"software": "9"}, "another SHA-256"),
        ("datapackage.json", lambda package: {"resources": []}, "names other tables"),
    ],
)
def test_descriptions_that_cannot_be_are_told(bundle, name, edit, fault):
    report = check(change(bundle, name, edit))

    assert re.search(fault, " ".join(report.faults)), report.faults


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        ("data/ratings.csv", lambda text: text.replace(",counted,", ",surplus,", 1), "as recorded"),
        ("data/ratings.csv", lambda text: text.replace("value", "worth", 1), "other columns"),
        ("data/participants.csv", lambda text: text + "a,b\r\n", "2 cells, but the header has"),
        ("data/participants.csv", lambda text: text + '"', "unexpected end of data"),
        ("codebook.csv", lambda text: text.replace("ratings.csv,study", "x.csv,study"), "columns"),
    ],
)
def test_tables_that_say_something_else_are_told(bundle, name, edit, fault):
    report = check(change(bundle, name, edit))

    assert re.search(fault, " ".join(report.faults)), report.faults


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        (
            "study.json",
            lambda about: about["study"].update(seed="other"),
            "otherwise than the seed",
        ),
        (
            "design/plan.csv",
            lambda text: move_place(text),
            "1 places of .* otherwise",
        ),
        ("design/plan.csv", lambda text: text.replace("1 2 3", "1 3 2", 1), "in another order"),
        ("design/plan.csv", lambda text: text.replace(",1,", ",01,", 1), "not written as one"),
        ("design/plan.csv", lambda text: text[: text.rindex("\n", 0, -1) + 1], "has 2 places in"),
        ("design/plan.csv", lambda text: text.replace("item-001", "item-009"), "can't have this"),
    ],
)
def test_plan_that_the_seed_does_not_give_is_told(name, edit, fault):
    plain = pack(launch(make_study(items=7, seed="a seed")))

    report = check(change(plain, name, edit))

    assert check(plain).faults == []
    assert re.search(fault, " ".join(report.faults)), report.faults


def first_criterion(about: dict[str, Any]) -> dict[str, Any]:
    return about["instrument"]["criteria"][0]


@pytest.fixture(params=["now", "of version 0.1"])
def any_bundle(request, bundle) -> bytes:
    """A bundle with its instrument in either shape."""
    return bundle if request.param == "now" else KEPT.read_bytes()


def test_kind_of_question_that_is_not_installed_is_named(any_bundle):
    edit = lambda about: first_criterion(about)["scale"].update(kind="slider")  # noqa: E731

    (fault,) = check(change(any_bundle, "study.json", edit)).faults

    assert "the kind of question “slider”, which isn't installed" in fault


@pytest.mark.parametrize(
    "edit",
    [
        lambda about: about["instrument"].clear(),
        lambda about: about["instrument"].update(criteria=5),
        lambda about: about["instrument"].update(criteria=["x"]),
        lambda about: first_criterion(about).update(scale="magnitude"),
        lambda about: first_criterion(about).update(key=["a list"]),
        lambda about: first_criterion(about)["scale"].clear(),
        lambda about: first_criterion(about)["scale"].update(kind=["a list"]),
        lambda about: first_criterion(about)["scale"].update(steps=5),
        lambda about: first_criterion(about).update(scale={"kind": "likert", "points": [{}]}),
    ],
)
def test_criteria_that_cannot_be_read_are_told(any_bundle, edit):
    (fault,) = check(change(any_bundle, "study.json", edit)).faults

    assert re.match("(The criteria of an|An) instrument in this bundle (can't be|is not)", fault)


def move_place(plan: str) -> str:
    """The first place of the queue comes last."""
    header, one, *others = plan.split("\r\n")
    item, number, _, *rest = one.split(",")
    return "\r\n".join([header, *others[:-1], ",".join([item, number, "999", *rest]), ""])


def test_smuggled_note_is_found_where_free_text_was_left_out():
    bundle = change(
        bundle_of("fluency", with_free_text=False),
        "records/annotations.jsonl",
        lambda rows: rows[0].update(note="call me"),
    )

    assert "it has a note, and the bundle has none" in check(bundle).faults[0]


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a": NaN}', "1" * 5_000, "[]", '"\\ud800"', ""])
def test_records_that_are_no_objects_are_told(bundle, line):
    files = read_files(bundle)
    name = "records/participants.jsonl"
    files[name] = line.encode() + b"\n" + files[name]

    (fault,) = check(zip_files(sum_up(files))).faults

    assert fault.startswith(f"{name}, line 1")


def test_texts_that_no_database_stores_are_refused(bundle):
    def spoil(rows: Rows) -> None:
        rows[0]["extra"] = {"a": ["b", {"c\ud800": "d"}]}

    files = read_files(bundle)
    rows = [json.loads(line) for line in files["records/items.jsonl"].decode().split("\n")[:-1]]
    spoil(rows)
    files["records/items.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()

    assert "extra can't be" in check(zip_files(sum_up(files))).faults[0]


# --- without a database, and on the command line -------------------------------------------


def test_check_asks_no_database(bundle, django_assert_num_queries):
    with django_assert_num_queries(0):
        report = check(bundle)

    assert report.faults == []


def test_command_says_what_it_checked_and_ends_with_1_where_something_is_wrong(
    bundle, tmp_path, capsys
):
    sound, broken = tmp_path / "sound.zip", tmp_path / "broken.zip"
    sound.write_bytes(bundle)
    broken.write_bytes(change(bundle, "records/annotations.jsonl", set_value(0)))

    call_command("verify_bundle", str(sound))
    with pytest.raises(SystemExit) as ended:
        call_command("verify_bundle", str(broken))

    told = capsys.readouterr().out
    assert ended.value.code == 1
    assert "all as drawn" in told
    assert f"{sound}: nothing is wrong." in told
    assert "WRONG: records/annotations.jsonl, line" in told


def test_checksums_are_those_of_sha256sum(bundle):
    files = read_files(bundle)

    lines = files[CHECKSUMS].decode().splitlines()

    assert [line[66:] for line in lines] == sorted(set(files) - {CHECKSUMS})
    assert all(re.fullmatch("[0-9a-f]{64}", line[:64]) for line in lines)
