"""A draft gets another instrument: what fits stays, what doesn't is said before it goes."""

import csv
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse

from evalsite.builder import instrument_change
from evalsite.builder.first_items import read_draft
from evalsite.core.audit.models import AuditEntry
from evalsite.data.items.importer import import_file
from evalsite.decisions.models import AnalysisPlan, Note
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.services import list_defaults
from tests.support.factories import launch, make_participant, make_user
from tests.support.instruments import make_built_study, read_instrument

pytestmark = pytest.mark.django_db

SYSTEMS = ("alpha", "beta", "gamma")


def write_file(folder: Path, *, items: int = 2, systems: int = 2) -> Path:
    path = folder / "items.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "source", "reference", "system", "output"])
        for item in range(1, items + 1):
            for system in SYSTEMS[:systems]:
                rows.writerow([f"q{item}", f"Quelle {item}", f"Reference {item}", system,
                               f"{system} {item}"])  # fmt: skip
    return path


def make_draft(jane: Any, tmp_path: Path, key: str = "da_sqm", **size: int) -> Study:
    study = make_built_study(read_instrument(key), by=jane)
    import_file(study=study, path=write_file(tmp_path, **size), by=jane)
    return study


def change(staff, study: Study, value: str, **fields: Any):
    """Post the form of the page that is shown now, with this instrument."""
    address = reverse("admin:study-instrument", args=[study.pk])
    was = staff.get(address).context["was"]
    return staff.post(address, {"instrument": value, "was": was, **fields})


def list_items(study: Study) -> list[tuple[str, dict[str, str], list[tuple[str, str]]]]:
    items = Item.objects.filter(study=study).main().order_by("id")
    return [
        (
            item.key,
            item.inputs,
            [(output.system.name, output.text) for output in item.outputs.all()],
        )
        for item in items
    ]


