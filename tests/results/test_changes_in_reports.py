"""What reports say of items that were withdrawn, outputs that were corrected, systems renamed."""

import pytest

from evalsite.decisions.frozen_plans import list_deviations
from evalsite.decisions.models import AnalysisPlanVersion
from evalsite.decisions.system_names import rename_system
from evalsite.fieldwork.item_changes import put_item_back, withdraw_item
from evalsite.results.analysis_plan.wording import describe_deviation
from evalsite.results.report.computation import take_fingerprint
from evalsite.studies.models import Change, Study, System
from evalsite.studies.versions import describe_in_force
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


def withdraw(study: Study, *places: int, reason: str = "A text is cut off.") -> None:
    for place in places:
        item = study.items.main().order_by("pk")[place]
        withdraw_item(item=item, reason=reason, by=make_user())


def test_what_was_put_back_is_no_change_any_more():
    study = make_live(items=3)
    withdraw(study, 0, 0)
    item = study.items.get(kind="withdrawn", key="item-001")
    put_item_back(item=item, reason="It was right.", by=make_user())

    assert [change["item"] for change in describe_in_force(study)] == ["item-002"]


def test_a_report_is_of_other_data_after_each_change():
    study = make_live(items=3)
    seen = [take_fingerprint(study)]

    withdraw(study, 0)
    seen.append(take_fingerprint(study))
    rename_system(study, System.objects.get(study=study, name="neural"), "GPT-4", make_user())
    seen.append(take_fingerprint(Study.objects.get(pk=study.pk)))

    assert len({*seen}) == 3


def test_withdrawals_depart_from_a_frozen_plan():
    study = make_live(items=4)
    AnalysisPlanVersion.objects.create(
        study=study, number=1, has_plan=True, sha256="x", content={"planned": {}}
    )
    withdraw(study, 0, 0)
    withdraw(study, 0, reason="Offensive.")
    rename_system(study, System.objects.get(study=study, name="neural"), "GPT-4", make_user())

    deviations = list_deviations(study)

    told = [(one.kind, one.number, one.reason) for one in deviations]
    assert told == [("withdrawn", 2, "A text is cut off."), ("withdrawn", 1, "Offensive.")]
    assert describe_deviation(deviations[0].to_data()).startswith("2 items withdrawn")


def test_without_a_plan_nothing_departs_from_it():
    study = make_live(items=3)
    withdraw(study, 0)

    assert list_deviations(study) == []


def test_a_new_name_is_in_the_report_without_a_reason():
    study = make_live()
    rename_system(study, System.objects.get(study=study, name="neural"), "GPT-4", make_user())
    run_waiting_jobs()

    (change,) = describe_in_force(study)
    assert (change["before"], change["after"], change["reason"]) == ("neural", "GPT-4", "")
    assert Change.objects.get().by == make_user()
