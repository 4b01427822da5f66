"""Tables and sentences stand in one order, though PostgreSQL keeps JSON in an order of its own."""

from typing import Any
from uuid import uuid4

import pytest
from evalsite.results.design.tables import tabulate_places
from evalsite.results.report.person_tables import tabulate_contradictions

from evalsite.results.analysis_plan.wording import plan_in_words
from evalsite.results.replication.comparison import warn_of_texts
from evalsite.results.report.sentences import write_sentence
from evalsite.studies.models import Study
from tests.support.reports import make_content


def turn(one: dict[str, Any]) -> dict[str, Any]:
    """The same, its keys the other way round."""
    return dict(reversed(one.items()))


def test_places_are_told_by_system_in_the_order_of_the_alphabet() -> None:
    places = {"beta": {"2": 3, "1": 2}, "alpha": {"1": 3, "2": 2}}

    tables = [tabulate_places({"data": {"places": one}}) for one in (places, turn(places))]

    for table in tables:
        assert table is not None
        assert table.rows == [("alpha", "3", "2"), ("beta", "2", "3")]
        assert [row[0] for row in table.list_cells()[1:]] == ["alpha", "alpha", "beta", "beta"]


def test_scores_of_contradictions_stand_as_the_criteria_do() -> None:
    criterion = make_content()["criteria"][0]
    criteria = [criterion | {"key": key, "label": key.capitalize()} for key in ("sense", "flow")]
    scores = {"sense": 7.0, "flow": 6.0}

    for given in (scores, turn(scores)):
        listed = [{"annotation": "a-1", "participant": "p-one", "item": "i-1", "system": "alpha",
                   "why": "rejected", "scores": given}]  # fmt: skip
        content = make_content(criteria=criteria, together={"contradictions": listed})
        table = tabulate_contradictions(content, uuid4())
        assert table.columns[4:6] == ("Sense", "Flow")
        assert table.rows[0][4:6] == ("7", "6")


def test_thresholds_are_told_as_the_plan_page_lists_them() -> None:
    own = {"top_share": 0.8, "gold": 0.7}
    plan = {"exclusion_rule": "", "moments": {}, "limits": ["top_share", "gold"]}

    told = [dict(plan_in_words(plan | {"thresholds": one}, criteria=1)) for one in (own, turn(own))]

    assert told[0] == told[1]
    words = told[0]["Thresholds of flags"]
    assert words.index("One value nearly always: 80%") < words.index("Checks answered right: 70%")


@pytest.mark.both_databases
@pytest.mark.django_db
def test_unlike_options_are_told_in_the_order_of_the_alphabet(make_study: Any) -> None:
    study: Study = make_study(items=0)
    original: Study = make_study(items=0)
    # PostgreSQL puts short names first
    original.options = {"zeal": 1, "ample": 2}

    told = {one["code"]: write_sentence(one) for one in warn_of_texts(original, study)}

    assert told["other_options"].endswith("ample, zeal.")
