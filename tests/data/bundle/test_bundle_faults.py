"""Bundles that were damaged, tampered with or made to do harm: found, told, and never a crash."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from evalsite.data.bundle import read as opening
from evalsite.data.bundle import verify
from evalsite.data.bundle.compare import load_exactly
from evalsite.data.bundle.format import CHANGE_ROWS, CHECKSUMS
from evalsite.data.bundle.read import BadBundle, Fault, open_bundle, read_about
from evalsite.data.bundle.tables import TABLES
from evalsite.studies.version_cache import forget_versions
from tests.support.bundles import (
    bundle_of,
    change,
    check,
    examine,
    move_data,
    pack,
    read_files,
    sum_up,
    zip_files,
)
from tests.support.emptying import no_rows
from tests.support.factories import launch, make_study

KEPT = Path(__file__).resolve().parents[3] / "fixtures" / "bundle" / "format-2.zip"
Rows = list[dict[str, Any]]

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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

    assert [(fault.code, fault.file) for fault in report.faults] == [
        ("checksum", "data/ratings.csv")
    ]


def test_archive_with_flipped_bits_never_breaks_the_check(bundle):
    draw = Random(2)

    for _ in range(20):
        changed = bytearray(bundle)
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        assert isinstance(check(bytes(changed)).faults, list)


def test_archive_that_was_cut_off_is_told_so(bundle):
    for length in (0, 1, 100, len(bundle) // 2, len(bundle) - 1):
        assert check(bundle[:length]).codes == ["archive_damaged"]


def test_file_that_is_missing_or_not_listed_is_named(bundle):
    files = read_files(bundle)
    plan = files.pop("design/plan.csv")

    assert check(zip_files(files)).codes == ["file_missing"]
    files |= {"design/plan.csv": plan, "more.txt": b""}
    assert check(zip_files(files)).codes == ["file_not_listed"]
    assert check(zip_files({"a.txt": b""})).codes == ["file_missing"]


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

    assert check(zip_files(sum_up(files))).codes == ["file_name"]


def test_name_with_a_nul_in_it_is_refused(bundle):
    files = read_files(bundle) | {"more_txt": b"x"}
    packed = zip_files(sum_up(files)).replace(b"more_txt", b"more\x00txt")

    assert check(packed).codes == ["file_name"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["study.json", "STUDY.json"])
def test_name_that_stands_twice_is_refused(bundle, name):
    target = io.BytesIO(bundle)
    with zipfile.ZipFile(target, "a") as archive:
        archive.writestr(name, b"{}")

    assert check(target.getvalue()).codes == ["file_twice"]


def test_file_that_unpacks_to_far_more_than_it_takes_is_refused(bundle):
    bomb = zip_files(read_files(bundle) | {"bomb.txt": bytes(50 * 1024**2)})

    assert check(bomb).codes == ["archive_bomb"]


def test_archive_of_too_many_files_is_refused(bundle):
    many = {f"f{number}": b"" for number in range(opening.MOST_FILES + 1)}

    assert check(zip_files(many)).codes == ["too_many_files"]


def test_archive_that_is_too_large_is_refused(bundle, monkeypatch):
    monkeypatch.setattr(opening, "MOST_BYTES", 10_000)

    assert check(bundle).codes == ["too_large"]


def test_encrypted_or_oddly_compressed_files_are_refused(bundle):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("study.json", b"{}")
    encrypted = bytearray(zip_files({"study.json": b"{}"}))
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1

    assert check(target.getvalue()).codes == ["compression"]
    assert check(bytes(encrypted)).codes == ["encrypted"]


# --- tampered with by somebody who mends the checksums ------------------------------------


def first(rows: Rows, **having: Any) -> dict[str, Any]:
    return next(row for row in rows if having.items() <= row.items())


def rated(rows: Rows) -> dict[str, Any]:
    return first(rows, status="counted", outcome="rated")


def set_value(value: Any) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        rated(rows)["ratings"][0][4] = value

    return edit


# of a rating: output, criterion, turn, part, value, text, detail, start, end
def set_rating(*cells: Any) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        rated(rows)["ratings"][0][2:] = cells

    return edit


def set_field(name: str, value: Any) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        rated(rows)[name] = value

    return edit


def drop(name: str) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        del rows[0][name]

    return edit


def set_study(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda about: about["study"].update({name: value})


def drop_settings(content: dict[str, Any]) -> None:
    del content["settings"]


def set_promise(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["settings"].update({name: value})


def repeat_first(rows: Rows) -> Rows:
    return [rows[0], *rows]


def take_same_place(rows: Rows) -> None:
    one, two = [row for row in rows if row["number"] is not None][:2]
    two |= {"item": one["item"], "number": one["number"], "set": None}


def rate_twice(rows: Rows) -> None:
    rated(rows)["ratings"].append(rated(rows)["ratings"][0])


def rate_unknown_output(rows: Rows) -> None:
    rated(rows)["ratings"][0][0] = 99


def set_first_rating(cells: Any) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        rated(rows)["ratings"][0] = cells

    return edit


def rate_unknown_criterion(rows: Rows) -> None:
    rated(rows)["ratings"][0][1] = "beauty"


@pytest.mark.parametrize(
    ("file", "edit", "fault"),
    [
        ("annotations", set_value(0), "value_outside_its_scale"),
        ("annotations", set_value(1_000_000), "value_outside_its_scale"),
        ("annotations", set_value(None), "value_outside_its_scale"),
        ("annotations", set_value(1e308), "row_invalid"),
        ("annotations", set_value(-0.0), "row_invalid"),
        ("annotations", set_value(70.0001), "row_invalid"),
        ("annotations", set_rating(0, "", None), "row_refused"),
        ("annotations", set_rating(0, "c" * 82, 70, "70"), "row_invalid"),
        ("annotations", set_rating(0, "c" * 81, 70, "70"), "value_outside_its_scale"),
        ("annotations", set_rating(0, "", None, "Text", None, 3), "row_refused"),
        ("annotations", set_rating(0, "", None, "Text", None, None, 3), "row_refused"),
        ("annotations", set_rating(0, "", None, "Text", None, 3, 2), "row_refused"),
        ("annotations", set_rating(0, "", None, "Text", None, 3, 4, None, 5), "row_invalid"),
        ("annotations", set_value(True), "row_invalid"),
        ("annotations", set_value("70"), "row_invalid"),
        ("annotations", set_value(55_555), "typed_text_that_says_another_number"),
        ("annotations", set_field("participant", "p-nobody"), "row_invalid"),
        ("annotations", set_field("item", "no-item"), "row_invalid"),
        ("annotations", set_field("version", 7), "row_invalid"),
        ("annotations", set_field("status", "pilot"), "row_refused"),
        ("annotations", set_field("status", "best"), "row_invalid"),
        ("annotations", set_field("number", 9), "row_invalid"),
        ("annotations", set_field("order_shown", [0, 0, 1]), "order_that_is_none"),
        ("annotations", set_field("started_at", "yesterday"), "row_invalid"),
        ("annotations", set_field("started_at", "2026-11-21T12:00:00"), "row_invalid"),
        ("annotations", set_field("note", "a\x00b"), "row_invalid"),
        ("annotations", set_field("key", "no uuid"), "row_invalid"),
        ("annotations", set_field("ratings", 5), "row_invalid"),
        ("annotations", set_field("ratings_file", "x"), "row_invalid"),
        ("annotations", repeat_first, "row_refused"),
        ("annotations", take_same_place, "row_refused"),
        ("annotations", rate_twice, "row_refused"),
        ("annotations", rate_unknown_output, "row_invalid"),
        ("annotations", set_first_rating("abc"), "row_invalid"),
        ("annotations", set_first_rating([0.0, "charm"]), "row_invalid"),
        ("annotations", set_first_rating([True, "charm"]), "row_invalid"),
        ("annotations", set_first_rating([0]), "row_invalid"),
        ("annotations", set_field("participant", None), "row_invalid"),
        ("annotations", set_field("participant", ["p"]), "row_invalid"),
        ("annotations", rate_unknown_criterion, "criterion_that_is_not_asked"),
        ("annotations", lambda rows: rows.remove(rated(rows[::-1])), "rows_missing"),
        ("items", repeat_first, "row_refused"),
        ("items", lambda rows: rows[0].update(key="=1+1"), "row_invalid"),
        ("items", lambda rows: rows[0].update(batch="x"), "row_invalid"),
        ("items", lambda rows: rows[0].update(repeat_of="x"), "row_invalid"),
        ("items", lambda rows: rows[0].update(group=5), "row_invalid"),
        ("items", lambda rows: rows[0].update(inputs=[1]), "row_invalid"),
        ("items", lambda rows: rows[0].update(gold=[]), "row_invalid"),
        ("participants", repeat_first, "row_refused"),
        ("participants", lambda rows: rows[0].update(tries=-1), "row_invalid"),
        ("participants", drop("cursor"), "row_invalid"),
        ("exclusions", lambda rows: rows[0].update(annotation="x"), "row_invalid"),
        ("exclusions", lambda rows: rows[0].update(participant=["x"]), "row_invalid"),
        ("exclusions", lambda rows: rows[0].update(reason="other"), "values_differ"),
    ],
)
def test_records_that_cannot_be_are_faults(bundle, file, edit, fault):
    report = examine(change(bundle, f"records/{file}.jsonl", edit))

    assert fault in report.codes, report.faults


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        ("study.json", lambda about: about | {"format": "other"}, "not_a_bundle"),
        ("study.json", lambda about: about["counts"].update(strays=1), "values_differ"),
        ("study.json", lambda about: about["study"].update(k=2), "item_without_its_k_places"),
        ("study.json", lambda about: about["study"].update(state="open"), "study_invalid"),
        ("study.json", lambda about: drop("title")([about["study"]]), "study_invalid"),
        ("study.json", set_study("checks_per_person", 501), "study_invalid"),
        ("study.json", set_study("has_notice", "yes"), "study_invalid"),
        ("study.json", set_study("withdrawable_until", "soon"), "study_invalid"),
        ("study.json", set_study("identity_days", 181), "study_invalid"),
        ("study.json", set_study("hides_results", 1), "study_invalid"),
        # which stand in files that programs read, such as the card of a dataset
        ("study.json", set_study("language", "en\nlicense: mit"), "study_invalid"),
        ("study.json", set_study("currency", "<b>"), "study_invalid"),
        ("versions/1.json", set_promise("has_notice", "yes"), "version_invalid"),
        ("versions/1.json", set_promise("withdrawable_until", "soon"), "version_invalid"),
        ("versions/1.json", set_promise("identity_days", "90"), "version_invalid"),
        ("versions/1.json", set_promise("identity_days", 10**12), "version_invalid"),
        ("versions/1.json", drop_settings, "version_invalid"),
        ("study.json", lambda about: about["study"].update(systems=["a", "a"]), "systems_invalid"),
        ("study.json", lambda about: drop("systems")([about["study"]]), "systems_invalid"),
        ("study.json", lambda about: [about], "not_a_bundle"),
        (
            "versions/1.json",
            lambda content: content | {"software": "9"},
            "version_that_was_changed",
        ),
        ("datapackage.json", lambda package: {"resources": []}, "package_invalid"),
    ],
)
def test_descriptions_that_cannot_be_are_told(bundle, name, edit, fault):
    report = examine(change(bundle, name, edit))

    assert fault in report.codes, report.faults


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        (
            "data/ratings.csv",
            lambda text: text.replace(",counted,", ",surplus,", 1),
            "values_differ",
        ),
        ("data/ratings.csv", lambda text: text.replace("value", "worth", 1), "columns"),
        ("data/ratings.csv", lambda text: text + "a,b\r\n", "row_width"),
        ("data/ratings.csv", lambda text: text + '"', "csv_invalid"),
        ("codebook.csv", lambda text: text.replace("ratings.csv,study", "x.csv,study"), "columns"),
    ],
)
def test_tables_that_say_something_else_are_told(bundle, name, edit, fault):
    report = examine(change(bundle, name, edit))

    assert fault in report.codes, report.faults


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        (
            "study.json",
            lambda about: about["study"].update(seed="other"),
            "values_differ",
        ),
        (
            "design/plan.csv",
            lambda text: move_place(text),
            "values_differ",
        ),
        (
            "design/plan.csv",
            lambda text: text[: text.rindex("\n", 0, -1) + 1],
            "item_without_its_k_places",
        ),
        ("design/plan.csv", lambda text: text.replace("item-001", "item-009"), "row_invalid"),
    ],
)
def test_plan_that_the_seed_does_not_give_is_told(name, edit, fault):
    report = examine(change(pack_plan(), name, edit))

    assert fault in report.codes, report.faults


def test_plan_that_the_seed_gives_is_sound():
    assert examine(pack_plan()).faults == []


@cache
def pack_plan() -> bytes:
    with transaction.atomic():
        plain = pack(launch(make_study(items=7, seed="a seed")))
        transaction.set_rollback(True)
    return plain


def first_criterion(about: dict[str, Any]) -> dict[str, Any]:
    return about["instrument"]["criteria"][0]


@pytest.fixture(params=["now", "of format 2"])
def any_bundle(request, bundle) -> bytes:
    """A bundle with its instrument in either shape."""
    return bundle if request.param == "now" else KEPT.read_bytes()


def test_kind_of_question_that_is_not_installed_is_named(any_bundle):
    edit = lambda about: first_criterion(about)["scale"].update(kind="theremin")  # noqa: E731

    (fault,) = examine(change(any_bundle, "study.json", edit)).faults

    assert fault.code == "scale_unknown"
    assert "theremin" in fault.message


@pytest.mark.one_case
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
    assert examine(change(any_bundle, "study.json", edit)).codes == ["instrument_invalid"]


def move_place(plan: str) -> str:
    """The first place of the queue comes last."""
    header, one, *others = plan.split("\r\n")
    item, number, _, *rest = one.split(",")
    return "\r\n".join([header, *others[:-1], ",".join([item, number, "999", *rest]), ""])


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a": NaN}', "1" * 5_000, "[]", '"\\ud800"', ""])
def test_records_that_are_no_objects_are_told(bundle, line):
    files = read_files(bundle)
    name = "records/participants.jsonl"
    files[name] = line.encode() + b"\n" + files[name]

    (fault,) = examine(zip_files(sum_up(files))).faults

    assert (fault.file, fault.line) == (name, 1)
    assert fault.code.startswith("json_")


def test_texts_that_no_database_stores_are_refused(bundle):
    def spoil(rows: Rows) -> None:
        rows[0]["extra"] = {"a": ["b", {"c\ud800": "d"}]}

    files = read_files(bundle)
    rows = [json.loads(line) for line in files["records/items.jsonl"].decode().split("\n")[:-1]]
    spoil(rows)
    files["records/items.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()

    (fault,) = examine(zip_files(sum_up(files))).faults
    assert (fault.code, fault.line) == ("row_invalid", 1)


# --- in a child process, and on the command line -------------------------------------------


def test_child_hands_back_what_it_finds(bundle):
    report = check(change(bundle, "records/annotations.jsonl", repeat_first))

    assert "row_refused" in report.codes
    assert report.about == {}


@pytest.mark.torture
@pytest.mark.parametrize("is_first", [False, pytest.param(True, marks=pytest.mark.torture)])
def test_check_asks_nothing_of_the_database_of_the_site_and_leaves_an_empty_one_alone(
    bundle, django_assert_num_queries, settings, tmp_path, is_first
):
    if is_first:
        settings.DATA_DIR = tmp_path  # all migrations run in the child
    else:
        move_data(settings, tmp_path)

    with django_assert_num_queries(0):
        report = check(bundle)

    assert report.faults == []
    (left,) = tmp_path.iterdir()
    assert left.name.startswith("empty-database-")


def test_child_knows_no_secret_of_the_site(monkeypatch, tmp_path):
    monkeypatch.setenv("EVALSITE_SECRET_KEY", "the key of the site")
    monkeypatch.setenv("EVALSITE_DATABASE", "postgresql://user:password@host/name")

    told = str(verify._build_environment(tmp_path))

    assert "the key of the site" not in told
    assert "password" not in told


def test_check_that_takes_too_long_is_stopped(bundle, monkeypatch):
    monkeypatch.setattr(verify, "_SECONDS", 0)
    monkeypatch.setattr(verify, "_BYTES_A_SECOND", 10**15)

    report = check(bundle)

    assert report.codes == ["check_failed"]


def test_command_says_what_it_checked_and_ends_with_1_where_something_is_wrong(
    bundle, checks_here, tmp_path, capsys
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
    assert "WRONG: Ratings are outside their scale" in told


def test_checksums_are_those_of_sha256sum(bundle):
    files = read_files(bundle)

    lines = files[CHECKSUMS].decode().splitlines()

    assert [line[66:] for line in lines] == sorted(set(files) - {CHECKSUMS})
    assert all(re.fullmatch("[0-9a-f]{64}", line[:64]) for line in lines)


# --- what any field may hold -----------------------------------------------------------------

ODD: tuple[Any, ...] = (None, True, -1, 1.5, 10**30, "x" * 300, "a\x00b", [], {}, [[1]], {"a": 1})


def list_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field and cell of a record, of lists the first."""
    if place:
        yield place
    if place[:1] in (("inputs",), ("extra",), ("gold",)):
        return
    if isinstance(value, list):
        value = dict(enumerate(value[:1]))
    for name, part in value.items() if isinstance(value, dict) else ():
        yield from list_places(part, (*place, name))


