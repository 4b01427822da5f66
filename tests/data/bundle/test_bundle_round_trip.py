"""From a study to a bundle and back: the same study, on an installation that never saw it."""

import io
import json
import re
from hashlib import sha256
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import models, transaction

from evalsite.core.jobs.services import run_job
from evalsite.data import fsck
from evalsite.data.bundle import format as layout
from evalsite.data.bundle.restore import Restored, restore_bundle
from evalsite.data.bundle.tables import LISTS, PLACES, PLAN_PARTS, SYSTEMS, TABLES
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.system_names import rename_system
from evalsite.decisions.top_up import top_up
from evalsite.fieldwork.item_changes import correct_output, withdraw_item
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import (
    TOP_UP_FROM,
    Slot,
)
from evalsite.handout.slots import make_slots
from evalsite.instruments.installed import installed_protocols
from evalsite.lib.clock import now
from evalsite.people.models import (
    ItemSet,
    Participant,
    ParticipantLink,
)
from evalsite.studies.models import Change, Item, Membership, Study, System
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import (
    CODE,
    FEEDBACK,
    NOTE,
    STAFF,
    WORKER,
    bundle_of,
    change,
    check,
    close,
    examine,
    make_full_study,
    pack,
    read_files,
    sum_up,
    zip_files,
)
from tests.support.exports import export
from tests.support.factories import (
    add_batch,
    answer_item,
    launch,
    make_annotator,
    make_study,
    make_user,
)
from tests.support.imported import load, rows_for
from tests.support.protocols import each_protocol
from tests.support.standing import report_item
from tests.support.tabs import make_live

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("checks_here")]

# one whose outputs are marked, one whose outputs are compared
PROTOCOLS = each_protocol("pairwise", "rrgen")
# what a bundle carries of each model
CARRIED: dict[type[models.Model], set[str]] = {
    Study: {*layout.STUDY_FIELDS},
    AnalysisPlan: {*layout.ANALYSIS_PLAN_FIELDS, *layout.FROZEN_FIELDS},
    **{
        rows.model: {*rows.fields.split(), *rows.refs, *rows.lists, rows.numbered} - {""}
        for table in (*TABLES.values(), *LISTS.values(), SYSTEMS, PLACES, *PLAN_PARTS.values())
        for rows in (table, *table.parts.values())
    },
}

# What a bundle never holds: identities, secrets of links, and what is computed again. Of every row
# also its id and its study, unless they are declared.
LEFT_OUT: dict[str, set[str]] = {
    "Study": {
        "version", "instrument", "revision", "pay_target",
        "pilot_generation", "is_pilot_link_on", "joins_paused_at", "is_from_one_place",
    },
    "StudyVersion": {"content", "created_by"},
    "System": {"is_stored"},
    "Batch": {"uploaded_by", "stored_at", "written_at"},
    "RatingsFile": {"uploaded_by"},
    "MetricFile": {"uploaded_by"},
    "JudgeFile": {"uploaded_by"},
    "Item": {"shuffle_key", "group_shuffle_key"},
    "Output": {"item"},
    "Slot": {"state", "participant", "lease_until", "kept_until"},
    "Change": {"by"},
    "Participant": {
        "receipt", "is_pilot", "is_expert", "stopped_for", "stop_message", "has_reported",
        "network", "network_at",
    },
    "Consent": {"participant"},
    "Answer": {"participant"},
    "ItemSet": {"participant", "reserved_until", "leased_until", "code"},
    "Annotation": {"awaits_consent", "visit"},
    "Rating": {"annotation"},
    "Revision": {"annotation"},
    "Exclusion": {"decided_by", "revoked_by", "planned_rule"},
    "AnalysisPlan": {"repeats", "changed_by"},
    "AnalysisPlanVersion": {"commitment", "frozen_by"},
    "PlanEvent": {"by"},
}  # fmt: skip


def restore(bundle: bytes, **said: Any) -> Restored:
    given = {"owner": make_user("new-owner"), "by": "a test", **said}
    return restore_bundle(file=io.BytesIO(bundle), **given)


@pytest.mark.one_case
@pytest.mark.both_databases
@pytest.mark.django_db
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_bundle_makes_the_same_study_on_a_fresh_installation(protocol):
    bundle = bundle_of(protocol)

    restored = restore(bundle)

    assert restored.remarks == []
    assert fsck.find_breaches(restored.study) == []
    assert pack(restored.study, has_free_text=True) == bundle


