"""ratings_simple.csv: its columns and rows, and joining it with the other files by default."""

import io
import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas
import pytest
from django.test import Client
from django.urls import reverse

from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.files.file_counts import store_counts
from evalsite.data.files.misread_ids import list_misread
from evalsite.data.files.services import Choice, count_file, name_file
from evalsite.data.items.importer import undo_batch
from evalsite.decisions.models import Exclusion
from evalsite.fieldwork.made_checks import delete_check
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import change, check, pack
from tests.support.exports import START, annotate, export, main_items, read, study
from tests.support.factories import make_user
from tests.support.imported import load, rows_for
from tests.support.instruments import make_built_study, read_instrument

__all__ = ["study"]  # fixture

# what pandas, R or a spreadsheet takes for something else
MISREAD = (
    "007", "1.0", "1e5", "0x1A", "-1", "NA", "null", "NaN", "None", "n/a", "TRUE", "F", "inf",
    "1-2", "26/2", "Mar-1", "SEPT2", "=1+1", "1:30", "@a",
)  # fmt: skip
NUMBERED = ("items", "ratings", "annotations", "ratings_simple")
# what is in two files by the same name, and the number alone
JOINED = """
a <- commandArgs(TRUE)
simple <- read.csv(a[2])
stopifnot(is.integer(simple$item_no), is.integer(simple$group_no))
for (path in a[-(1:2)]) {
  other <- unique(read.csv(path)[c(a[1], "group_no")])
  joined <- merge(simple, other, by = a[1])
  stopifnot(nrow(joined) == nrow(simple), all(joined$group_no.x == joined$group_no.y))
}
cat(nrow(simple))
"""


def join_in_r(column: str, paths: list[Path]) -> int:
    """Join ratings_simple, the last of these, with each other file; return its number of rows."""
    words = ["Rscript", "-e", JOINED, column, paths[-1], *paths[:-1]]
    return int(subprocess.run(words, check=True, timeout=60, capture_output=True).stdout)


def make_rated(make_study: Callable[..., Any], config: Instrument) -> Study:
    """A study whose ids and groups are all misread, with a second batch of ordinary ones."""
    study: Study = make_study(items=0, protocol=config.key)
    rows = make_rows(config, items=4)
    import_rows(study, [row for row in rows if row["item"] != "item-4"])
    for item, key in zip(main_items(study), ("007", "NA", "1e5"), strict=True):
        Item.objects.filter(pk=item.pk).update(key=key, group=f"0{key}")
    import_rows(study, [row for row in rows if row["item"] == "item-4"], sha256="2")
    load(study, rows_for(study, people=("w1", "w2")))
    return study


@pytest.mark.one_case
@pytest.mark.django_db
@pytest.mark.parametrize("config", installed_protocols().values(), ids=lambda config: config.key)
def test_every_row_joins_with_the_other_files_on_item_no_with_default_settings(
    make_study: Callable[..., Any], config: Instrument, tmp_path: Path
) -> None:
    study = make_rated(make_study, config)

    paths = [tmp_path / f"{name}.csv" for name in NUMBERED]
    for path in paths:
        path.write_bytes(export(study, path.stem))
    tables = {path.stem: pandas.read_csv(path) for path in paths}

    simple = tables.pop("ratings_simple")
    assert len(simple) == count_file(study, Choice(file="ratings_simple")) > 0
    for name, table in tables.items():
        assert str(table["item_no"].dtype) == str(simple["item_no"].dtype) == "int64", name
        items = table[["item_no", "group_no", "item"]].drop_duplicates()
        joined = simple.merge(items, on="item_no", validate="many_to_one")
        assert len(joined) == len(simple), name
        assert (joined["group_no_x"] == joined["group_no_y"]).all(), name
    if "system" in simple:
        outputs = tables["items"][["item_no", "system", "output"]]
        assert len(simple.merge(outputs, on=["item_no", "system"])) == len(simple)
    if shutil.which("Rscript"):
        assert join_in_r("item_no", paths) == len(simple)


@pytest.mark.django_db
@pytest.mark.parametrize("protocol", ["magnitude", "pairwise"])
def test_every_row_joins_on_item_too_where_no_id_would_be_misread(
    make_study: Callable[..., Any], protocol: str, tmp_path: Path
) -> None:
    study = make_study(items=0, protocol=protocol)
    import_rows(study, make_rows(study.config, items=4))
    load(study, rows_for(study, people=("w1", "w2")))
    assert list_misread(study) == []

    paths = [tmp_path / f"{name}.csv" for name in NUMBERED]
    for path in paths:
        path.write_bytes(export(study, path.stem))
    *tables, simple = (pandas.read_csv(path) for path in paths)

    assert len(simple) == count_file(study, Choice(file="ratings_simple")) > 0
    for table in tables:
        items = table[["item", "group", "group_no"]].drop_duplicates()
        joined = simple.merge(items, on=["item", "group"], validate="many_to_one")
        assert len(joined) == len(simple)
        assert (joined["group_no_x"] == joined["group_no_y"]).all()
    if shutil.which("Rscript"):
        assert join_in_r("item", paths) == len(simple)


