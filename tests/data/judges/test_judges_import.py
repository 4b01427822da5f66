"""Labels of judges from a file: matched by name, kept apart from people, all or nothing."""

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.db.models import Count

from evalsite.core.audit.models import AuditEntry
from evalsite.data.importing import LEAVE_OUT_FAULTY, Source
from evalsite.data.judges.importer import JUDGES, CheckedLabels
from evalsite.data.models import Judge, JudgeFile, JudgeLabel
from evalsite.handout.models import Annotation, Rating
from evalsite.people.models import Participant, ParticipantIdentity
from evalsite.studies.models import Study
from tests.support.checking import check_labels
from tests.support.factories import make_study
from tests.support.instruments import make_built_study

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
HEAD = "item,system,criterion,judge,value\n"


@pytest.fixture
def study(db: None) -> Study:
    return make_study(items=2, protocol="rrgen")


def make_arena() -> Study:
    path = ROOT / "fixtures" / "instruments" / "arena_preference.json"
    return make_built_study(json.loads(path.read_bytes()), is_practice_on=False)


def check(study: Study, text: str, **options: Any) -> CheckedLabels:
    return check_labels(io.BytesIO(text.encode()), study=study, options=options)


def store(study: Study, text: str, name: str = "labels.csv") -> JudgeFile:
    checked = check(study, text)
    assert [str(fault) for fault in checked.faults] == []
    digest = sha256(text.encode()).hexdigest()
    return JUDGES.store(
        checked=checked, source=Source(study=study, file_name=name, sha256=digest), by=None
    )


def list_codes(checked: CheckedLabels) -> list[str]:
    return [fault.code for fault in checked.faults]


def list_remarks(checked: CheckedLabels) -> set[str]:
    return {remark.code for remark in checked.remarks}


def test_each_label_is_stored_under_its_question(study):
    criteria = [criterion.key for criterion in study.config.criteria]
    rows = "".join(f"item-001,neural,{key},judge-a,3\n" for key in criteria[:4])
    file = store(study, HEAD + rows)

    labels = JudgeLabel.objects.filter(file=file).values_list("criterion", "item_key", "value")
    assert sorted(labels) == sorted((key, "item-001", 3.0) for key in criteria[:4])
    assert Judge.objects.get().name == "judge-a"
    assert not Annotation.objects.exists()
    assert not Rating.objects.exists()


def test_a_question_is_never_guessed_where_there_are_several(study):
    checked = check(study, "item,system,judge,value\nitem-001,neural,judge-a,3\n")
    assert list_codes(checked) == ["column_missing"]


def test_without_a_column_the_only_question_is_meant(db):
    study = make_study(items=2)
    store(study, "item,system,judge,value\nitem-001,neural,judge-a,80.5\n")
    assert JudgeLabel.objects.get().criterion == study.config.criteria[0].key


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("item-001,neural,{key},judge-a,9", "value_invalid"),
        ("item-001,neural,{key},judge-a,0.5", "value_invalid"),
        ("item-001,neural,{key},judge-a,good", "value_invalid"),
        ("item-001,neural,{key},judge-a,nan", "value_invalid"),
        ("item-001,neural,tone,judge-a,3", "criterion_unknown"),
        (",neural,{key},judge-a,3", "cell_empty"),
        ("item-001,,{key},judge-a,3", "cell_empty"),
        ("item-001,neural,{key},,3", "cell_empty"),
        ("item-001,neural,{key},Ana,3", "judge_is_person"),
        ("item-001,neural,{key},p-abcde,3", "judge_is_person"),
    ],
)
def test_a_faulty_label_is_named_and_can_be_left_out(study, row, code):
    person = Participant.objects.create(study=study, pseudonym="p-abcde")
    ParticipantIdentity.objects.create(
        study=study, participant=person, platform="import", outside_id="Ana"
    )
    key = study.config.criteria[0].key
    text = f"{HEAD}item-001,baseline,{key},judge-a,3.5\n{row.format(key=key)}\n"

    checked = check(study, text)
    assert [(fault.code, fault.record) for fault in checked.faults] == [(code, 2)]
    assert not checked.is_importable

    kept = check(study, text, **{LEAVE_OUT_FAULTY: True})
    assert [label.value for label in kept.labels] == [3.5]
    assert [note["code"] for note in kept.import_notes] == ["rows_left_out"]


