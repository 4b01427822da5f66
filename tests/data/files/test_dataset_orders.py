"""Preferences in a dataset from rankings, and from the best and the worst."""

from pathlib import Path
from typing import Any

import pytest

from evalsite.data.files.dataset import list_deciding
from evalsite.studies.models import Study
from tests.results.test_orders import answer, make_live
from tests.support.answering import RatingPage
from tests.support.datasets import write

pytestmark = pytest.mark.django_db
Votes = dict[tuple[str, str], tuple[int, int, int]]


def read_votes(study: Study, folder: Path, criterion: str) -> tuple[Any, Votes]:
    made, tables = write(study, folder, preferences=criterion)
    votes = {
        (row["chosen_system"], row["rejected_system"]): (
            row["votes_chosen"], row["votes_rejected"], row["votes_tie"],
        )
        for row in tables.get("preferences", [])
    }  # fmt: skip
    return made, votes


def test_each_pair_that_a_ranking_orders_is_a_vote(tmp_path):
    study = make_live("ranking", "abc")
    for places in ("123", "122", "213"):
        answer(study, dict(zip("abc", places, strict=True)))

    made, votes = read_votes(study, tmp_path, "rank")

    assert [criterion.key for criterion in list_deciding(study).preferences] == ["rank"]
    # b and c share a place once
    assert votes == {("a", "b"): (2, 1, 0), ("a", "c"): (3, 0, 0), ("b", "c"): (2, 0, 1)}
    assert made.left_out["pairs"] == 0


def test_best_and_worst_order_all_pairs_but_those_of_the_others(tmp_path):
    study = make_live("best_worst_four", "abcd")
    for best, worst in ("ab", "ac"):
        answer(study, {best: "best", worst: "worst"})

    _, votes = read_votes(study, tmp_path, "overall")

    # c against d and b against d are said once each, b against c twice, one each way
    assert votes == {
        ("a", "b"): (2, 0, 0), ("a", "c"): (2, 0, 0), ("a", "d"): (2, 0, 0),
        ("d", "b"): (1, 0, 0), ("d", "c"): (1, 0, 0),
    }  # fmt: skip


def test_same_two_outputs_of_an_input_are_one_pair_in_all_its_items(tmp_path):
    study = make_live("best_worst_four", "abcdef", groups="free")
    assert study.items.main().count() == 3
    for _ in range(6):
        page = RatingPage(study)
        outputs = page.response.context["item"].outputs
        places = sorted(outputs, key=lambda output: output.text)
        ends = {"overall.best": places[0].number, "overall.worst": places[-1].number}
        assert page.post(ends).status_code == 302

    _, votes = read_votes(study, tmp_path, "overall")

    # two of the six meet in one or two of the three items, each of which had two answers
    assert all(first < second for first, second in votes)
    assert {votes[pair][1:] for pair in votes} == {(0, 0)}
    assert max(chosen for chosen, _, _ in votes.values()) > 2