@pytest.mark.django_db
def test_numbers_of_items_are_the_same_in_later_exports_and_after_more_batches(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0)
    rows = make_rows(study.config, items=4)
    import_rows(study, [{**row, "group": "g1"} for row in rows if row["item"] == "item-3"])
    first = {row["item"]: (row["item_no"], row["group_no"]) for row in read(export(study, "items"))}

    import_rows(
        study,
        [
            {**row, "group": "g1" if row["item"] == "item-1" else "a"}
            for row in rows
            if row["item"] != "item-3"
        ],
        sha256="2",
    )

    later = {row["item"]: (row["item_no"], row["group_no"]) for row in read(export(study, "items"))}
    assert first.items() <= later.items()
    assert len({number for number, _ in later.values()}) == len(later)
    # groups go by name, whichever batch their items came in
    assert later["item-1"][1] == later["item-3"][1] == first["item-3"][1]
    assert later["item-2"][1] == later["item-4"][1] != later["item-1"][1]


def number_all(study: Study) -> dict[str, str]:
    return {row["item"]: row["item_no"] for row in read(export(study, "items"))}


@pytest.mark.django_db
def test_items_keep_their_numbers_when_an_earlier_batch_is_taken_back(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0)
    by = make_user()
    rows = make_rows(study.config, items=4)
    batches = [
        import_rows(study, [row for row in rows if row["item"] == f"item-{n}"], sha256=str(n))
        for n in (1, 2, 3)
    ]
    before = number_all(study)

    undo_batch(batch=batches[1], by=by)
    import_rows(study, [row for row in rows if row["item"] == "item-4"], sha256="4")

    after = number_all(study)
    assert before.keys() - after.keys() == {"item-2"}
    assert {item: after[item] for item in before.keys() & after.keys()} == {
        item: number for item, number in before.items() if item != "item-2"
    }
    assert after["item-4"] not in before.values()
    undo_batch(batch=batches[0], by=by)
    assert number_all(study) == {item: number for item, number in after.items() if item != "item-1"}


@pytest.mark.django_db
def test_items_keep_their_numbers_when_a_check_is_deleted(make_study: Callable[..., Any]) -> None:
    study = make_study(items=0)
    import_rows(study, make_rows(study.config, items=3))
    before = number_all(study)

    delete_check(study=study, item=study.items.get(key="item-2"), by=make_user())

    before.pop("item-2")
    assert number_all(study) == before


@pytest.mark.django_db
def test_the_last_batch_taken_back_leaves_no_gap(make_study: Callable[..., Any]) -> None:
    study = make_study(items=0)
    rows = make_rows(study.config, items=2)
    batch = import_rows(study, rows)
    before = number_all(study)

    undo_batch(batch=batch, by=make_user())
    import_rows(study, rows)

    assert number_all(study) == before


@pytest.mark.django_db
@pytest.mark.usefixtures("checks_here")
def test_numbers_with_gaps_come_back_from_a_bundle(make_study: Callable[..., Any]) -> None:
    study = make_study(items=0)
    rows = make_rows(study.config, items=2)
    first = import_rows(study, rows[:3], sha256="1")
    import_rows(study, rows[3:], sha256="2")
    undo_batch(batch=first, by=make_user())
    bundle = pack(study)

    copy = restore_bundle(
        file=io.BytesIO(bundle), owner=make_user("new"), by="a test", is_copy=True
    ).study

    assert check(bundle).faults == []
    assert number_all(copy) == number_all(study) == {"practice-1": "1", "item-2": "3"}
    for odd in ([[1]], [[2, 1]], [[1, 2], [3, 4]], [["1", 2]], [[0, 2]], [[1, 2**31]]):
        changed = change(bundle, "study.json", lambda about, odd=odd: about | {
            "study": about["study"] | {"unused_numbers": odd}
        })  # fmt: skip
        assert check(changed).codes == ["study_invalid"], odd


