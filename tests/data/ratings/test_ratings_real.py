"""Published ratings imported onto their batches, and read back from our own exports."""

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsite.data.fsck import find_breaches
from evalsite.data.items.importer import import_file
from evalsite.handout.models import Annotation
from evalsite.people.models import Participant, ParticipantIdentity
from evalsite.studies.models import Study
from tests.support import imported
from tests.support.exports import export, read
from tests.support.published import published_file


def read_file(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def load(study: Study, batch: str, ratings: str, *, has_persons: bool) -> None:
    import_file(study=study, path=published_file(batch), by=None)
    imported.load(study, published_file(ratings).read_bytes().decode(), has_persons=has_persons)


@pytest.mark.parametrize("batch", ["rankme/batch_long.csv", "rankme/batch_wide.csv"])
def test_rankme_ratings_come_out_as_they_went_in(
    make_study: Callable[..., Any], batch: str
) -> None:
    study = make_study(items=0)
    given = read_file(published_file("rankme/ratings_long.csv"))

    load(study, batch, "rankme/ratings_long.csv", has_persons=True)

    rows = read(export(study))
    assert [row["value"] for row in rows] == [row["value"] for row in given]
    assert [int(row["file_row"]) for row in rows] == list(range(1, 901))
    names = ("item", "system", "criterion", "place")
    assert [[row[name] for name in names] for row in rows] == [
        [row[name] for name in names] for row in given
    ]
    assert [row["time_given"] for row in rows] == [row["submitted_at"] for row in given]
    assert [row["value_typed"] for row in rows] == [row["value"] for row in given]
    assert {row["person"] for row in rows} == {"yes"}
    assert {(row["status"], row["origin"]) for row in rows} == {("counted", "imported")}
    assert len({row["participant"] for row in rows}) == 10
    assert find_breaches(study) == []


def test_rankme_ratings_of_an_output_keep_the_order_of_the_file(
    make_study: Callable[..., Any],
) -> None:
    study = make_study(items=0)
    load(study, "rankme/batch_wide.csv", "rankme/ratings_long.csv", has_persons=True)

    def columns(rows: list[dict[str, str]]) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            found.setdefault((row["item"], row["system"]), []).append(row["value"])
        return found

    assert columns(read(export(study))) == columns(
        read_file(published_file("rankme/ratings_long.csv"))
    )


@pytest.mark.torture
@pytest.mark.slow
def test_marco_judgements_have_the_published_outcomes(make_study: Callable[..., Any]) -> None:
    study = make_study(items=0, protocol="pairwise")

    load(
        study,
        "marco_pairwise/batch_long.csv",
        "marco_pairwise/ratings_long.csv",
        has_persons=False,
    )

    rows = read(export(study))
    assert len(rows) == 8_904
    found = Counter(
        (row["system_1"], row["system_2"], row["criterion"], row["preferred"] or row["outcome"])
        for row in rows
    )
    hdsa, human = ("HDSA", "MarCo"), ("MarCo", "human")
    expected = {
        (*hdsa, "completion"): {"MarCo": 467, "tie": 1520, "HDSA": 239},
        (*hdsa, "readability"): {"MarCo": 55, "tie": 2022, "HDSA": 149},
        (*human, "completion"): {"MarCo": 662, "tie": 1044, "human": 520},
        (*human, "readability"): {"MarCo": 310, "tie": 1433, "human": 483},
    }
    assert found == {
        (*key, who): n for key, counts in expected.items() for who, n in counts.items()
    }
    assert {row["person"] for row in rows} == {"no"}
    assert Participant.objects.filter(study=study, is_person=False).count() == 3
    assert set(ParticipantIdentity.objects.values_list("outside_id", flat=True)) == {
        "judge1",
        "judge2",
        "judge3",
    }
    assert Annotation.objects.counted().count() == 4_452
    assert find_breaches(study) == []
