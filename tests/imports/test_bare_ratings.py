"""Ratings that somebody has already: read, shown, and made a closed study."""

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from evalsite.annotation.models import Annotation, Rating
from evalsite.imports.models import Upload
from evalsite.imports.ratings.new_study import (
    CREATE_KIND,
    begin_reading,
    create_study_of_ratings,
)
from evalsite.imports.uploads import keep_upload
from evalsite.jobs.models import Job
from evalsite.participants.models import Origin, Participant
from evalsite.results.models import Report
from evalsite.studies.models import Batch, Item, Output, Study
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).parents[2] / "fixtures" / "getting_in" / "own_ratings"
GERMAN = FOLDER / "bewertungen.csv"


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def upload(content: bytes | str, file_name: str = "ratings.csv", by: Any = None) -> Upload:
    by = by or make_user()
    content = content.encode() if isinstance(content, str) else content
    kept = keep_upload(
        study=None, file_name=file_name, chunks=[content], by=by, purpose=Upload.Purpose.RATINGS
    )
    begin_reading(kept, by=by)
    kept.refresh_from_db()
    return kept


def create(kept: Upload, **fields: Any) -> Study | None:
    fields = {"title": "Ratings", "has_persons": True, **fields}
    return create_study_of_ratings(kept, by=kept.created_by, **fields)


def test_it() -> None:
    kept = upload(Path("/tmp/have/bewertungen.csv").read_bytes(), "bewertungen.csv")
    print(kept.report)
    study = create(kept)
    study.refresh_from_db()
    print(study.state, study.config.criteria)
    run_waiting_jobs()
    report = Report.objects.get()
    print(
        [
            (s["system"], s["headline"]["value"])
            for c in report.content["all"]["criteria"]
            for s in c["systems"]
        ]
        if report.content["all"]
        else report.content["kept"]["criteria"][0]["systems"][0]["headline"]
    )
    print(Item.objects.values("key", "extra", "group").first(), Output.objects.values().first())
    assert 0