@pytest.mark.django_db
@pytest.mark.parametrize("key", MISREAD)
def test_ids_that_would_be_misread_stay_as_they_are_and_are_named(
    staff_client: Client, study: Study, make_participant: Callable[..., Any], key: str
) -> None:
    first, second = main_items(study)
    Item.objects.filter(pk=first.pk).update(key=key)
    for item in (first, second):
        annotate(study, make_participant(study), item)

    rows = read(export(study, "ratings_simple"))

    assert {row["item"] for row in rows} == {key, second.key}
    assert list_misread(study) == [key]
    store_counts(study)
    page = staff_client.get(reverse("admin:study-export", args=[study.pk])).context
    assert f"“{key}”" in page["misread"]
    codebook = read(staff_client.get(reverse("admin:export-codebook-csv", args=[study.pk])).content)
    meanings = {row["file"]: row["meaning"] for row in codebook if row["column"] == "item_no"}
    assert meanings.keys() == {f"{name}.csv" for name in NUMBERED}
    assert all(f"“{key}”" in meaning for meaning in meanings.values())


@pytest.mark.django_db
def test_ids_that_every_reader_takes_for_texts_are_not_named(study: Study) -> None:
    for key in ("item-1", "Nancy", "trueskill", "marvin", "I1", "é2", "decoder-2x", "infinite"):
        Item.objects.filter(pk=main_items(study)[0].pk).update(key=key)

        assert list_misread(study) == []


@pytest.mark.django_db
def test_whole_numbers_are_misread_only_beside_texts(study: Study) -> None:
    first, second = main_items(study)
    Item.objects.filter(pk=first.pk).update(key="1")
    assert list_misread(study) == ["1"]

    Item.objects.filter(pk=second.pk).update(key="10")

    assert list_misread(study) == []