@pytest.mark.one_case
@pytest.mark.django_db
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_bundle_is_sound_and_holds_every_kind_of_row(protocol):
    report = check(bundle_of(protocol))

    assert report.faults == []
    counts = report.about["counts"]
    assert counts["annotations"].keys() == {"counted", "control", "withdrawn"}
    assert counts["revisions"] >= 2
    assert counts["exclusions"] == 3
    assert counts["metrics"] >= 2
    config = installed_protocols()[protocol]
    assert bool(counts["highlights"]) == (config.has_highlight or bool(config.marking))


@pytest.mark.django_db
def test_people_who_reported_an_item_are_known_for_it_in_a_copy():
    study = make_live(items=4, k=3)
    me, other = make_annotator(study), make_annotator(study)
    report_item(me, study.items.main()[0])
    answer_item(other, study.items.main()[0])

    restored = restore(pack(close(study)), is_copy=True)

    people = Participant.objects.filter(study=restored.study, has_reported=True)
    assert [person.pseudonym for person in people] == [me.pseudonym]


@pytest.mark.torture
@pytest.mark.django_db
def test_bundle_without_free_text_comes_back_as_it_was_packed():
    bundle = bundle_of("fluency", with_free_text=False)

    assert pack(restore(bundle).study) == bundle


@pytest.mark.torture
@pytest.mark.django_db
def test_other_columns_of_uploaded_files_come_back_as_they_were_packed():
    with transaction.atomic():
        study = restore(bundle_of("fluency")).study
        Item.objects.filter(study=study).update(extra={"temp": "0.7", "id": "1"})
        bundle = pack(study)
        transaction.set_rollback(True)

    assert pack(restore(bundle).study) == bundle


@pytest.mark.django_db
def test_study_that_ran_comes_back_closed_and_nobody_can_enter():
    bundle = change(bundle_of("fluency"), "study.json", run_on)

    study = restore(bundle).study

    assert (study.state, study.closed_at is not None) == ("closed", True)
    assert not ParticipantLink.objects.filter(study=study).exists()
    assert not Slot.objects.filter(study=study, state=Slot.State.LEASED).exists()


@pytest.mark.django_db
def test_what_was_changed_after_the_launch_comes_back():
    with transaction.atomic():
        bundle = pack(make_changed_study(), has_free_text=True)
        transaction.set_rollback(True)

    assert check(bundle).faults == []
    assert check(bundle).about["counts"]["strays"] == 0
    copy = restore(bundle).study
    assert pack(copy, has_free_text=True) == bundle
    changes = Change.objects.filter(study=copy)
    assert [(change.kind, change.before, change.after) for change in changes] == [
        ("renamed", "neural", "GPT-4"),
        ("withdrawn", "", ""),
    ]
    assert changes.get(kind="withdrawn").reason == "A text is cut off."
    assert copy.items.get(kind="withdrawn").annotations.get().status == "withdrawn"


@pytest.mark.django_db
def test_a_draft_from_a_bundle_has_no_withdrawn_item_and_the_names_of_today():
    bundle = pack(make_changed_study())

    draft = restore(bundle, has_data=False).study

    assert draft.items.main().count() == 3
    assert not draft.items.filter(kind="withdrawn").exists()
    assert not draft.changes.exists()
    assert draft.systems.filter(name="GPT-4").exists()


@pytest.mark.django_db
def test_a_withdrawal_without_its_record_is_named_when_the_bundle_is_checked():
    bundle = pack(make_changed_study())

    files = read_files(bundle)
    del files["records/changes.jsonl"]

    report = check(zip_files(sum_up(files)))

    assert "withdrawal_that_nobody_recorded" in [fault.code for fault in report.faults]


@pytest.mark.django_db
def test_a_correction_names_an_output_of_its_item():
    study = make_live(items=2, k=1)
    output = study.items.main().first().outputs.first()
    correct_output(output=output, text="Other words.", reason="A typo.", by=make_user())
    bundle = pack(close(study))

    def move(rows: list[dict[str, Any]]) -> None:
        rows[0]["position"] = 99

    assert examine(bundle).codes == []
    assert examine(change(bundle, "records/changes.jsonl", move)).codes == ["row_invalid"]


def make_changed_study() -> Study:
    """A closed study with an answered item that was withdrawn, and a system with another name."""
    study = make_live(items=4, k=1)
    item = study.items.main().first()
    answer_item(make_annotator(study), item)
    system = System.objects.get(study=study, name="neural")
    rename_system(study, system, "GPT-4", make_user())
    withdraw_item(item=item, reason="A text is cut off.", by=make_user())
    return close(study)


def run_on(about: dict[str, Any]) -> None:
    about["study"] |= {"state": "live", "closed_at": None}


