"""Ratings collected elsewhere: what becomes of a good file, and of its participants and places."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.core.audit.models import AuditEntry
from evalsite.data.fsck import find_breaches
from evalsite.data.importing import Source
from evalsite.data.ratings.store import import_ratings, undo_ratings
from evalsite.decisions.models import Exclusion
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating, RatingsFile, Slot, order_of
from evalsite.instruments.installed import installed_protocols
from evalsite.people.models import ItemSet, Participant, ParticipantIdentity, ParticipantLink
from evalsite.studies.models import Batch, Study
from tests.support.batches import import_rows, make_rows
from tests.support.exports import export, read
from tests.support.factories import answer_item, launch, make_annotator
from tests.support.imported import check, load, rows_for, write_csv
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db


def make_source(study: Study, sha256: str) -> Source:
    return Source(study=study, file_name="b.csv", sha256=sha256, options={"has_persons": True})


PROTOCOLS = each_protocol("pairwise", "rrgen")
# marks come back by a file of their own: test_marks_import.py
MARKING = [key for key, config in installed_protocols().items() if config.marking]


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Study:
    return make_study(items=2, k=2)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ratings_of_every_protocol_come_out_as_they_went_in(
    make_study: Callable[..., Any], protocol: str
) -> None:
    study = make_study(items=0, protocol=protocol)
    import_rows(study, make_rows(study.config, items=3))
    rows = rows_for(study, ["w1", "w2"])

    load(study, rows)

    given = read(export(study))
    words = {"ACCEPT": "1", "REJECT": "0"}
    assert len(given) == len(rows)
    for row, out in zip(rows, given, strict=True):
        assert (out["item"], out["criterion"]) == (row["item"], row["criterion"])
        if "preferred" in row:
            assert (out["preferred"] or out["outcome"]) == row["preferred"]
        else:
            value = words.get(row["value"], row["value"])
            assert (out["system"], out["value"]) == (row["system"], value)
            assert out["place"] == row["place"]
    assert find_breaches(study) == []


def test_annotations_are_marked_as_imported_and_keep_what_the_file_says(study: Study) -> None:
    rows = [
        row | {"submitted_at": "11/6/2017 13:46:55", "note": "hm, “so so”"}
        for row in rows_for(study, ["w1"])
    ]

    file = load(study, rows)

    annotation = Annotation.objects.filter(study=study).earliest("id")
    assert (annotation.origin, annotation.status, annotation.ratings_file) == (
        "imported",
        "counted",
        file,
    )
    assert (annotation.time_given, annotation.note) == ("11/6/2017 13:46:55", "hm, “so so”")
    assert (annotation.item_set, annotation.version, annotation.order_shown) == (
        None,
        None,
        [0, 1, 2],
    )
    out = read(export(study))[0]
    assert (out["started_at"], out["submitted_at"], out["seconds"]) == ("", "", "")
    (person,) = read(export(study, "participants"))
    assert (person["arrived_at"], person["origin"], person["answers"]) == ("", "imported", "2")
    entry = AuditEntry.objects.get(action="ratings imported")
    assert (entry.detail["counted"], entry.detail["participants"]) == (2, 1)
    assert "w1" not in str(entry.detail)


def test_rows_may_stand_in_any_order_and_keep_it(study: Study) -> None:
    rows = rows_for(study, ["w1", "w2"])
    turned = [*rows[::2], *rows[1::2]]

    load(study, turned)

    out = sorted(read(export(study)), key=lambda row: int(row["file_row"]))
    names = ("item", "system", "value")
    assert [[row[name] for name in names] for row in out] == [
        [row[name] for name in names] for row in turned
    ]
    first = list(dict.fromkeys((row["participant"], row["item"]) for row in turned))
    people = dict(ParticipantIdentity.objects.values_list("participant", "outside_id"))
    annotations = Annotation.objects.order_by("id").values_list("participant", "item__key")
    assert [(people[who], item) for who, item in annotations] == first


def test_participants_stand_under_pseudonyms_and_get_no_pages(study: Study) -> None:
    load(study, rows_for(study, ["jane@example.org"]))

    participant = Participant.objects.get(study=study)
    assert (participant.origin, participant.is_person) == ("imported", True)
    assert participant.pseudonym.startswith("p-")
    assert ParticipantIdentity.objects.get().outside_id == "jane@example.org"
    assert not ParticipantLink.objects.exists()
    assert not ItemSet.objects.exists()
    for file in ("ratings", "annotations", "participants"):
        assert b"jane" not in export(study, file)


def test_a_later_file_knows_its_participants_again(study: Study) -> None:
    first, second = study.items.main()
    load(study, rows_for(study, ["w1", "w2"], [first]))

    load(study, rows_for(study, ["w2", "w3"], [second]))

    assert Participant.objects.filter(study=study).count() == 3
    assert Annotation.objects.filter(participant__identities__outside_id="w2").count() == 2


def test_a_name_is_either_a_person_or_none(study: Study) -> None:
    first, second = study.items.main()
    load(study, rows_for(study, ["w1"], [first]), has_persons=False)

    with pytest.raises(ValidationError, match="“w1” is in this study already, imported as no"):
        load(study, rows_for(study, ["w1"], [second]), has_persons=True)

    assert RatingsFile.objects.count() == 1
    assert {row["person"] for row in read(export(study))} == {"no"}


def test_the_same_file_again_changes_nothing(study: Study) -> None:
    rows = rows_for(study)
    text = write_csv(rows)
    checked = check(study, text)
    first = load(study, text)

    # a second click: the file was checked before the first one was done
    source = make_source(study, first.sha256)
    again = import_ratings(checked=checked, source=source, by=None)

    assert again == first
    assert Annotation.objects.count() == 2


@pytest.mark.both_databases
def test_two_files_checked_at_once_are_not_both_imported(study: Study) -> None:
    rows = rows_for(study)
    checked = check(study, [row | {"note": "later"} for row in rows])
    load(study, rows)
    study.refresh_from_db()

    with pytest.raises(ValidationError, match="has changed since"):
        import_ratings(checked=checked, source=make_source(study, "b" * 64), by=None)

    assert RatingsFile.objects.count() == 1
    assert Annotation.objects.count() == 2


# --- places ---------------------------------------------------------------------------------


def test_answers_beyond_k_are_surplus_in_the_order_of_the_file(study: Study) -> None:
    load(study, rows_for(study, ["w1", "w2", "w3"]))

    status = list(Annotation.objects.order_by("id").values_list("status", flat=True))
    assert status == ["counted"] * 4 + ["surplus"] * 2
    assert Slot.objects.done().count() == Slot.objects.count() == 4
    assert find_breaches(study) == []


@pytest.mark.both_databases
def test_an_answer_takes_the_place_that_shows_what_was_shown(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0, protocol="pairwise", k=2)
    import_rows(study, make_rows(study.config, items=1))
    item = study.items.main().get()
    rows = [
        row | {"shown_first": first}
        for person, first in (("w1", "beta"), ("w2", "alpha"))
        for row in rows_for(study, [person])
    ]

    load(study, rows)

    for annotation in Annotation.objects.select_related("slot"):
        shown = order_of(study.seed, item, 2, annotation.slot.arrangement)
        assert annotation.order_shown == shown
    assert [row["shown_first"] for row in read(export(study))] == ["beta"] * 2 + ["alpha"] * 2


def test_a_live_study_fills_free_places_and_leaves_people_theirs(study: Study) -> None:
    launch(study)
    me = make_annotator(study)
    mine = claim_set(me)

    load(study, rows_for(study, ["w1", "w2"]))

    status = list(Annotation.objects.order_by("id").values_list("status", flat=True))
    assert sorted(status) == ["counted"] * 2 + ["surplus"] * 2
    for item in study.items.main():
        answer_item(me, item, item_set=mine)
    assert Annotation.objects.counted().filter(participant=me).count() == 2
    assert find_breaches(study) == []


def test_incomplete_answers_are_kept_only_if_the_researcher_says_so(study: Study) -> None:
    rows = rows_for(study)[:-1]

    assert "did not rate all of item item-002" in str(check(study, rows).faults[0])
    checked = check(study, rows, keeps_incomplete=True)
    load(study, rows, keeps_incomplete=True)

    assert "Not everything was rated (1 found). First: line 5 (record 4)" in map(
        str, checked.remarks
    )
    assert Rating.objects.count() == 5
    assert find_breaches(study) == []


def test_times_that_differ_and_places_that_lack_are_told(study: Study) -> None:
    rows = [row | {"submitted_at": f"t{number}"} for number, row in enumerate(rows_for(study))]
    rows[0]["place"] = ""

    checked = check(study, rows)

    told = [str(one) for one in checked.remarks]
    assert any(
        "More than one time for an answer: the first is kept (4 found)" in one for one in told
    )
    assert any("Not every output has a place" in one for one in told)
    assert [answer.order_shown for answer in checked.answers] == [(), (0, 1, 2)]


# --- our own files --------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.both_databases
@pytest.mark.slow
@pytest.mark.parametrize("protocol", [each for each in PROTOCOLS if each not in MARKING])
def test_our_own_export_goes_into_another_study_with_the_same_batch(
    make_study: Callable[..., Any], protocol: str
) -> None:
    studies = [
        make_study(items=0, protocol=protocol, k=2, title=title) for title in ("One", "Other")
    ]
    for one in studies:
        import_rows(one, make_rows(one.config, items=4))
    first, other = studies
    Study.objects.filter(pk=first.pk).update(is_demo=True)
    launch(first)
    list(simulate_crowd(first, participants=4, seed="trip"))
    data = export(first).decode()

    load(other, data)

    def values(study: Study) -> list[tuple[str, ...]]:
        names = ("item", "system", "criterion", "value", "value_typed", "preferred", "outcome",
                 "shown_first", "place", "label")  # fmt: skip
        rows = [row for row in read(export(study)) if row["status"] == "counted"]
        return [tuple(row[name] for name in names) for row in rows if row["kind"] == "main"]

    assert values(first)
    assert values(other) == values(first)
    assert find_breaches(other) == []


def test_rows_that_belong_in_no_results_stay_out_and_are_counted(study: Study) -> None:
    rows = [row | {"kind": "main", "status": "counted"} for row in rows_for(study, ["w1", "w2"])]
    for row in rows[6:9]:
        row["status"] = "surplus"
    for row in rows[9:]:
        row["kind"] = "practice"

    checked = check(study, rows)

    assert len(checked.answers) == 2
    assert [(one.code, str(one)[:25]) for one in checked.remarks] == [
        ("rows_left_out", "3 rows of status surplus "),
        ("rows_left_out", "3 rows of kind practice w"),
    ]


def test_a_file_of_json_lines_goes_in_as_a_table_does(study: Study) -> None:
    lines = [json.dumps({**row, "value": int(row["value"])}) for row in rows_for(study)]

    load(study, "\n".join(lines))

    assert [row["value"] for row in read(export(study))] == [
        row["value"] for row in rows_for(study)
    ]


def test_simulated_and_excluded_rows_are_told_of(study: Study) -> None:
    rows = [
        row | {"origin": "simulated", "excluded": "yes", "person": "no"} for row in rows_for(study)
    ]

    assert [one.code for one in check(study, rows).remarks] == [
        "simulated", "excluded", "not_persons",
    ]  # fmt: skip


def test_an_id_that_stands_for_several_items_is_found_by_its_system(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0, protocol="fluency")
    rows = make_rows(study.config, items=1, outputs=2)
    import_rows(study, rows)
    header = "participant,item,system,criterion,value\n"
    given = "".join(
        f"w1,item-1,{system},{criterion},{value}\n"
        for system, value in (("beta", 2), ("alpha", 5))
        for criterion in ("fluency", "coherence")
    )

    load(study, header + given)

    out = [(row["item"], row["system"], row["value"]) for row in read(export(study))]
    assert out == [("item-1/2", "beta", "2")] * 2 + [("item-1/1", "alpha", "5")] * 2


# --- undo -----------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_an_undone_file_leaves_nothing_but_the_log(study: Study) -> None:
    before = export(study)
    file = load(study, rows_for(study, ["w1", "w2", "w3"]))

    undo_ratings(file=file, by=None)

    assert not Annotation.objects.exists()
    assert not Rating.objects.exists()
    assert not Participant.objects.filter(study=study).exists()
    assert not ParticipantIdentity.objects.exists()
    assert not Slot.objects.exists()
    assert not Batch.objects.filter(opened_at__isnull=False).exists()
    assert export(study) == before
    assert AuditEntry.objects.get(action="ratings undone").detail["answers"] == 6
    assert find_breaches(study) == []


def test_an_undone_file_can_be_imported_again(study: Study) -> None:
    rows = rows_for(study)
    undo_ratings(file=load(study, rows), by=None)

    load(study, rows)

    assert Annotation.objects.counted().count() == 2
    assert find_breaches(study) == []


def test_participants_of_another_file_survive_an_undo(study: Study) -> None:
    first, second = study.items.main()
    file = load(study, rows_for(study, ["w1", "w2"], [first]))
    load(study, rows_for(study, ["w2"], [second]))

    undo_ratings(file=file, by=None)

    assert [one.outside_id for one in ParticipantIdentity.objects.all()] == ["w2"]
    assert Annotation.objects.get().item == second
    assert Batch.objects.get(study=study).opened_at is not None
    assert find_breaches(study) == []


@pytest.mark.both_databases
def test_an_undo_in_a_live_study_gives_its_places_to_answers_that_wait(study: Study) -> None:
    launch(study)
    file = load(study, rows_for(study, ["w1", "w2"]))
    load(study, rows_for(study, ["w3"]))
    assert Annotation.objects.filter(status="surplus").count() == 2

    undo_ratings(file=file, by=None)

    assert Annotation.objects.counted().count() == 2
    assert Slot.objects.free().count() == 2
    assert find_breaches(study) == []


def test_exclusions_of_an_undone_file_go_with_it(study: Study) -> None:
    file = load(study, rows_for(study))
    Exclusion.objects.create(study=study, annotation=Annotation.objects.first(), reason="odd")
    Exclusion.objects.create(study=study, participant=Participant.objects.get(), reason="odd")

    undo_ratings(file=file, by=None)

    assert not Exclusion.objects.exists()
