"""Questions about turns of a conversation: which are asked, what is stored, and what is refused."""

import io
import json
from typing import Any

import pytest

from evalsite.core.jobs.services import run_job
from evalsite.data.fsck import find_breaches
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import Annotation, Rating
from tests.support.answering import RatingPage
from tests.support.batches import import_rows, write_csv
from tests.support.checking import check_file, check_ratings
from tests.support.exports import export, read
from tests.support.factories import make_user
from tests.support.instruments import GALLERY, make_built_study

pytestmark = pytest.mark.django_db
SAID = [
    {"role": "user", "content": "Is it open?"},
    {"role": "assistant", "content": "Yes <b>since</b> Sunday."},
    {"role": "user", "content": "Until when?"},
    {"role": "assistant", "content": "Until six."},
]


def make_turns(**change: Any) -> Any:
    content = json.loads((GALLERY / "conversation_turns.json").read_bytes())
    return make_built_study(content, is_practice_on=False, k=1, set_size=1, **change)


def rows(marked: str = "", said: Any = SAID) -> list[dict[str, str]]:
    text = said if isinstance(said, str) else json.dumps(said)
    return [{"item": "a", "system": "s", "goal": "Know", "rated_turns": marked, "output": text}]


def open_page(marked: str = "") -> RatingPage:
    study = make_turns()
    import_rows(study, rows(marked))
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    return RatingPage(study)


ANSWERS = {
    "turn_quality-2": "4", "turn_quality-4": "1", "turn_problems-2.tone": "1",
    "turn_problems-4.repeats": "1", "goal_reached": "1", "overall": "3",
}  # fmt: skip


def test_each_turn_is_asked_under_its_words_and_stored_with_its_number():
    page = open_page()
    shown = page.html

    said = page.post(ANSWERS)

    assert said.status_code == 302
    assert "Yes &lt;b&gt;since&lt;/b&gt; Sunday." in shown
    assert 'name="turn_quality-1"' not in shown
    stored = Rating.objects.exclude(turn=0).filter(value=1) | Rating.objects.filter(value=4)
    assert set(stored.values_list("criterion", "turn", "part")) == {
        ("turn_quality", 2, ""), ("turn_quality", 4, ""), ("turn_problems", 4, "repeats"),
    }  # fmt: skip
    # the problems of turn 2 weren't asked
    assert not Rating.objects.filter(criterion="turn_problems", turn=2).exists()
    study = Annotation.objects.get().study
    assert find_breaches(study) == []
    told = read(export(study))
    assert list(told[0])[-3:] == ["turn", "item_no", "group_no"]
    assert {(row["criterion"], row["turn"]) for row in told if row["value"] == "4"} == {
        ("turn_quality", "2")
    }
    simple = read(export(study, "ratings_simple"))
    assert [(row["turn"], row["turn_quality"], row["overall"]) for row in simple] == [
        ("", "", "3"), ("2", "4", ""), ("4", "1", ""),
    ]  # fmt: skip


def test_only_marked_turns_are_asked_and_the_others_are_ignored():
    page = open_page("4")

    said = page.post(ANSWERS)

    assert said.status_code == 302
    assert set(Rating.objects.values_list("turn", flat=True)) == {0, 4}


def test_turn_without_an_answer_is_named_and_nothing_is_stored():
    page = open_page()
    given = {name: value for name, value in ANSWERS.items() if name != "turn_problems-4.repeats"}

    said = page.post(given)

    assert said.status_code == 422
    assert [name for name, _ in said.context["errors"]] == ["turn_problems-4"]
    assert "turn 4" in dict(said.context["errors"])["turn_problems-4"]
    assert not Annotation.objects.exists()


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("turn", "broken"),
    [
        (3, ["rating_of_a_turn_that_is_not_asked"]),
        (None, ["answer_without_all_turns"]),
    ],
)
def test_fsck_names_ratings_of_turns_that_are_not_asked_or_lack(turn, broken):
    page = open_page()
    page.post(ANSWERS)
    given = Rating.objects.filter(criterion="turn_quality", turn=2)
    if turn is None:
        given.delete()
    else:
        given.update(turn=turn)

    found = find_breaches(Annotation.objects.get().study)

    assert [one.check.key for one in found] == broken


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("marked", "said", "code"),
    [
        ("3", SAID, "turns_invalid"),
        ("9", SAID, "turns_invalid"),
        ("two", SAID, "turns_invalid"),
        ("", "User: hello", "no_turns"),
        ("", SAID[:1], "no_turns"),
        ("", [{"role": "assistant", "content": "x"}] * 101, "no_turns"),
    ],
)
def test_batch_is_refused_if_its_turns_cannot_be_rated(marked, said, code):
    study = make_turns()
    source = io.BytesIO(write_csv(rows(marked, said)).encode())

    checked = check_file(source, study=study)

    assert [fault.code for fault in checked.faults] == [code]


def test_ratings_of_turns_from_elsewhere_are_refused_in_words():
    study = make_turns()
    import_rows(study, rows())
    given = [
        {"item": "a", "system": "s", "participant": "w1", "criterion": "overall", "value": "3"}
    ]

    checked = check_ratings(io.BytesIO(write_csv(given).encode()), study=study)

    assert [fault.code for fault in checked.faults] == ["turns_not_supported"]
