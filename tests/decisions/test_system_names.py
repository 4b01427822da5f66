"""Another name for a system: who may give it, what can't be a name, and what stays as it was."""

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.plan_commitment import hash_plan
from evalsite.decisions.system_names import rename_system
from evalsite.fieldwork.item_changes import withdraw_item
from evalsite.handout.slots import count_strays
from evalsite.lib.clock import now
from evalsite.results.design.report import report_design
from evalsite.studies.models import Change, Membership, System
from tests.handout.test_changing_k import answer_all
from tests.support.exports import export, read
from tests.support.factories import make_study, make_user
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


def rename(study, name: str, *, before: str = "neural", by=None) -> System:
    system = System.objects.get(study=study, name=before)
    return rename_system(study, system, name, by or make_user())


def test_a_draft_takes_another_name_and_records_it_in_the_log_only():
    study = make_study()

    assert rename(study, "  GPT-4  ").name == "GPT-4"

    assert System.objects.get(study=study, name="GPT-4").outputs.count() == 2
    assert not Change.objects.exists()
    entry = AuditEntry.objects.get(action="system renamed")
    assert entry.detail == {"before": "neural", "after": "GPT-4"}


def test_after_the_launch_a_new_name_is_a_change_and_a_version():
    study = make_live()

    rename(study, "GPT-4")
    rename(study, "GPT-4o", before="GPT-4")

    names = [(change.before, change.after) for change in Change.objects.all()]
    assert names == [("neural", "GPT-4"), ("GPT-4", "GPT-4o")]
    study.refresh_from_db()
    assert study.version.number == 3
    assert study.version.content["renamed_systems"] == [["neural", "GPT-4o"]]


def test_the_places_are_drawn_by_the_names_at_the_launch():
    study = make_live(items=12, k=2)

    for before, name in (("baseline", "zeta"), ("neural", "alpha"), ("template", "omega")):
        rename(study, name, before=before)
    rename(study, "sigma", before="zeta")

    assert count_strays(study) == report_design(study).strays == 0


def test_the_line_of_the_plan_stays_that_of_the_names_at_its_moment():
    study = make_live()
    moment = now()
    before = hash_plan(study, number=1, content={}, at=moment)

    rename(study, "GPT-4")

    assert hash_plan(study, number=1, content={}, at=moment) == before


def test_the_plan_names_the_same_system():
    study = make_live()
    AnalysisPlan.objects.create(
        study=study,
        hypotheses=[
            {"criterion": "x", "system": "template", "relation": "better", "other": "neural"}
        ],
    )

    rename(study, "GPT-4")

    plan = AnalysisPlan.objects.get()
    assert plan.hypotheses[0]["other"] == "GPT-4"
    assert plan.hypotheses[0]["system"] == "template"


def test_the_same_name_changes_nothing():
    study = make_live()

    rename(study, "neural")

    assert not Change.objects.exists()
    assert study.versions.count() == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "system_invalid"),
        ("x" * 81, "system_invalid"),
        ("Tie", "system_invalid"),
        ("input", "system_invalid"),
        ("Reference", "system_invalid"),
        ("a\u200bb", "system_invalid"),
        ("TEMPLATE", "system_confusable"),
        ("base line", "system_confusable"),
    ],
)
def test_a_name_that_cant_be_told_from_another_or_from_a_word_of_results_is_refused(name, code):
    study = make_study()

    with pytest.raises(ValidationError) as refusal:
        rename(study, name)

    assert refusal.value.code == code
    assert System.objects.filter(study=study, name="neural").exists()


def test_a_name_may_have_80_characters():
    assert rename(make_study(), "x" * 80).name == "x" * 80


@pytest.mark.parametrize(("make", "may"), [(make_study, True), (make_live, False)])
def test_editors_rename_in_a_draft_and_owners_after_the_launch(make, may):
    study, editor = make(), make_user("edith")
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)

    if may:
        assert rename(study, "GPT-4", by=editor).name == "GPT-4"
    else:
        with pytest.raises(PermissionDenied):
            rename(study, "GPT-4", by=editor)


def test_files_have_the_new_name_and_withdrawn_answers_their_status():
    study = make_live(items=2, k=1)
    answer_all(study)
    rename(study, "GPT-4")
    withdraw_item(item=study.items.main().first(), reason="Cut off.", by=make_user())

    rows = read(export(study, "ratings"))

    assert {row["system"] for row in rows} == {"baseline", "GPT-4", "template"}
    assert {(row["item"], row["kind"], row["status"]) for row in rows} == {
        ("item-001", "withdrawn", "withdrawn"),
        ("item-002", "main", "counted"),
    }
