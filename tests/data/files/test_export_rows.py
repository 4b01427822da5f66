"""Exported rows: what each holds, and which rows are in a file."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from evalsite.data.files.rows import OutputIndex
from evalsite.data.files.selection import Selection
from evalsite.data.files.services import count_rows
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Rating, Revision
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item, Output, Study, StudyVersion
from tests.support.batches import import_rows, make_rows
from tests.support.exports import START, annotate, export, main_items, read, study

__all__ = ["study"]  # fixture


# --- what a row holds -------------------------------------------------------------------


def test_columns_stand_in_the_order_of_the_specification(study: Study) -> None:
    header = (
        "study,version,batch,item,group,cluster,kind,system,output_id,criterion,scale,"
        "scale_min,scale_max,better,value,label,value_typed,standard,log_ratio,system_1,system_2,"
        "preferred,outcome,shown_first,annotation,participant,person,set,place,place_in_group,"
        "place_in_set,trial,repeat_of,status,origin,aids,device,language,excluded,"
        "exclusion_reason,revisions,started_at,submitted_at,seconds,active_seconds,time_given,"
        "file_row,item_no,group_no"
    )

    assert export(study) == f"{header}\r\n".encode()


def test_rating_holds_all_that_analysis_needs(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    participant, (item, _) = make_participant(study), main_items(study)
    version = StudyVersion.objects.create(
        study=study, number=1, content={"options": {"standard_score": 200}}, sha256="x"
    )
    dealt = ItemSet.objects.create(study=study, participant=participant, number=1)
    annotation = annotate(
        study, participant, item, version=version, item_set=dealt, place=4, is_aided=True,
        device="wide-landscape", language="en-GB", active_ms=9_250,
    )  # fmt: skip
    Revision.objects.create(study=study, annotation=annotation, state={}, submitted_at=START)

    first, second, third = read(export(study))

    assert first == {
        "study": str(study.pk), "version": "1", "batch": str(item.batch_id), "item": "item-001",
        "group": "group-001", "cluster": "", "kind": "main", "system": "baseline",
        "output_id": "item-001#1", "criterion": "informativeness", "scale": "magnitude",
        "scale_min": "1", "scale_max": "999999", "better": "higher",
        "value": "50", "label": "", "value_typed": " 50",
        "standard": "200", "log_ratio": repr(math.log(0.25)), "system_1": "", "system_2": "",
        "preferred": "", "outcome": "", "shown_first": "", "annotation": str(annotation.key),
        "participant": participant.pseudonym, "person": "yes", "set": "1", "place": "2",
        "place_in_group": "1", "place_in_set": "4", "trial": "1", "repeat_of": "",
        "status": "counted", "origin": "own",
        "aids": "yes", "device": "wide-landscape", "language": "en-GB", "excluded": "no",
        "exclusion_reason": "", "revisions": "1", "started_at": "2026-11-21T12:30:00.000000Z",
        "submitted_at": "2026-11-21T12:30:12.500000Z", "seconds": "12.5",
        "active_seconds": "9.25", "time_given": "", "file_row": "",
        "item_no": "2", "group_no": "2",
    }  # fmt: skip
    assert [(row["system"], row["value"], row["place"]) for row in (second, third)] == [
        ("neural", "51", "3"),
        ("template", "52", "1"),
    ]


def test_standard_is_that_of_the_version_of_the_item_or_of_the_study(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    first, second = main_items(study)
    second.inputs |= {"standard_mr": "x", "standard_utterance": "y", "standard_score": "25"}
    second.save()
    for item in (first, second):
        annotate(study, make_participant(study), item)

    rows = read(export(study))

    assert [row["standard"] for row in rows[::3]] == ["100", "25"]
    assert float(rows[3]["log_ratio"]) == math.log(2)


def test_annotations_hold_reasons_problems_and_notes(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    one, two = main_items(study)
    annotate(study, make_participant(study), one, note='=1\r\n, said "she"')
    reported = {"status": "surplus", "outcome": "reported", "reason": "offensive"}
    annotate(study, make_participant(study), two, **reported)
    annotate(study, make_participant(study), two, outcome="ignored", reason="unsuitable")

    rows = read(export(study, "annotations"))

    assert [(row["outcome"], row["reason"], row["problem"]) for row in rows] == [
        ("rated", "", ""), ("reported", "", "offensive"), ("ignored", "unsuitable", ""),
    ]  # fmt: skip
    assert rows[0]["note"] == '=1\r\n, said "she"'
    assert rows[0]["order_shown"] == "3 1 2"
    assert rows[0]["ratings"] == "3"


def test_running_numbers_count_what_the_file_leaves_out(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    practice = Item.objects.practice().filter(study=study)[0]
    one, two = main_items(study)
    Item.objects.filter(pk__in=[one.pk, two.pk]).update(group="shared")
    participant = make_participant(study)
    annotate(study, participant, practice, status="control")
    annotate(study, participant, one, status="pilot")
    annotate(study, participant, two)
    annotate(study, make_participant(study), two)

    rows = read(export(study, "annotations"))

    assert [(row["kind"], row["trial"], row["place_in_group"]) for row in rows] == [
        ("practice", "1", "1"), ("main", "3", "2"), ("main", "1", "1"),
    ]  # fmt: skip


def test_ratings_of_a_criterion_that_the_protocol_dropped_are_still_exported(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    annotate(study, make_participant(study), main_items(study)[0])
    Rating.objects.filter(study=study).update(criterion="dropped")

    rows = read(export(study))

    keys = ("output_id", "criterion", "scale", "scale_min", "value", "label", "value_typed")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        (f"item-001#{number}", "dropped", "", "", str(49 + number), "", f" {49 + number}")
        for number in (1, 2, 3)
    ]
    simple = read(export(study, "ratings_simple"))
    assert [row["informativeness"] for row in simple] == ["", "", ""]


def test_preferences_speak_of_systems_and_never_of_sides(
    make_study: Callable[..., Any], make_participant: Callable[..., Any]
) -> None:
    study = make_study(items=0, protocol="pairwise")
    import_rows(study, make_rows(study.config, items=1))
    (item,) = main_items(study)
    second = item.outputs.get(position=1)  # type: ignore[attr-defined]
    for output in (second, None):
        annotation = annotate(study, make_participant(study), item, order_shown=[1, 0])
        annotation.ratings.all().delete()  # type: ignore[attr-defined]
        Rating.objects.create(
            study=study, annotation=annotation, criterion=study.config.criteria[0].key,
            output=output, value=int(output is not None),
        )  # fmt: skip

    rows = read(export(study))

    keys = ("system", "output_id", "place", "system_1", "system_2", "preferred", "outcome",
            "shown_first", "value", "label")  # fmt: skip
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("", "", "", "alpha", "beta", "beta", "2", "beta", "1", "preferred"),
        ("", "", "", "alpha", "beta", "", "tie", "beta", "0", "tie"),
    ]


# --- which rows ---------------------------------------------------------------------------


def test_pilots_are_left_out_unless_asked_for_and_surplus_stays_marked(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    one, two = main_items(study)
    annotate(study, make_participant(study), one)
    annotate(study, make_participant(study), one, status="surplus")
    annotate(study, make_participant(study, is_pilot=True), two, status="pilot")

    assert [row["status"] for row in read(export(study))[::3]] == ["counted", "surplus"]
    with_pilot = read(export(study, with_pilot=True))
    assert [row["status"] for row in with_pilot[::3]] == ["counted", "surplus", "pilot"]
    fixed = {"items": Output.objects.count(), "metrics": 0, "judge_labels": 0}
    assert count_rows(study) == fixed | {
        "ratings_simple": 3, "comments": 0, "ratings": 6, "annotations": 2, "participants": 2,
    }  # fmt: skip
    assert count_rows(study, Selection(with_pilot=True)) == fixed | {
        "ratings_simple": 3, "comments": 0, "ratings": 9, "annotations": 3, "participants": 3,
    }  # fmt: skip


def test_excluded_rows_stay_marked_with_their_reasons(
    study: Study, make_participant: Callable[..., Any], researcher: Any
) -> None:
    one, two = make_participant(study), make_participant(study)
    for participant in (one, two):
        annotate(study, participant, main_items(study)[0])
    decided = {"study": study, "decided_by": researcher}
    Exclusion.objects.create(participant=one, reason="too fast", **decided)
    Exclusion.objects.create(annotation=one.annotations.get(), reason="=1", **decided)
    Exclusion.objects.create(participant=two, reason="gone", revoked_at=START, **decided)

    rows = read(export(study))

    assert [(row["excluded"], row["exclusion_reason"]) for row in rows[::3]] == [
        ("yes", "too fast; =1"),
        ("no", ""),
    ]


def test_rows_of_another_study_never_get_in(
    study: Study, make_study: Callable[..., Any], make_participant: Callable[..., Any]
) -> None:
    other = make_study(items=1)
    annotate(other, make_participant(other), main_items(other)[0])

    assert read(export(study)) == []


def test_each_output_is_found_where_others_are_missing_before_it(study: Study) -> None:
    outputs = Output.objects.filter(item__study=study).order_by("pk")
    Output.objects.filter(pk__in=[one.pk for one in outputs[1::3]]).delete()
    names = dict(study.systems.values_list("pk", "name"))

    index = OutputIndex(study, {None: "", **names})

    assert [index.find(one.pk) for one in outputs.all()] == [
        (one.position + 1, names.get(one.system_id, "")) for one in outputs.all()
    ]


@pytest.mark.both_databases
def test_outputs_stand_by_their_place_in_the_item_not_by_their_keys(
    study: Study, make_participant: Callable[..., Any], make_study: Callable[..., Any]
) -> None:
    first, second, _ = Output.objects.filter(item=main_items(study)[0]).order_by("position")
    make_study(items=1)  # keys of another study lie between
    moved = Output.objects.create(
        study=study, item=first.item, system=None, position=9, text="a text"
    )
    for one, position in ((first, 7), (second, 8), (moved, 0), (first, 1), (second, 3)):
        Output.objects.filter(pk=one.pk).update(position=position)
    annotate(study, make_participant(study), first.item, order_shown=[2, 0, 1, 3])

    rows = read(export(study))

    assert [(row["output_id"], row["system"], row["value"]) for row in rows] == [
        ("item-001#1", "", "50"),
        ("item-001#2", "baseline", "51"),
        ("item-001#3", "template", "52"),
        ("item-001#4", "neural", "53"),
    ]