@pytest.mark.django_db
def test_rows_are_the_counted_main_ratings_with_excluded_ones_marked(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    item = main_items(study)[0]
    Item.objects.filter(pk=item.pk).update(
        key="26/2", extra={"item": "26", "tags": "long; rare"}, cluster="c"
    )
    kept, out, odd = (make_participant(study) for _ in range(3))
    annotate(study, kept, item)
    annotate(study, out, item)
    excluded = annotate(study, odd, item)
    annotate(study, make_participant(study), item, status="surplus")
    annotate(study, make_participant(study, is_pilot=True), item, status="pilot")
    by = {"study": study, "decided_by": make_user(), "reason": "too fast"}
    Exclusion.objects.create(participant=out, **by)
    Exclusion.objects.create(annotation=excluded, **by)

    rows = read(export(study, "ratings_simple", with_pilot=True, excluded="only"))

    number = next(row["item_no"] for row in read(export(study, "items")) if row["item"] == "26/2")
    assert rows == [
        {
            "item_no": number, "group_no": number, "item": "26/2", "group": item.group,
            "source_id": "26", "cluster": "c", "system": system,
            "participant": who.pseudonym, "informativeness": value, "position": "",
            "seconds": "12.5", "tags": "long; rare", "excluded": "no" if who is kept else "yes",
        }
        for who in (kept, out, odd)
        for system, value in (("baseline", "50"), ("neural", "51"), ("template", "52"))
    ]  # fmt: skip
    assert list(rows[0]) == [
        "item_no", "group_no", "item", "group", "source_id", "cluster", "system", "participant",
        "informativeness", "position", "seconds", "tags", "excluded",
    ]  # fmt: skip


@pytest.mark.django_db
def test_tags_that_differ_by_output_are_those_of_the_output(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    item = main_items(study)[0]
    tags = {"baseline": "short", "neural": "", "template": "long"}
    Item.objects.filter(pk=item.pk).update(extra={"tags": tags})
    annotate(study, make_participant(study), item)

    rows = read(export(study, "ratings_simple"))

    assert {row["system"]: row["tags"] for row in rows} == tags


@pytest.mark.django_db
def test_preferences_have_a_row_for_each_comparison_with_the_system_preferred_or_tie(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0, protocol="pairwise")
    import_rows(study, make_rows(study.config, items=3))
    load(study, rows_for(study))
    who = Participant.objects.get(study=study).pseudonym

    rows = read(export(study, "ratings_simple"))

    keys = list(study.config.criterion_by_key)
    assert list(rows[0]) == [
        "item_no", "group_no", "item", "group", "source_id", "cluster", "system_1", "system_2",
        "participant", *keys, "first", "seconds", "tags", "excluded",
    ]  # fmt: skip
    for row, number, choice in zip(rows, (1, 2, 3), ("alpha", "beta", "tie"), strict=True):
        assert (row["item"], row["source_id"]) == (f"item-{number}", f"item-{number}")
        assert (row["system_1"], row["system_2"], row["participant"]) == ("alpha", "beta", who)
        assert {row[key] for key in keys} == {choice}


def make_pair(content: dict[str, Any]) -> tuple[Study, list[Item]]:
    """A study of this instrument with four items, each of the outputs of alpha and beta."""
    study = make_built_study(content)
    import_rows(study, make_rows(study.config, items=4))
    return study, main_items(study)


def answer(study: Study, who: Participant, item: Item, **fields: Any) -> Annotation:
    """An answer without ratings, saved after 33 seconds."""
    given = annotate(study, who, item, order_shown=[1, 0], **fields)
    Rating.objects.filter(annotation=given).delete()
    Annotation.objects.filter(pk=given.pk).update(submitted_at=START + timedelta(seconds=33))
    return given


def rate(given: Annotation, criterion: str, output: int | None, **fields: Any) -> None:
    """One row of an answer; `output`: its position in the item."""
    of = None if output is None else given.item.outputs.get(position=output)  # type: ignore[attr-defined]
    Rating.objects.create(
        study=given.study, annotation=given, criterion=criterion, output=of, **fields
    )


@pytest.mark.django_db
def test_graded_preferences_have_strength_reasons_comment_and_kind_of_tie(
    make_participant: Callable[..., Any],
) -> None:
    study, items = make_pair(read_instrument("arena_preference"))
    who = make_participant(study)
    first, second = (str(output.pk) for output in items[0].outputs.order_by("position"))  # type: ignore[attr-defined]
    strong, good, bad, weak = (answer(study, who, item) for item in items)
    why = {second: ["useful", "complete"], first: ["incorrect"]}
    rate(strong, "preference", 1, value=2, detail={"reasons": why})
    rate(strong, "preference", None, part="comment", text="=clear")
    rate(strong, "what_is_bad", None, text='It, "loops"')
    rate(good, "preference", None, value=0, detail={"both": "good"})
    rate(bad, "preference", None, value=0, detail={"both": "bad", "reasons": {"all": ["useful"]}})
    rate(weak, "preference", 0, value=1)

    rows = read(export(study, "ratings_simple"))

    own = ("preference", "preference_strength", "preference_reasons", "preference_comment")
    assert [tuple(row[name] for name in own) for row in rows] == [
        ("beta", "2", "alpha: incorrect; beta: useful; beta: complete", "=clear"),
        ("both_good", "", "", ""),
        ("both_bad", "", "useful", ""),
        ("alpha", "1", "", ""),
    ]
    assert [row["what_is_bad"] for row in rows] == ['It, "loops"', "", "", ""]
    assert {(row["first"], row["seconds"]) for row in rows} == {("beta", "33.0")}
    guarded = read(
        export(study, "ratings_simple", for_spreadsheets=True).removeprefix(b"\xef\xbb\xbf")
    )
    assert guarded[0]["preference_comment"] == "'=clear"


@pytest.mark.django_db
def test_what_does_not_apply_is_empty_with_yes_in_its_own_column(
    make_participant: Callable[..., Any],
) -> None:
    study, items = make_pair(read_instrument("conversation_turns"))
    who = make_participant(study)
    given, other = (answer(study, who, item) for item in items[:2])
    rate(given, "goal_reached", 0, value=None, detail={"na": True})
    rate(given, "overall", 0, value=3)
    rate(given, "turn_quality", 0, value=2, turn=2)
    rate(other, "goal_reached", 0, value=1)

    rows = read(export(study, "ratings_simple"))

    own = ("goal_reached", "goal_reached_na", "overall", "turn", "turn_quality")
    assert [tuple(row[name] for name in own) for row in rows] == [
        ("", "yes", "3", "", ""), ("", "", "", "2", "2"), ("1", "no", "", "", ""),
    ]  # fmt: skip


@pytest.mark.django_db
def test_criterion_named_like_another_column_gets_a_longer_name(
    make_participant: Callable[..., Any],
) -> None:
    content = read_instrument("arena_preference")
    content["criteria"][1]["key"] = "tags"
    study, items = make_pair(content)
    given = answer(study, make_participant(study), items[0])
    rate(given, "tags", None, text="None")
    rate(given, "preference", 0, value=1)

    (row,) = read(export(study, "ratings_simple"))

    assert (row["tags"], row["tags_rating"]) == ("", "None")


@pytest.mark.django_db
def test_file_is_offered_first_and_named_without_choices_that_it_ignores(
    staff_client: Client, study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])

    page = staff_client.get(reverse("admin:files-all", args=[study.pk])).content.decode()

    files = page.partition('id="data"')[2]
    assert files.index("ratings_simple") < files.index(">ratings<")
    choice = Choice(file="ratings_simple", status="surplus", kind="gold", origin="own")
    assert name_file(study, choice) == "restaurant-descriptions_ratings_simple_own.csv"