@pytest.mark.both_databases
def test_items_of_one_output_become_pairs_and_come_apart_again(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    before = list_items(study)

    change(staff, study, "gallery:which_is_better", **{"gallery-which_is_better-added": "source"})

    pairs = list_items(Study.objects.get())
    assert [(key, outputs) for key, _inputs, outputs in pairs] == [
        ("q1", [("alpha", "alpha 1"), ("beta", "beta 1")]),
        ("q2", [("alpha", "alpha 2"), ("beta", "beta 2")]),
    ]
    assert [inputs for _key, inputs, _outputs in pairs] == [
        {"source": "Quelle 1"}, {"source": "Quelle 2"},
    ]  # fmt: skip
    change(staff, Study.objects.get(), "gallery:da_sqm", **{"gallery-da_sqm-comments": ""})
    assert list_items(Study.objects.get()) == before


@pytest.mark.both_databases
def test_three_systems_become_all_pairs(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path, items=1, systems=3)

    change(staff, study, "gallery:which_is_better")

    assert [(key, [name for name, _ in outputs]) for key, _, outputs in list_items(study)] == [
        ("q1/1-2", ["alpha", "beta"]), ("q1/1-3", ["alpha", "gamma"]),
        ("q1/2-3", ["beta", "gamma"]),
    ]  # fmt: skip
    assert read_draft(Study.objects.get()).sizes == {3: 1}


@pytest.mark.both_databases
def test_input_that_no_longer_fits_is_said_before_and_stays_with_the_items(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    address = reverse("admin:study-instrument", args=[study.pk])

    page = staff.get(address, {"instrument": "gallery:adequacy_fluency"})
    change(staff, study, "gallery:adequacy_fluency")

    pick = next(
        pick for pick in page.context["picks"] if pick["entry"].value == "gallery:adequacy_fluency"
    )
    assert pick["unused"] == ["source"]
    item = Item.objects.filter(study=study).main().first()
    assert item.inputs == {"reference": "Reference 1"}
    assert item.extra["source"] == "Quelle 1"
    # and is there for the instrument that shows it
    change(staff, Study.objects.get(), "gallery:da_sqm")
    assert Item.objects.filter(study=study).main().first().inputs == {"source": "Quelle 1"}


def test_typed_values_stay_and_defaults_follow_the_new_instrument(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    summary = list_defaults(study.config, is_built=True)["summary"]
    Study.objects.update(summary=summary, k=7, description="Typed by Jane.")

    change(staff, study, "gallery:which_is_better")

    changed = Study.objects.get()
    assert (changed.k, changed.description) == (7, "Typed by Jane.")
    assert (changed.set_size, changed.groups) == (15, "once")
    assert "side by side" in changed.summary
    assert [item.kind for item in changed.items.practice()] == ["practice"] * 2
    assert AuditEntry.objects.filter(action="instrument changed").count() == 1


def test_trial_answers_checks_and_notes_are_named_before_they_go(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    first = Item.objects.filter(study=study).main().first()
    Item.objects.create(
        study=study, batch=first.batch, key="g1", group="g1", kind="gold", shuffle_key=1,
        gold={"quality": "90..100"}, group_shuffle_key=1,
    )  # fmt: skip
    Note.objects.create(study=study, item=first, text="Odd.", author=jane)
    tester = make_participant(study, is_pilot=True)
    Annotation.objects.create(
        study=study, item=first, participant=tester, key=uuid4(), started_at=now(),
        submitted_at=now(), status=Annotation.Status.PILOT,
    )  # fmt: skip

    page = staff.get(reverse("admin:study-instrument", args=[study.pk]))
    losses = {
        pick["entry"].config.key: pick["losses"] for pick in page.context["picks"]
    }  # fmt: skip
    change(staff, study, "gallery:arena_preference")

    old = ["1 answer of people who tried the study.",
           "1 check with right answers to the old questions."]  # fmt: skip
    assert losses["adequacy_fluency"] == old
    assert losses["arena_preference"] == [*old, "1 note about single items."]
    assert losses["da_sqm"] == []
    assert not Annotation.objects.exists()
    assert not Item.objects.filter(kind="gold").exists()


def test_plan_of_questions_that_are_gone_is_named_before_it_goes(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    AnalysisPlan.objects.create(
        study=study, primary="quality", exclusion_rule="Too fast",
        margins=[{"criterion": "quality", "margin": 5}],
    )  # fmt: skip
    address = reverse("admin:study-instrument", args=[study.pk])

    page = staff.get(address, {"instrument": "gallery:adequacy_fluency"})
    change(staff, study, "gallery:adequacy_fluency")

    losses = [loss for pick in page.context["picks"] for loss in pick["losses"]]
    assert "What the plan says of quality." in losses
    plan = AnalysisPlan.objects.get()
    assert (plan.primary, plan.margins, plan.exclusion_rule) == ("", [], "Too fast")


def test_second_of_two_people_overwrites_nothing(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    address = reverse("admin:study-instrument", args=[study.pk])
    was = staff.get(address).context["was"]
    first = {"instrument": "gallery:which_is_better", "was": was}
    second = {"instrument": "gallery:adequacy_fluency", "was": was}

    changed = staff.post(address, first)
    again = staff.post(address, first)
    refused = staff.post(address, second)

    assert (changed.status_code, again.status_code, refused.status_code) == (302, 302, 409)
    assert Study.objects.get().protocol == "which_is_better"
    assert AuditEntry.objects.filter(action="instrument changed").count() == 1


def test_pair_is_refused_with_its_reason_where_items_have_one_output(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path, systems=1)
    address = reverse("admin:study-instrument", args=[study.pk])

    before = staff.get(address, {"instrument": "gallery:which_is_better"})
    refused = change(staff, study, "gallery:which_is_better")

    assert "have 1 output" in before.context["problem"]
    assert refused.status_code == 422
    assert Study.objects.get().protocol == "da_sqm"


@pytest.mark.parametrize("key", ["which_is_better", "adequacy_fluency"])
def test_more_items_than_a_page_can_wait_for_stay_as_they_are(
    staff, jane, tmp_path, monkeypatch, key
):
    monkeypatch.setattr(instrument_change, "MOST_CHANGED", 3)
    study = make_draft(jane, tmp_path)
    before = list_items(study)

    refused = change(staff, study, f"gallery:{key}")

    assert refused.status_code == 422
    assert refused.context["form"].non_field_errors().as_data()[0].code == "too_many"
    assert (Study.objects.get().protocol, list_items(study)) == ("da_sqm", before)


def test_instrument_is_frozen_at_launch(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    address = reverse("admin:study-instrument", args=[study.pk])
    was = staff.get(address).context["was"]
    launch(study)

    staff.post(address, {"instrument": "gallery:which_is_better", "was": was})

    assert Study.objects.get().protocol == "da_sqm"


def test_viewer_may_not_change_it_and_others_do_not_see_the_study(client, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    address = reverse("admin:study-instrument", args=[study.pk])
    client.force_login(make_user("sam"))

    assert client.get(address).status_code == 404
    study.memberships.create(user=make_user("una"), role="viewer")
    client.force_login(study.memberships.get(user__username="una").user)
    assert client.get(address).status_code == 403


def test_as_many_queries_for_two_items_as_for_fifty(
    staff, jane, tmp_path, django_assert_max_num_queries
):
    study = make_draft(jane, tmp_path, items=50)
    address = reverse("admin:study-instrument", args=[study.pk])
    staff.get(address)

    with django_assert_max_num_queries(45):
        staff.get(address)


def test_instrument_of_the_study_is_marked_and_chosen_at_first(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)

    page = staff.get(reverse("admin:study-instrument", args=[study.pk]))

    marked = [pick["entry"].value for pick in page.context["picks"] if pick["is_current"]]
    assert marked == [page.context["chosen"]] == ["gallery:da_sqm"]


def test_draft_without_items_may_have_any_instrument(staff, jane):
    study = make_built_study(read_instrument("da_sqm"), by=jane)
    address = reverse("admin:study-instrument", args=[study.pk])

    assert staff.get(address).status_code == 200
    change(staff, study, "protocol:pairwise")

    changed = Study.objects.get()
    assert (changed.protocol, changed.instrument) == ("pairwise", None)
    assert not Output.objects.filter(item__kind="main").exists()


def test_words_of_a_page_are_those_of_the_new_instrument(staff, jane, tmp_path):
    study = make_draft(jane, tmp_path)
    study.refresh_from_db()
    # two words of the source and two of an output
    assert study.words_per_page == 4

    change(staff, study, "gallery:which_is_better", **{"gallery-which_is_better-added": ["source"]})

    study.refresh_from_db()
    assert study.words_per_page == 6
