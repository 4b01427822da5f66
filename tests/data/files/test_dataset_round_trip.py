"""A dataset, imported into a new study by the ordinary commands, gives the same results."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.handout.models import Rating
from evalsite.results.document.blocks import Document
from evalsite.results.report.bundled import flatten
from evalsite.results.report.computation import compute_report
from evalsite.results.report.files import make_source
from evalsite.results.report.sections import make_document
from evalsite.studies.models import Study
from tests.support.datasets import make_compared, make_rated, write

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


# how the answers came about, and reasons, which no import of ratings takes
NOT_IMPORTED = {"position_spread", "seconds_per_annotation", "reason"}


def list_figures(study: Study) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Every figure of the report by its name and what it is of."""
    document: Document = make_document(make_source(study, compute_report(study)))
    return {
        (plain["name"], *sorted(plain["group"].items())): plain
        for plain in map(flatten, document.figures)
    }


def list_ratings(study: Study) -> list[tuple[Any, ...]]:
    rows = Rating.objects.filter(study=study).values_list(
        "annotation__item__key", "criterion", "output__system__name", "value", "detail__both",
        "detail__na",
    )  # fmt: skip
    return sorted(rows, key=str)


@pytest.mark.parametrize(
    ("make", "table", "options"),
    [
        (make_rated, "ratings", []),
        (make_compared, "comparisons", ["--map", "strength=value"]),
    ],
)
def test_an_imported_dataset_gives_the_same_results_figure_for_figure(
    make: Callable[..., Study], table: str, options: list[str], tmp_path: Path
) -> None:
    study, copy = make(), make(is_empty=True)
    # what is drawn at random is drawn from it
    Study.objects.filter(pk=copy.pk).update(seed=study.seed)
    copy.refresh_from_db()
    made, _ = write(study, tmp_path)
    path = str(tmp_path / made.files[table])

    names = ["--map", "input_prompt=prompt", "--take-once"]
    call_command("import_batch", str(copy.pk), path, *names, stdout=StringIO())
    persons = ["--persons", "yes", *options]
    call_command("import_ratings", str(copy.pk), path, *persons, stdout=StringIO())

    assert list_ratings(copy) == list_ratings(study)
    expected, figures = list_figures(study), list_figures(copy)
    assert len(expected) > 20
    assert figures.keys() <= expected.keys()
    assert {name for name, *_ in expected.keys() - figures.keys()} <= NOT_IMPORTED
    for key, figure in figures.items():
        numbers = {name: cell for name, cell in figure.items() if isinstance(cell, float)}
        # pairs of raters are added up in the order of their pseudonyms
        alike = {name: pytest.approx(cell, rel=1e-9) for name, cell in numbers.items()}
        assert expected[key] == figure | alike, key