@pytest.mark.one_case
@pytest.mark.django_db
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_draft_from_a_bundle_gets_the_same_plan_when_it_is_launched(protocol):
    bundle = bundle_of(protocol)

    study = restore(bundle, has_data=False).study
    before = (study.state, study.participants.count(), study.versions.count())
    launch(study)

    assert before == ("draft", 0, 0)
    plans = [read_files(one)["design/plan.csv"] for one in (bundle, pack(study))]
    assert plans[0] == plans[1]


@pytest.mark.django_db
def test_bundle_of_a_draft_holds_the_plan_that_its_launch_makes():
    study = make_study(items=7)

    before = pack(study, has_data=False)
    run_job(launch_study(study=study, by=make_user()))

    plan = read_files(pack(study))["design/plan.csv"]
    assert check(before).faults == []
    assert plan.count(b"\n") == 1 + 7 * study.k
    assert read_files(before)["design/plan.csv"] == plan


@pytest.mark.django_db
def test_bundle_without_data_holds_nothing_about_participants():
    study = restore(bundle_of("fluency")).study

    files = read_files(pack(study, has_data=False))

    assert not {name for name in files if "participants" in name or "annotations" in name}
    names = Participant.objects.filter(study=study).values_list("pseudonym", flat=True)
    assert not [name for name in names if name.encode() in b"".join(files.values())]


@pytest.mark.django_db
def test_bundle_names_nobody_and_opens_no_door():
    study = make_full_study("fluency")
    secrets = {STAFF, WORKER, CODE, NOTE, FEEDBACK}
    people = Participant.objects.filter(study=study)
    secrets |= {*people.values_list("receipt", flat=True)}
    secrets |= {*people.filter(is_pilot=True).values_list("pseudonym", flat=True)}
    links = ParticipantLink.objects.filter(study=study)
    secrets |= {*links.values_list("token_hash", flat=True)}
    finished = ItemSet.objects.filter(study=study).exclude(code="")
    secrets |= {*finished.values_list("code", flat=True)}

    files = read_files(pack(study))

    everything = b"".join(files.values())
    assert [secret for secret in secrets if secret.encode() in everything] == []
    assert len(secrets) > 12


@pytest.mark.django_db
def test_free_text_is_in_the_bundle_only_where_it_is_asked_for():
    files = read_files(bundle_of("fluency"))

    assert NOTE.encode() in files["data/annotations.csv"]
    assert FEEDBACK.encode() in files["records/participants.jsonl"]
    assert b"Read it before you share it" in files["README.md"]


@pytest.mark.parametrize("model", CARRIED, ids=lambda model: model.__name__)
def test_every_field_is_carried_or_left_out_on_purpose(model):
    # settings one by one, not the columns that store them
    names = {field.name for field in model._meta.fields}
    names -= {"texts", "settings"} if model is Study else set()
    left_out = LEFT_OUT.get(model.__name__, set())

    assert CARRIED[model] | left_out | {"id", "study"} == names | {"study"}
    assert not CARRIED[model] & left_out


@pytest.mark.django_db
def test_importer_becomes_the_only_owner():
    study = restore(bundle_of("fluency")).study

    members = Membership.objects.filter(study=study).values_list("user__username", "role")
    assert list(members) == [("new-owner", "owner")]


@pytest.mark.django_db
def test_study_that_stands_here_already_is_refused():
    bundle = bundle_of("fluency")
    restore(bundle)

    with pytest.raises(ValidationError, match="is here already") as caught:
        restore(bundle)

    assert "copy" in caught.value.messages[0]
    assert Study.objects.count() == 1


@pytest.mark.django_db
def test_copy_differs_in_ids_alone():
    bundle = bundle_of("fluency")
    study = restore(bundle).study

    copy = restore(bundle, is_copy=True).study

    assert copy.pk != study.pk
    assert fsck.find_breaches(copy) == []
    files = [read_files(pack(one, has_free_text=True)) for one in (study, copy)]
    ids = [str(copy.pk), *(str(batch.pk) for batch in copy.batches.all())]
    olds = [str(study.pk), *(str(batch.pk) for batch in study.batches.all())]
    for name in ("data/ratings.csv", "data/annotations.csv", "data/participants.csv"):
        told = files[1][name].decode()
        for new, old in zip(ids, olds, strict=True):
            told = told.replace(new, old)
        assert told == files[0][name].decode()


