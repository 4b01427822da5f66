"""Instruments drawn at random: valid ones go all the way, others are refused with a code."""

from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings

from evalsite.core.jobs.services import run_job
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Rating
from evalsite.instruments import checks
from evalsite.instruments.checks import check_instrument, read_instrument
from evalsite.results.report.computation import compute_report
from evalsite.studies.instruments import FaultyInstrument, import_instrument
from evalsite.studies.models import Instrument
from tests.support.answering import RatingPage
from tests.support.batches import import_rows, make_rows
from tests.support.bundles import check, pack
from tests.support.drawn_instruments import instruments, spoiled
from tests.support.exports import export, read
from tests.support.factories import make_user, open_to_everyone
from tests.support.instruments import make_built_study

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.usefixtures("checks_here"),
]
_OPEN: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": list(HealthCheck),
    # an example takes seconds: the first one at fault is told as it is
    "phases": [Phase.generate],
}


def go_all_the_way(content: dict[str, Any]) -> None:
    """The instrument is built, shown, answered, exported, read back and analysed."""
    assert check_instrument(content, is_foreign=True) == []
    config = checks.read_instrument(content)
    assert checks.read_instrument(config.to_data()) == config
    assert read_instrument(content).to_data() == config.to_data()
    study = make_built_study(content, is_demo=True, is_practice_on=False, k=2, set_size=2)
    import_rows(study, make_rows(study.config))
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    open_to_everyone(study)
    page = RatingPage(study)
    said = page.post(page.answers)
    assert said.status_code == 302, (said.context["errors"], page.answers)
    list(simulate_crowd(study, participants=3, seed="drawn"))
    assert find_breaches(study) == []
    keys = {row["criterion"] for row in read(export(study))}
    assert keys <= {one["key"] for one in content["criteria"]}
    assert keys or not Rating.objects.filter(study=study).exists()
    assert check(pack(study, has_free_text=True)).faults == []
    compute_report(study)


@pytest.mark.parametrize(
    "examples", [1, pytest.param(100, marks=pytest.mark.torture)], ids=["one", "hundred"]
)
def test_valid_instruments_are_built_shown_answered_exported_read_back_and_analysed(examples):
    @settings(max_examples=examples, **_OPEN)
    @given(instruments())
    def run(content: dict[str, Any]) -> None:
        with transaction.atomic():
            go_all_the_way(content)
            transaction.set_rollback(True)

    run()


@settings(max_examples=100, **_OPEN)
@given(spoiled())
def test_instruments_with_something_odd_are_refused_with_a_code_or_have_no_fault(content):
    faults = check_instrument(content, is_foreign=True)

    if not faults:
        assert checks.read_instrument(content).to_data()
        return
    assert all(fault.code and fault.message for fault in faults)
    with pytest.raises(FaultyInstrument):
        import_instrument(data=content, by=None)
    assert not Instrument.objects.exists()
