"""A study that somebody else runs again from its bundle is compared with the first one."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.results.replication.comparison import find_changed_outputs
from evalsite.studies.models import Study
from tests.support.bundles import close, make_full_study, move_data
from tests.support.factories import launch, make_user

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("checks_here"),
]


def rerun(study: Study, folder: Path) -> Study:
    """The study made again from its bundle, without its data, and rated by other people."""
    file = folder / "study.zip"
    call_command("export_bundle", str(study.pk), "-o", str(file), stdout=StringIO())
    make_user("another-lab")
    call_command(
        "import_bundle", str(file), "--owner", "another-lab", "--without-data", stdout=StringIO()
    )
    again = Study.objects.exclude(pk=study.pk).get()
    # only demonstrations may have simulated participants
    Study.objects.filter(pk=again.pk).update(is_demo=True)
    again = launch(Study.objects.get(pk=again.pk))
    assert len(list(simulate_crowd(again, participants=4, seed="another crowd"))) >= again.k
    return again


# one whose outputs are rated, one whose outputs are compared
@pytest.mark.torture
@pytest.mark.parametrize("protocol", ["fluency", "pairwise"])
def test_outputs_of_a_study_made_again_are_those_of_the_first(
    db: None, settings: Any, tmp_path: Path, protocol: str
) -> None:
    move_data(settings, tmp_path / "data")
    first = close(make_full_study(protocol))
    again = rerun(first, tmp_path)
    file = tmp_path / "comparison.json"

    call_command(
        "analyse", str(again.pk), "--against", str(first.pk), "--json", "-o", str(file),
        stdout=StringIO(),
    )  # fmt: skip

    found = json.loads(file.read_text(encoding="utf-8"))
    assert [one["id"] for one in found["studies"]] == [str(first.pk), str(again.pk)]
    assert find_changed_outputs(first, again) == set()
    common = found["common"]
    assert (common["only_first"], common["only_second"]) == ([], [])
    assert common["changed"] == common["same_answers"] == 0
    # whatever both crowds rated is matched, by item and system
    assert 0 < common["outputs"] <= min(found[side]["outputs"] for side in ("first", "second"))
    assert {one["key"] for one in found["criteria"]} == set(found["first"]["criteria"])
    for criterion in found["criteria"]:
        assert criterion["agreement"][0]["n"]["units"] > 0
    # the same texts, questions and settings
    codes = {one["code"] for one in found["warnings"]}
    assert "simulated" in codes
    assert not {"other_texts", "other_instructions", "other_wording", "other_settings"} & codes