@pytest.mark.parametrize("value", ["N/A", "Excellent"])
def test_a_word_that_is_no_answer_is_told_the_answers(value, study):
    key = study.config.criteria[0].key
    [fault] = check(study, f"{HEAD}item-001,neural,{key},judge-a,{value}\n").faults
    assert study.config.criteria[0].scale.describe_choices() in fault.message
    assert "metric" not in fault.message


def test_inputs_that_the_study_lacks_are_kept_and_counted(study):
    key = study.config.criteria[0].key
    rows = "".join(f"fresh-{number},neural,{key},judge-a,{number}\n" for number in (1, 2, 3))
    checked = check(study, f"{HEAD}item-001,neural,{key},judge-a,4\n{rows}")

    assert checked.further == 3
    assert "further_inputs" in list_remarks(checked)
    assert len(checked.labels) == 4


def test_labels_of_unknown_systems_are_kept_and_named(study):
    key = study.config.criteria[0].key
    checked = check(study, f"{HEAD}item-001,neurla,{key},judge-a,4\nx,neural,{key},judge-a,3\n")
    assert not checked.faults
    assert "system_unknown" in list_remarks(checked)
    assert len(checked.labels) == 2


def test_versions_of_the_prompt_are_judges_of_their_own(study):
    key = study.config.criteria[0].key
    text = (
        "item,system,criterion,judge,value,prompt_version\n"
        f"item-001,neural,{key},judge-a,4,v1\nitem-001,neural,{key},judge-a,2,v2\n"
    )
    assert "judge_versions" in list_remarks(check(study, text))
    store(study, text)
    assert [str(judge) for judge in Judge.objects.all()] == [
        "judge-a, prompt v1", "judge-a, prompt v2",
    ]  # fmt: skip


def test_one_answer_everywhere_is_remarked(study):
    key = study.config.criteria[0].key
    rows = "".join(f"item-{number},neural,{key},judge-a,4\n" for number in range(5))
    assert "judge_constant" in list_remarks(check(study, HEAD + rows))


def test_a_label_that_is_there_twice_is_refused_in_one_file_and_in_two(study):
    key = study.config.criteria[0].key
    row = f"item-001,neural,{key},judge-a,"
    assert list_codes(check(study, f"{HEAD}{row}4\n{row}5\n")) == ["label_twice"]

    store(study, f"{HEAD}{row}4\n")
    assert list_codes(check(study, f"{HEAD}{row}5\n")) == ["label_known"]


def test_runs_and_reasons_are_kept(study):
    key = study.config.criteria[0].key
    reason = "=HYPERLINK(1)\u2028<b>x</b>"
    text = (
        "item,system,criterion,judge,value,run,reason\n"
        f'item-001,neural,{key},judge-a,4,1,"{reason}"\nitem-001,neural,{key},judge-a,5,2,\n'
    )
    store(study, text)
    labels = JudgeLabel.objects.order_by("run").values_list("run", "value", "reason")
    assert list(labels) == [("1", 4.0, reason), ("2", 5.0, "")]


