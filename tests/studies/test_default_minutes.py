"""Minutes of a set that nobody chose: the time to read it, and 15 seconds for each question."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.data.items.importer import import_file, undo_batch
from evalsite.studies.copying import copy_study
from evalsite.studies.models import Batch, Study
from evalsite.studies.set_size import minutes_per_item
from evalsite.studies.summary_lines import minutes_per_set
from tests.studies.test_summaries import landing_page
from tests.support.factories import launch, make_study
from tests.support.instruments import make_built_study, read_instrument

pytestmark = pytest.mark.django_db

# 238 words on a page take a minute, two questions half a minute
OUTPUT, REFERENCE = 200, 38


def add_items(study: Study, folder: Path, *, name: str = "items", output: int = OUTPUT) -> Batch:
    """Import four items of one output, with so many words."""
    rows = [
        {"item": f"{name}-{number}", "reference": "word " * REFERENCE, "system": "a",
         "dialogue": "word " * REFERENCE, "output": f"{number} " + "word " * (output - 1)}
        for number in range(4)
    ]  # fmt: skip
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return import_file(study=study, path=path, by=study.memberships.get().user)


@pytest.fixture
def study(researcher: Any, tmp_path: Path) -> Study:
    """Sets of 20 pages with two questions, of a gallery instrument that states its own minutes."""
    study = make_built_study(read_instrument("adequacy_fluency"), by=researcher, set_size=20)
    assert "minutes_per_item" in read_instrument("adequacy_fluency")
    add_items(study, tmp_path)
    return Study.objects.get(pk=study.pk)


def test_minutes_come_from_the_words_and_the_questions(study: Study) -> None:
    assert study.words_per_page == OUTPUT + REFERENCE
    assert minutes_per_item(study) == 1.5
    assert minutes_per_set(study) == 30


def test_work_says_where_the_figure_comes_from(staff_client: Client, study: Study) -> None:
    page = staff_client.get(reverse("admin:setup-work", args=[study.pk]))

    help_text = page.context["form"]["minutes_per_set"].help_text
    assert {"30", "238", "15"} <= set(help_text.split())
    # who takes the default is never told that it is too short
    assert page.context["mend"] is None


def test_minutes_that_somebody_typed_win(study: Study) -> None:
    study.minutes_per_set = 10

    assert minutes_per_set(study) == 10
    assert minutes_per_item(study) == 0.5


def test_minutes_of_an_instrument_as_published_win(researcher: Any, tmp_path: Path) -> None:
    study = make_study(protocol="fluency", items=0, set_size=8, by=researcher)
    add_items(study, tmp_path)

    study = Study.objects.get(pk=study.pk)

    # its document says 0.75 minutes an item
    assert study.words_per_page == OUTPUT + REFERENCE
    assert minutes_per_set(study) == 6


def test_minutes_follow_the_items_until_the_launch(
    study: Study, tmp_path: Path, researcher: Any
) -> None:
    copy = copy_study(study=study, title="Again", with_items=True, by=researcher)
    empty = copy_study(study=study, title="Empty", with_items=False, by=researcher)
    assert (minutes_per_set(copy), empty.words_per_page) == (30, 0)

    undo_batch(batch=Batch.objects.get(study=copy), by=researcher)
    assert Study.objects.get(pk=copy.pk).words_per_page == 0
    add_items(study, tmp_path, name="longer", output=OUTPUT + 2 * 238)
    assert minutes_per_set(Study.objects.get(pk=study.pk)) == 50


def test_time_of_a_small_study_is_that_of_its_own_pages(staff_client: Client, study: Study) -> None:
    page = staff_client.get(reverse("admin:setup-work", args=[study.pk]))
    study = launch(study)

    # four pages of one and a half minutes
    assert page.context["minutes"] == 6
    assert "about 6 minutes" in landing_page(study)


def test_people_are_told_the_same_after_launch_whatever_is_added(
    study: Study, tmp_path: Path
) -> None:
    study = launch(study)
    assert "about 6 minutes" in landing_page(study)

    add_items(study, tmp_path, name="longer", output=OUTPUT + 2 * 238)

    study = Study.objects.get(pk=study.pk)
    assert minutes_per_item(study) == 1.5
    assert "about 6 minutes" in landing_page(study)


def test_without_items_the_instrument_says_how_long_it_takes(researcher: Any) -> None:
    study = make_built_study(read_instrument("adequacy_fluency"), by=researcher, set_size=20)
    each = read_instrument("adequacy_fluency")["minutes_per_item"]

    assert minutes_per_item(study) == each
