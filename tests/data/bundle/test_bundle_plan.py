"""A study's analysis plan goes with its bundle: what was fixed, and before how many answers."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command

from evalsite.data.bundle.restore import Restored, restore_bundle
from evalsite.decisions.models import AnalysisPlan
from evalsite.lib.clock import standing_at
from evalsite.results.analysis_plan.stored import describe_plan, own_thresholds
from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.studies.models import Membership, Study
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import (
    RULE,
    STAFF,
    bundle_of,
    change,
    close,
    examine,
    make_full_study,
    pack,
    read_files,
    sum_up,
    write_plan,
    zip_files,
)
from tests.support.factories import launch, make_study, make_user
from tests.support.imported import load, rows_for

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("checks_here"),
]
PLAN = "analysis-plan.json"
MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
LATER = MOMENT + timedelta(days=400)


def restore(bundle: bytes, **said: Any) -> Restored:
    given = {"owner": make_user("new-owner"), "by": "a test", **said}
    return restore_bundle(file=io.BytesIO(bundle), **given)


def plan_in(bundle: bytes) -> dict[str, Any]:
    return json.loads(read_files(bundle)[PLAN])


def readme_of(bundle: bytes) -> str:
    return read_files(bundle)["README.md"].decode()


def plan_draft(**values: Any) -> Study:
    """A study that nobody has answered yet, with a plan of that moment."""
    study = make_study(items=3)
    moments = {"thresholds_changed_at": MOMENT, "rule_changed_at": MOMENT, "changed_at": MOMENT}
    AnalysisPlan.objects.create(study=study, exclusion_rule=RULE, **moments, **values)
    return study


# --- packed -------------------------------------------------------------------------------


@pytest.mark.slow
def test_plan_stands_in_the_bundle_with_how_many_answers_were_in():
    bundle = bundle_of("fluency")

    plan = plan_in(bundle)

    assert (plan["exclusion_rule"], plan["thresholds"]) == (RULE, {"gold": 0.7, "rho": -0.1})
    assert plan["answers_before"]["primary"] == plan["answers_before"]["thresholds"] == 0
    assert plan["answers_before"]["exclusion_rule"] >= 3
    assert STAFF not in json.dumps(plan)


def test_readme_tells_what_was_fixed_before_and_after_the_first_answer():
    readme = readme_of(bundle_of("fluency"))
    told = readme.partition("## Analysis plan")[2].partition("## ")[0]

    answers = plan_in(bundle_of("fluency"))["answers_before"]["exclusion_rule"]
    assert "; decided before the first answer, on " in told
    assert '“=1+1, "too fast": fewer than 8 of 10' in told
    assert f"; worded after {answers} answers, on " in told
    assert "`analysis-plan.json` names the primary criterion, hypotheses" in readme


def test_data_package_names_the_plan_beside_its_tables():
    files = read_files(bundle_of("fluency"))

    package = json.loads(files["datapackage.json"])

    assert package["analysis_plan"]["path"] == PLAN
    assert package["analysis_plan"]["bytes"] == len(files[PLAN])
    assert not [one for one in package["resources"] if not one["path"].endswith(".csv")]


@pytest.mark.slow
def test_study_without_a_plan_says_so_and_none_comes_back():
    bundle = pack(make_study(items=2))

    study = restore(bundle, is_copy=True).study

    assert plan_in(bundle)["changed_at"] is None
    assert "Nothing was planned." in readme_of(bundle)
    assert "No analysis plan was written." in examine(bundle).checks
    assert not AnalysisPlan.objects.filter(study=study).exists()


def test_imported_ratings_are_never_said_to_come_after_the_plan():
    study = make_study(items=0, protocol="rrgen", k=2)
    with standing_at(MOMENT):
        AnalysisPlan.objects.create(study=study, primary="x", primary_changed_at=MOMENT)
    import_rows(study, make_rows(study.config, items=3))
    load(study, rows_for(study, ["w1", "w2"]))

    told = [readme_of(pack(study, has_data=has_data)) for has_data in (True, False)]

    words = "on 1 March 2026, before the import of ratings that were collected elsewhere"
    assert [words in one for one in told] == [True, True]


# --- made again ----------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("is_copy", [False, True])
def test_plan_comes_back_with_its_moments_where_the_data_do(is_copy):
    bundle = bundle_of("fluency")

    study = restore(bundle, is_copy=is_copy).study

    plan = AnalysisPlan.objects.get(study=study)
    assert plan_in(pack(study)) == plan_in(bundle)
    assert (plan.exclusion_rule, plan.changed_by) == (RULE, None)
    told = dict(plan_in_words(describe_plan(study), criteria=1))
    assert "decided before the first answer" in told["Primary criterion"]
    assert "worded after " in told["Exclusion rule"]


@pytest.mark.slow
def test_plan_of_a_draft_without_data_is_fixed_before_its_first_answer():
    bundle = bundle_of("fluency")

    with standing_at(LATER):
        study = restore(bundle, has_data=False).study

    plan, was = AnalysisPlan.objects.get(study=study), plan_in(bundle)
    assert (plan.primary, plan.exclusion_rule) == (was["primary"], RULE)
    assert plan.thresholds == was["thresholds"]
    assert {*plan.moments.values(), plan.changed_at} == {LATER}
    assert set(plan_in(pack(study))["answers_before"].values()) == {0}


@pytest.mark.slow
def test_part_that_was_taken_back_is_no_news_in_a_draft():
    study = plan_draft()

    draft = restore(pack(study, has_data=False)).study

    assert AnalysisPlan.objects.get(study=draft).moments.keys() == {"exclusion_rule"}


@pytest.mark.slow
def test_plan_that_only_names_what_is_repeated_comes_back():
    first, study = make_study(items=1, title="First"), make_study(items=1)
    AnalysisPlan.objects.create(study=study, repeats=first)
    bundle, owner = pack(study), make_user("new-owner")
    Membership.objects.create(study=first, user=owner, role=Membership.Role.VIEWER)

    restored = restore(bundle, is_copy=True, owner=owner)

    assert AnalysisPlan.objects.get(study=restored.study).repeats == first
    assert f"It repeats the study `{first.pk}`." in readme_of(bundle)
    assert restored.remarks == []
    # a draft without data repeats what its owner says
    draft = restore(bundle, has_data=False, owner=owner)
    assert (AnalysisPlan.objects.get(study=draft.study).repeats, draft.remarks) == (None, [])


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("why", ["elsewhere", "hidden", "other protocol"])
def test_original_that_cannot_be_linked_is_told(why):
    first, study = make_study(items=1, title="First"), make_study(items=1)
    AnalysisPlan.objects.create(study=study, repeats=first)
    bundle, owner = pack(study), make_user("new-owner")
    if why == "elsewhere":
        bundle = change(bundle, PLAN, lambda plan: plan | {"repeats": str(uuid4())})
    if why == "other protocol":
        Study.objects.filter(pk=first.pk).update(protocol="fluency")
        Membership.objects.create(study=first, user=owner, role=Membership.Role.VIEWER)

    restored = restore(bundle, is_copy=True, owner=owner)

    # the README tells of another original too
    remark = restored.remarks[-1]
    assert "isn't here or isn't open to its owner" in remark
    assert AnalysisPlan.objects.get(study=restored.study).repeats is None


# --- bundles that say what can't be ------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"primary": None}, "primary can't be None"),
        ({"primary": "x" * 101}, "primary can't be"),
        ({"exclusion_rule": "x" * 2001}, "exclusion_rule is too long"),
        ({"exclusion_rule": "a\x07"}, "or has control characters"),
        ({"thresholds": []}, "thresholds can't be []"),
        ({"thresholds": {"gold": "much"}}, "there is no threshold gold: 'much'"),
        ({"thresholds": {"gold": True}}, "there is no threshold gold: True"),
        ({"thresholds": {"gold": 1e300}}, "there is no threshold gold: 1e+300"),
        ({"thresholds": {"x" * 61: 1}}, "there is no threshold x"),
        ({"rule_changed_at": "2026-03-01"}, "rule_changed_at can't be"),
        ({"rule_changed_at": None}, "answers_before doesn't go with the times"),
        ({"changed_at": None}, "has no changed_at, but it isn't empty"),
        ({"repeats": "first"}, "wrong type"),
        ({"repeats": 1}, "wrong type"),
        ({"repeats": "{12345678123456781234567812345678}"}, "repeats isn't written as an id"),
        ({"has_imported": 1}, "has_imported can't be 1"),
        ({"has_imported": True}, "has_imported is true, but false by the rows"),
        ({"answers_before": {}}, "answers_before doesn't go with the times"),
        ({"answers_before": 0}, "wrong type"),
    ],
)
def test_plan_that_cannot_be_is_a_fault(said, fault):
    bundle = change(bundle_of("fluency"), PLAN, lambda plan: plan | said)

    (told,) = examine(bundle).faults

    assert told.file == PLAN
    assert fault in told.message


@pytest.mark.slow
def test_answers_that_were_in_are_counted_again():
    def antedate(plan: dict[str, Any]) -> None:
        plan["answers_before"]["exclusion_rule"] = 0

    count = plan_in(bundle_of("fluency"))["answers_before"]["exclusion_rule"]

    (fault,) = examine(change(bundle_of("fluency"), PLAN, antedate)).faults

    assert (fault.code, fault.file) == ("values_differ", PLAN)
    assert f'"exclusion_rule": {count}' in fault.message.partition("but")[2]


def test_plan_that_is_missing_or_no_object_is_told():
    files = read_files(pack(make_study(items=2)))
    without = {name: data for name, data in files.items() if name != PLAN}

    assert examine(zip_files(sum_up(without))).codes == ["file_missing"]
    for other in (b"[]", b"null", b"{}"):
        (told,) = examine(zip_files(sum_up(files | {PLAN: other}))).faults
        assert (told.code, told.file) == ("plan_invalid", PLAN)


@pytest.mark.slow
def test_threshold_that_a_bundle_sets_out_of_range_is_not_used():
    def overdo(plan: dict[str, Any]) -> None:
        plan["thresholds"] = {"gold": 5, "reserved": -1, "speed_ratio": 0.4}

    study = restore(change(bundle_of("fluency"), PLAN, overdo), is_copy=True).study

    plan = AnalysisPlan.objects.get(study=study)
    assert own_thresholds(study, plan) == {"speed_ratio": 0.4}


# --- formats -----------------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("number", [0, 1, 5, True, "2", None])
def test_format_that_is_not_known_is_refused(number):
    edit = {"format_version": number}
    bundle = change(pack(make_study(items=2)), "study.json", lambda about: about | edit)

    (told,) = examine(bundle).faults

    assert told.code == "format_unknown"


# --- elsewhere ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_commands_carry_the_plan_from_one_study_to_the_next(tmp_path, capsys):
    study = launch(make_study(items=3))
    AnalysisPlan.objects.create(study=study, primary="informativeness", primary_changed_at=MOMENT)
    file = tmp_path / "study.zip"
    make_user("next-lab")

    call_command("export_bundle", str(study.pk), "-o", str(file))
    call_command("verify_bundle", str(file))
    call_command("import_bundle", str(file), "--owner", "next-lab", "--without-data")

    told = "The analysis plan; answers that were in when a part last changed: primary 0."
    assert told in capsys.readouterr().out
    (again,) = Study.objects.exclude(pk=study.pk)
    assert AnalysisPlan.objects.get(study=again).primary == "informativeness"


@pytest.mark.slow
def test_answers_of_pilots_who_withdrew_are_not_counted():
    study = make_full_study("fluency")
    AnalysisPlan.objects.filter(study=study).delete()
    answer = study.annotations.filter(item__kind="main", status="counted").first()
    assert answer is not None
    write_plan(study)
    before = plan_in(pack(close(study)))["answers_before"]["exclusion_rule"]
    type(answer.participant).objects.filter(pk=answer.participant_id).update(is_pilot=True)

    bundle = pack(study)

    assert plan_in(bundle)["answers_before"]["exclusion_rule"] < before


MARGIN = {
    "criterion": "informativeness", "system": "neural", "relation": "not_worse",
    "other": "template", "margin": 1.2,
}  # fmt: skip


@pytest.mark.torture
@pytest.mark.slow
def test_primary_criterion_and_margin_come_back():
    study = plan_draft(primary="informativeness", margins=[MARGIN])

    again = restore(pack(study), is_copy=True).study

    assert (again.analysis_plan.primary, again.analysis_plan.margins) == (
        "informativeness",
        [MARGIN],
    )
    assert "| Primary criterion | Informativeness" in readme_of(pack(study))


@pytest.mark.one_case
@pytest.mark.parametrize(
    "margin", ["all", {}, MARGIN | {"margin": 0}, MARGIN | {"relation": "better"},
               MARGIN | {"system": 1}],
)  # fmt: skip
def test_margin_that_cannot_be_is_a_fault(margin):
    bundle = pack(plan_draft(primary="informativeness", margins=[MARGIN]))

    (told,) = examine(change(bundle, PLAN, lambda plan: plan.update(margins=[margin]))).faults

    assert told.code == "plan_invalid"


@pytest.mark.slow
def test_plan_of_a_bundle_from_before_there_were_margins_is_read():
    def age_plan(plan: dict[str, Any]) -> None:
        for name in ("primary", "margins", "primary_changed_at", "margins_changed_at"):
            del plan[name]

    bundle = change(pack(plan_draft()), PLAN, age_plan)

    assert restore(bundle, is_copy=True).study.analysis_plan.exclusion_rule == RULE
    assert examine(bundle).faults == []
