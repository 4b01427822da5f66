"""A dataset of error spans: penalties as ratings, and preferences in which fewer errors win."""

from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from tests.support.datasets import write
from tests.support.factories import make_annotator
from tests.support.spans import answer_spans, make_content, make_spans_study

pytestmark = pytest.mark.django_db
MINOR = {"start": 0, "end": 3, "category": "style", "severity": "minor"}


def test_outputs_with_fewer_errors_are_chosen(tmp_path: Path) -> None:
    study = make_spans_study(items=1, systems="AB")
    one, other = study.items.get(key="i01/A"), study.items.get(key="i01/B")
    for _ in range(2):
        me = make_annotator(study)
        answer_spans(me, one, [MINOR, MINOR | {"end": 9, "severity": "major"}])
        answer_spans(me, other, [])

    _, tables = write(study, tmp_path, preferences="errors", unpaired="errors", good_from=1,
                      bad_below=2)  # fmt: skip

    ratings, marks = [], []
    for row in tables["ratings"]:
        rows = ratings if row["start"] is None else marks
        rows.append((row["system"], row["part"], row["value"]))
    assert marks == [("A", "style", None)] * 4
    assert ratings == [("A", None, 6), ("B", "none", 1), ("B", None, 0)] * 2
    (pair,) = tables["preferences"]
    assert (pair["chosen_system"], pair["votes_chosen"]) == ("B", 2)
    labels = {row["system"]: (row["label"], row["mean_value"]) for row in tables["unpaired"]}
    assert labels == {"A": (False, 6), "B": (True, 0)}


def test_questions_without_a_score_decide_nothing(tmp_path: Path) -> None:
    study = make_spans_study(items=1, systems="AB", content=make_content(score="none"))

    with pytest.raises(ValidationError):
        write(study, tmp_path, preferences="errors")
