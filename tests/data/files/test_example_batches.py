"""Instruments of the gallery with real texts: upload, work, figures and files, as a study does."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalsite.analysis.__main__ import main
from evalsite.analysis.ratings import make_table
from evalsite.analysis.report.answers import split_parts
from evalsite.builder.instrument_views import copy_data
from evalsite.core.jobs.services import run_job
from evalsite.data.fsck import find_breaches
from evalsite.data.items.importer import import_file
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Rating
from evalsite.instruments.installed import get_protocol
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study
from tests.support.bundles import check, pack
from tests.support.exports import export, read
from tests.support.factories import make_user, open_to_everyone
from tests.support.imported import load
from tests.support.instruments import GALLERY, make_built_study
from tests.support.published import published_file

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.usefixtures("checks_here"),
]
BATCHES = GALLERY / "batches"

# what is asked in them is asked in a study of each instrument of the gallery, too
LONGER = [
    ("arena_preference", "arena_preference.jsonl", 12, 2),
    *((key, "esa.csv", 32, 2) for key in ("da_sqm", "direct_assessment", "esa", "mqm", "sqm")),
    ("summeval", "summeval.jsonl", 36, 3),
    ("adequacy_fluency", "adequacy_fluency.csv", 16, 2),
    ("accuracy_errors", "accuracy_errors.jsonl", 8, 2),
    ("attribution", "attribution.jsonl", 8, 2),
]


def upload(instrument: str, batch: str) -> Study:
    content = json.loads((GALLERY / f"{instrument}.json").read_bytes())
    study = make_built_study(content, is_demo=True, k=2, set_size=4)
    import_file(study=study, path=BATCHES / batch, by=None)
    return study


@pytest.mark.torture
@pytest.mark.parametrize(("instrument", "batch", "items", "systems"), LONGER)
def test_example_batch_is_uploaded(instrument, batch, items, systems):
    study = upload(instrument, batch)

    assert (study.items.main().count(), study.systems.count()) == (items, systems)


@pytest.mark.parametrize(
    ("instrument", "batch", "items", "systems"),
    [
        ("conversation_turns", "conversation_turns.jsonl", 12, 2),
        *(pytest.param(*one, marks=pytest.mark.torture) for one in LONGER),
    ],
)
def test_example_batch_is_uploaded_rated_computed_and_exported(instrument, batch, items, systems):
    study = upload(instrument, batch)
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    open_to_everyone(study)
    list(simulate_crowd(study, participants=3, seed="batch"))

    report = compute_report(study)

    assert study.items.main().count() == items
    assert study.systems.count() == systems
    assert find_breaches(study) == []
    asked = {criterion.key for criterion in study.config.criteria if not criterion.ask_if}
    # a question that is answered in words alone has no figures
    words = {one.key for one in study.config.criteria if one.scale.family == "text"}
    assert {one["key"].partition(".")[0] for one in report.content["kept"]["criteria"]} >= (
        asked - words
    )
    assert asked <= {row["criterion"] for row in read(export(study))}
    assert check(pack(study)).faults == []


def test_turns_of_a_conversation_are_averaged_for_each_person_before_anything_else():
    said = {("ann", "2"): 1, ("ann", "4"): 5, ("ben", "2"): 4, ("ben", "4"): 3, ("ben", "6"): 5}
    rows = pd.DataFrame(
        [
            {"participant": who, "turn": turn, "value": value, "item": "i", "output_id": "i#1",
             "system": "s", "criterion": "quality", "annotation": who, "scale": "likert"}
            for (who, turn), value in said.items()
        ]
    )  # fmt: skip
    asked = {"key": "quality", "label": "Quality", "kind": "likert", "family": "turns"}

    table, instrument = split_parts(make_table(rows), [asked])

    # by hand: (1 + 5) / 2 and (4 + 3 + 5) / 3
    assert dict(zip(table.rows.participant, table.rows.value, strict=True)) == {
        "ann": 3.0, "ben": 4.0,
    }  # fmt: skip
    assert instrument == [asked]
    assert len(table.results().rows) == 2


def copy_of_magnitude(**names: str) -> dict[str, Any]:
    """Magnitude as somebody copies it, with these criteria in place of its own."""
    draft = copy_data(get_protocol("magnitude").to_data(), "Naturalness and quality")
    (asked,) = draft["criteria"]
    draft["key"] = "rankme_two"
    draft["criteria"] = [
        asked | {"key": key, "label": label, "question": f"How is its {key}?"}
        for key, label in names.items()
    ]
    return {name: part for name, part in draft.items() if name not in ("examples", "practice")}


@pytest.mark.torture
def test_naturalness_and_quality_of_rankme_are_rated_on_a_copy_of_magnitude(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The published ratings; geometric means computed elsewhere."""
    study = make_built_study(copy_of_magnitude(naturalness="Naturalness", quality="Quality"), k=3)
    import_file(study=study, path=GALLERY.parent / "ratings" / "rankme_batch.csv", by=None)
    with published_file("rankme/stp1_rankME.csv").open(encoding="utf-8", newline="") as file:
        load(study, file.read())

    exported = tmp_path / "ratings.csv"
    exported.write_bytes(export(study))
    assert main(["report", str(exported), "--file-order", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)

    assert Rating.objects.filter(study=study).count() == 2 * 900
    assert find_breaches(study) == []
    means = {
        (one["key"], of["system"]): round(of["headline"]["value"], 4)
        for one in said["criteria"]
        for of in one["systems"]
    }
    assert means == {
        ("naturalness", "baseline"): 99.3653, ("quality", "baseline"): 98.2737,
        ("naturalness", "sheffield_v2"): 99.0660, ("quality", "sheffield_v2"): 91.0123,
        ("naturalness", "slug2slug"): 99.5850, ("quality", "slug2slug"): 99.1233,
    }  # fmt: skip