@pytest.mark.django_db
def test_bundle_of_an_unknown_protocol_is_refused_with_its_name():
    bundle = change(bundle_of("fluency"), "study.json", use_unknown_protocol)

    with pytest.raises(ValidationError, match="“haiku”, which isn't installed"):
        restore(bundle)

    assert not Study.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"hooks": {"standard_score": "os.system"}}, "hooks_not_allowed"),
        ({"hooks": {"clean": "protocols.fluency.tests.json"}}, "protocols.fluency.tests.json"),
        ({"hooks": {"clean": "protocols.magnitude.hooks.gone"}}, "protocols.magnitude.hooks.gone"),
        ({"key": "rrgen"}, "is that of “rrgen”, not of “fluency”"),
    ],
)
def test_instrument_that_the_protocol_here_could_not_have_is_refused(edit, said):
    files = read_files(bundle_of("fluency"))
    content = json.loads(files["versions/1.json"])
    content["instrument"] |= edit
    about = json.loads(files["study.json"])
    text = layout.dump(content).encode()
    about["study"]["versions"][0]["sha256"] = sha256(text).hexdigest()
    changed = {"versions/1.json": text, "study.json": json.dumps(about).encode()}

    with pytest.raises(ValidationError, match=re.escape(said)):
        restore(zip_files(sum_up(files | changed)))

    assert not Study.objects.exists()


def use_unknown_protocol(about: dict[str, Any]) -> None:
    about["study"]["protocol"] = "haiku"


@pytest.mark.django_db
def test_bundle_of_another_format_is_refused_with_what_made_it():
    bundle = change(bundle_of("fluency"), "study.json", lambda about: about | {"format_version": 5})

    with pytest.raises(ValidationError) as caught:
        restore(bundle)

    assert "This Evalsite reads formats 2 to 4" in " ".join(caught.value.messages)


@pytest.mark.both_databases
@pytest.mark.django_db
def test_rows_that_break_a_promise_leave_nothing_behind():
    def hold(rows: list[dict[str, Any]]) -> None:
        rows[0]["held_at"] = "2026-11-21T12:00:00.000000+00:00"

    bundle = change(bundle_of("fluency"), "records/items.jsonl", hold)

    with pytest.raises(ValidationError, match="Held items"):
        restore(bundle)

    assert check(bundle).codes == ["held_against_its_reports"]
    assert not Study.objects.exists()


# --- ratings collected elsewhere -------------------------------------------------------------


@pytest.mark.django_db
def test_imported_ratings_come_back_in_their_order_and_name_nobody():
    study = make_study(items=0, protocol="rrgen", k=2)
    import_rows(study, make_rows(study.config, items=3))
    rows = [row | {"note": NOTE} for row in rows_for(study, ["w1", WORKER])]
    load(study, rows)
    bundle = pack(study, has_free_text=True)
    files = read_files(pack(study))
    exported = export(study)

    copy = restore(bundle, is_copy=True).study

    assert fsck.find_breaches(copy) == []
    assert (copy.state, copy.ratings_files.get().rows) == ("draft", len(rows))
    ids = [(study, copy), *zip(study.batches.all(), copy.batches.all(), strict=True)]
    told = export(copy).decode()
    for old, new in ids:
        told = told.replace(str(new.pk), str(old.pk))
    assert told == exported.decode()
    everything = b"".join(files.values())
    assert NOTE.encode() not in everything
    assert WORKER.encode() not in everything
    assert b"annotations are imported" in files["README.md"]


@pytest.mark.torture
@pytest.mark.django_db
def test_places_that_were_added_come_back_with_an_entry_in_the_log():
    study = make_full_study("magnitude", k=2)
    added = top_up(study=study, by=make_user(STAFF))
    bundle = pack(close(study), has_free_text=True)

    copy = restore(bundle, is_copy=True).study

    assert added > 0
    assert fsck.find_breaches(copy) == []
    assert Slot.objects.filter(study=copy, no__gte=TOP_UP_FROM).count() == added


@pytest.mark.torture
@pytest.mark.django_db
def test_batches_opened_later_are_planned_as_they_were_opened():
    study = launch(make_study(items=5))
    add_batch(study, items=4, first=6)
    make_slots(study, study.batches.filter(opened_at=None))
    study.batches.filter(opened_at=None).update(opened_at=now())
    add_batch(study, items=2, first=20)

    bundle = pack(study)
    copy = restore(bundle, is_copy=True).study

    report = check(bundle)
    assert report.faults == []
    assert (report.about["counts"]["places"], report.about["counts"]["strays"]) == (27, 0)
    assert read_files(pack(copy))["design/plan.csv"] == read_files(bundle)["design/plan.csv"]