@pytest.mark.parametrize(
    ("row", "stored"),
    [
        ("B,A,A,1,", ("A", "B", -1.0, "", 2)),
        ("A,B,B,2,", ("A", "B", 1.0, "", 2)),
        ("A,B,tie,,", ("A", "B", 0.0, "", 0)),
        ("A,B,both_bad,1,", ("A", "B", 0.0, "both_bad", 1)),
    ],
)
def test_preferences_are_stored_for_the_second_system_in_alphabetical_order(db, row, stored):
    study = make_arena()
    key = next(c.key for c in study.config.criteria if c.scale.compares)
    head = "item,criterion,judge,system_1,system_2,preferred,order,value\n"
    store(study, f"{head}x1,{key},judge-a,{row}\n")
    fields = ("system", "other_system", "value", "option", "order")
    assert JudgeLabel.objects.values_list(*fields).get() == stored


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("A,B,C,1,", "preference_invalid"),
        ("A,A,A,1,", "cell_empty"),
        ("A,,A,1,", "cell_empty"),
        ('A,B,A,"1,2",', "order_invalid"),
        ("A,B,A,first,", "order_invalid"),
        ("A,B,A,1,9", "value_invalid"),
    ],
)
def test_faulty_preferences_are_refused(db, row, code):
    study = make_arena()
    key = next(c.key for c in study.config.criteria if c.scale.compares)
    head = "item,criterion,judge,system_1,system_2,preferred,order,value\n"
    assert list_codes(check(study, f"{head}x1,{key},judge-a,{row}\n")) == [code]


def test_a_file_is_stored_once_and_taken_back_whole(study):
    key = study.config.criteria[0].key
    text = f"{HEAD}item-001,neural,{key},judge-a,4\n"
    file = store(study, text)
    assert (
        JUDGES.store(
            checked=CheckedLabels(),
            source=Source(study=study, file_name="again.csv", sha256=file.sha256),
            by=None,
        )
        == file
    )

    JUDGES.undo(file, by=None)
    assert not JudgeLabel.objects.exists()
    assert not Judge.objects.exists()
    actions = AuditEntry.objects.values_list("action", flat=True)
    assert {"judge labels uploaded", "judge labels taken back"} <= set(actions)


def test_archived_studies_take_no_labels(study):
    key = study.config.criteria[0].key
    Study.objects.filter(pk=study.pk).update(state=Study.State.ARCHIVED)
    with pytest.raises(ValidationError):
        store(study, f"{HEAD}item-001,neural,{key},judge-a,4\n")


@pytest.mark.both_databases
def test_the_database_holds_one_label_per_judge_and_output(study):
    key = study.config.criteria[0].key
    store(study, f"{HEAD}item-001,neural,{key},judge-a,4\n")
    label = JudgeLabel.objects.get()
    label.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        label.save(force_insert=True)


def test_the_command_stores_a_file(study, tmp_path, capsys):
    key = study.config.criteria[0].key
    path = tmp_path / "labels.jsonl"
    path.write_text(
        f'{{"item": "item-001", "system": "neural", "criterion": "{key}", "judge": "judge-a", '
        '"value": 4, "reason": "ok"}\n',
        encoding="utf-8",
    )
    call_command("import_judges", str(study.pk), str(path))
    assert JudgeLabel.objects.count() == 1


@pytest.mark.torture
def test_a_million_labels_are_stored_and_none_is_lost(study, tmp_path, capsys):
    number, key = 1_000_000, study.config.criteria[0].key
    systems = ("baseline", "neural", "template")
    path = tmp_path / "labels.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(HEAD)
        file.writelines(
            f"x{place // 3},{systems[place % 3]},{key},judge-a,{1 + place % 5}\n"
            for place in range(number)
        )
    with pytest.raises(CommandError, match="--no-limit"):
        call_command("import_judges", str(study.pk), str(path))
    assert not JudgeLabel.objects.exists()

    call_command("import_judges", str(study.pk), str(path), "--no-limit")

    assert JudgeLabel.objects.count() == number
    assert JudgeLabel.objects.values("item_key").distinct().count() == -(-number // 3)
    # as many of each point as were written
    points = JudgeLabel.objects.values_list("value").annotate(n=Count("pk")).order_by("value")
    assert list(points) == [(float(point), number // 5) for point in range(1, 6)]
    assert f"{-(-number // 3):,} further inputs" in capsys.readouterr().out