@pytest.mark.torture
@pytest.mark.parametrize("name", TABLES)
def test_odd_value_in_any_field_of_a_record_is_refused_with_its_line_or_fits(name):
    files = read_files(bundle_of("pairwise"))
    rows = [json.loads(line) for line in files.get(name, b"").decode().split("\n")[:-1]]
    # one row that has everything
    number = max(range(len(rows)), key=lambda place: len(json.dumps(rows[place])), default=0)
    tried = 0
    for place, value in product(list_places(rows[number]) if rows else (), ODD):
        odd = json.loads(json.dumps(rows))
        holder = odd[number]
        for part in place[:-1]:
            holder = holder[part]
        holder[place[-1]] = value
        text = "".join(json.dumps(row) + "\n" for row in odd)
        tried += 1
        fault = load_alone(sum_up(files | {name: text.encode()}))
        # where rows refer to another name, they have the line
        if fault is not None:
            assert fault.code in ("row_invalid", "row_refused"), (place, value)
            assert fault.line is not None
    assert tried or name == CHANGE_ROWS


def load_alone(files: Mapping[str, bytes]) -> Fault | None:
    """Load a bundle, and compare nothing; return what it is refused for."""
    try:
        with open_bundle(io.BytesIO(zip_files(files))) as opened, no_rows():
            load_exactly(opened, read_about(opened))
    except BadBundle as refused:
        return refused.fault
    finally:
        forget_versions()
    return None
