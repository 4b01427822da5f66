"""Whom each flag can reach, from the answers that people gave and those still to come."""

from types import SimpleNamespace
from typing import Any

import pytest

from evalsite.analysis.thresholds import make_thresholds
from evalsite.decisions.person_measures import Measures
from evalsite.results.raters_page import count_to_meet, list_reach
from evalsite.studies.models import Study

LIMITS = make_thresholds({})
TOO_FAST, SAME, DISAGREES, CHECKS, COPIED = range(5)


def make_work(*people: Measures, flags: dict[int, list[Any]] | None = None) -> Any:
    return SimpleNamespace(
        people=dict(enumerate(people)), flags=flags or {}, limits=LIMITS, excluded=set()
    )  # fmt: skip


def make_study(**known: Any) -> Any:
    edge = SimpleNamespace(done=0, target=120, items=40, records=10)
    fields = {
        "has_ended": True, "max_items": None, "max_sets": None, "checks_per_person": 0,
        "groups": Study.Groups.FREE, "edge": edge,
    }  # fmt: skip
    return SimpleNamespace(**fields | known)


def person(answers: int, **known: Any) -> Measures:
    return Measures(pseudonym=f"p-{answers}", answers=answers, **known)


def reach(study: Any, *people: Measures, copied: dict[str, Any] | None = None) -> list[Any]:
    return list_reach(study, make_work(*people), copied or {}, items=count_to_meet(study))


def test_a_flag_reaches_who_gave_as_many_answers_as_it_needs() -> None:
    least = int(LIMITS.rho_few_ratings)
    people = [person(least - 1, agreement=0.5), person(least, agreement=0.5)]

    row = reach(make_study(), *people)[DISAGREES]

    assert (row["can_fire"], row["needs"]) == ("1 of 2 people", f"needs {least} answers")


def test_answers_to_come_count_until_the_study_ends_and_up_to_what_a_person_may_give() -> None:
    people = [person(1, agreement=0.5), person(2, agreement=0.5)]

    for known, number in (
        ({"has_ended": False}, 2),
        ({"has_ended": True}, 0),
        ({"has_ended": False, "max_items": 5}, 0),
        # ten inputs, of which each person meets one output
        ({"has_ended": False, "groups": Study.Groups.ONCE}, 0),
        ({"has_ended": False, "edge": SimpleNamespace(done=120, target=120, items=40)}, 0),
    ):
        assert reach(make_study(**known), *people)[DISAGREES]["can_fire"] == f"{number} of 2 people"


def test_without_scores_nobody_can_disagree() -> None:
    row = reach(make_study(), person(500), person(500))[DISAGREES]

    assert (row["can_fire"], row["needs"]) == ("0 of 2 people", "needs scores")


def test_same_answers_need_more_where_the_others_give_the_answer_often() -> None:
    rare, common = (20, 20, 0.1), (20, 20, 0.5)

    row = reach(make_study(), person(20, uses=[rare]), person(20, uses=[common]))[SAME]

    assert row["can_fire"] == "2 of 2 people"
    assert row["needs"].startswith("needs 5 to ")


def test_an_answer_that_all_others_give_flags_nobody() -> None:
    row = reach(make_study(), person(500, uses=[(500, 500, 1.0)]))[SAME]

    assert row["can_fire"] == "0 of 1 person"


@pytest.mark.parametrize(("met", "to_come", "number"), [(0, 0, 0), (2, 0, 1), (0, 2, 1)])
def test_failed_checks_need_checks(met: int, to_come: int, number: int) -> None:
    study = make_study(has_ended=False, checks_per_person=to_come)

    row = reach(study, person(9, attention=met))[CHECKS]

    assert row["can_fire"] == f"{number} of 1 person"


def test_copies_say_how_many_pairs_could_show_them() -> None:
    copied = {"raters": 25, "pairs": [{}], "pairs_compared": 41, "can_be_seen": True}

    row = reach(make_study(), person(9), copied=copied)[COPIED]

    assert (row["can_fire"], row["flagged"]) == ("41 of 300 pairs", 1)
    unseen = reach(
        make_study(), person(9), copied=copied | {"can_be_seen": False, "most_shared": 8}
    )[COPIED]
    assert unseen["can_fire"] == "none of 300 pairs"
    assert unseen["needs"] == "needs more than 8 shared outputs"
